/*
 * cli/options.h: the one parser of command lines. A command lists its options, each with the
 * variable that receives its value; the parser fills these variables, prints --help from the same
 * list, and reports each error with its remedy.
 *
 *     struct options options = {.command = "kill", .synopsis = ..., .arguments_most = 1};
 *     options_text(&options, "dir", &dir, "DIR", "Folder of the run.");
 *     if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
 *
 * Long options take "--name value" or "--name=value", short ones "-o value". "--" ends the options.
 *
 * The folder of a run (options_folder(), options_folders()) may be given as DIR, the last argument,
 * or as --dir DIR, to every command. An argument that has the form KEY=VALUE or is a whole number
 * is not treated as a folder if the command has arguments of its own; "./12" is one.
 *
 * Threads: any; nothing is kept.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPTIONS_MAX = 32, OPTION_TEXTS_MAX = 64, ARGUMENTS_MAX = 16 };

/* The usual help of options_folder(). */
#define RUN_FOLDER_HELP "Folder of the run; the same as the argument DIR."

enum option_type {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_TEXTS,
    OPTION_NUMBER,
    OPTION_CHOICE,
};

/* Values of an option that may be given more than once. */
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
    union {
        bool *flag;
        const char **text; /* The value of a text or of a choice. */
        struct option_texts *texts;
        struct option_number *number;
    } value;
    uint64_t least, most;       /* The range of a number. */
    const char *argument;       /* The placeholder in --help: "DIR". */
    const char *const *choices; /* Ends with NULL. */
    const char *help;
};

struct options {
    const char *command;                    /* "run" */
    const char *synopsis;                   /* "JOB.json [OPTION]..." */
    const char *about;                      /* The purpose of the command, in one or more lines. */
    const char *examples;                   /* Lines that work as they are. */
    size_t arguments_least, arguments_most; /* Arguments that are not options, without folders. */
    /* Filled by the functions below: */
    struct option list[OPTIONS_MAX];
    size_t count;
    const struct option *folder; /* --dir, or NULL. */
    size_t folders_least, folders_most;
    /* Filled by options_parse(), borrowed from argv: */
    const char *arguments[ARGUMENTS_MAX];
    size_t argument_count;
};

/*
 * Add an option. Its variable keeps its value, the default, when the option is not given; texts are
 * borrowed from argv. `letter` is the short form, or 0. An option whose `help` is NULL is internal
 * and not shown by --help.
 */
void options_flag(struct options *options, char letter, const char *name, bool *value,
                  const char *help);
void options_text(struct options *options, const char *name, const char **value,
                  const char *argument, const char *help);
void options_texts(struct options *options, const char *name, struct option_texts *value,
                   const char *argument, const char *help);
void options_number(struct options *options, const char *name, struct option_number *value,
                    const char *argument, const char *help);
/* A number from `least` to `most`; others are refused. */
void options_range(struct options *options, const char *name, struct option_number *value,
                   const char *argument, uint64_t least, uint64_t most, const char *help);
/* A time in seconds, from `least` to a day. */
void options_seconds(struct options *options, const char *name, struct option_number *value,
                     uint64_t least, const char *help);
/* One of `choices`, which ends with NULL. */
void options_choice(struct options *options, char letter, const char *name, const char **value,
                    const char *const *choices, const char *help);

/* Add --dir, the folder of a run, which may also be given as the last argument. `required`: a
 * command line without it is an error. */
void options_folder(struct options *options, const char **value, bool required, const char *help);
/* The same for a command whose arguments are all folders: `least` to `most` of them, in the order
 * in which they are given. */
void options_folders(struct options *options, struct option_texts *value, size_t least, size_t most,
                     const char *help);

/*
 * Parse argv[1..]. Returns true, with `*exit_code` TN_EXIT_OK, when the command is to go on. False
 * ends it with `*exit_code`: TN_EXIT_OK after --help, TN_EXIT_ARGUMENTS after an error, which is
 * reported on stderr.
 */
bool options_parse(struct options *options, int argc, char **argv, int *exit_code);

/* Report on stderr that arguments which options_parse() has accepted cannot be used together, for
 * instance since one is missing. Returns TN_EXIT_ARGUMENTS. */
int options_refuse(const struct options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
