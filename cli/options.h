/*
 * cli/options.h: the one parser of command lines. A command describes its options in a table; the
 * parser fills their values, prints --help from the same table, and names what is wrong with a
 * remedy.
 *
 * Long options take "--name value" or "--name=value", short ones "-o value". "--" ends options.
 * Threads: any; nothing is kept.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTION_TEXTS_MAX = 64, ARGUMENTS_MAX = 16 };

enum option_type {
    OPTION_FLAG,   /* bool: true when given. */
    OPTION_TEXT,   /* const char *: borrowed from argv. */
    OPTION_TEXTS,  /* struct option_texts: may be given again. */
    OPTION_COUNT,  /* struct option_number */
    OPTION_CHOICE, /* const char *: one of `choices`. */
};

struct option_texts {
    const char *items[OPTION_TEXTS_MAX];
    size_t count;
};

struct option_number {
    bool given;
    uint64_t value;
};

struct option {
    const char *name; /* Without the dashes. */
    char letter;      /* Short form, or 0. */
    enum option_type type;
    void *value;          /* Where it goes; as the type says. Keeps its default when not given. */
    const char *argument; /* What --help calls the value: "DIR". NULL for a flag. */
    const char *const *choices; /* NULL-ended. */
    const char *help;           /* NULL: between our own programs, not shown. */
};

struct options {
    const char *command;  /* "run" */
    const char *synopsis; /* "JOB.json [OPTION]..." */
    const char *about;    /* What it does; may have several lines. */
    const char *examples; /* Lines that work as they stand. */
    const struct option *list;
    size_t count;
    size_t arguments_least, arguments_most; /* Words that are no options. */
    const char *arguments[ARGUMENTS_MAX];   /* Out. */
    size_t argument_count;                  /* Out. */
};

/*
 * Parse argv[1..]. True: go on. False: the command is over with `*exit_code`: 0 when --help was
 * printed, TN_EXIT_ARGUMENTS when something is wrong (said on stderr).
 */
bool options_parse(struct options *options, int argc, char **argv, int *exit_code);

#endif
