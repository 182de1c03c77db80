/*
 * cli/subcommands.h: a command with subcommands, as `tanist`, `tanist zk` and `tanist chaos` are:
 * the overview, finding the subcommand, and "did you mean" for one that does not exist.
 */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include <stddef.h>
#include <stdio.h>

enum { SUBCOMMANDS_MAX = 64 };

/* A subcommand gets its own name in argv[0] and its arguments in argv[1..], and returns the exit
 * code of the program. */
struct subcommand {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

/* A line of the overview before the subcommand of this name. */
struct subcommand_heading {
    const char *before, *text;
};

struct subcommands {
    const char *prefix;   /* "" or "chaos ": what the user types between `tanist` and the name. */
    const char *synopsis; /* "chaos COMMAND [ARGUMENT]..." */
    const char *examples; /* Lines that work as they are. */
    const char *footer;   /* Last line of the overview. */
    const struct subcommand *list;
    size_t count; /* At most SUBCOMMANDS_MAX. */
    /* Ends with a NULL name; NULL: the overview has none. */
    const struct subcommand_heading *headings;
};

/* Returns `exit_code`, so that callers can write `return subcommands_overview(...)`. */
int subcommands_overview(const struct subcommands *commands, FILE *out, int exit_code);

/* NULL: unknown. */
const struct subcommand *subcommands_find(const struct subcommands *commands, const char *name);

/* Report on stderr that subcommand `name` is unknown. Returns TN_EXIT_ARGUMENTS. */
int subcommands_unknown(const struct subcommands *commands, const char *name);

/* Run the subcommand that argv[1] names. Without one, or with --help, print the overview. */
int subcommands_run(const struct subcommands *commands, int argc, char **argv);

#endif
