/*
 * cli/log_options.h: the options --log-format and --log-level of commands that log.
 *
 * Threads: the main thread.
 */
#ifndef CLI_LOG_OPTIONS_H
#define CLI_LOG_OPTIONS_H

#include "cli/options.h"
#include "common/base/log.h"

struct log_options {
    const char *format, *level; /* NULL: not given. */
};

/* Add both options to a command. `level_help` names the default of --log-level. */
void log_options_add(struct options *options, struct log_options *given, const char *level_help);

/* Start the log of this process. `level`: the default of --log-level. */
void log_options_start(const struct log_options *given, enum log_level level, const char *task);

#endif
