/*
 * cli/output.h: the option --output (-o) of a command, JSON on stdout, and messages on stderr.
 *
 * Threads: any.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/options.h"
#include "common/base/log.h"

/* Add --output to a command whose format for people is a table, or lines of text. `*format`
 * receives the choice and is set to the default. */
void output_option_table(struct options *options, const char **format);
void output_option_text(struct options *options, const char **format);

/* The user chose JSON. */
bool output_is_json(const char *format);

/* A message for the user on stderr: a line of text, "tanist: ..." if it is an error, or an entry of
 * the log if that is JSON. */
void output_message(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* At the end of a command: flush stdout. If it could not be written, and no other error was the
 * reason of `exit_code`, that is reported on stderr. Returns the exit code: TN_EXIT_IO in this
 * case, else `exit_code`. */
int output_end(int exit_code);

/* Print `object` and a line end, and flush. Takes the reference; NULL means that there was not
 * enough memory to make the object. `flags` are those of json_dumpf(). Returns the exit code:
 * TN_EXIT_OK, or TN_EXIT_IO when the object could not be made or written. */
int output_json(json_t *object, size_t flags);

#endif
