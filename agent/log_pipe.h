/*
 * agent/log_pipe.h: the output of a program that cannot rotate its log itself. It writes into a
 * pipe, and a thread of this process appends it to a log file that is rotated (log_file.h). While
 * this process is frozen, the pipe holds up to 1 MiB. When it dies, the program does, too.
 *
 * Threads: each pipe has one of its own; the functions belong to the owner's thread. Blocking:
 * log_pipe_flush() and log_pipe_close() until everything is written.
 */
#ifndef AGENT_LOG_PIPE_H
#define AGENT_LOG_PIPE_H

#include <stdint.h>

#include "common/base/error.h"

struct log_pipe;

/* Begin to write the file `path`, each part of at most `limit` bytes. TN_EIO, TN_ENOSPC,
 * TN_ENOMEM. */
MUST_CHECK enum tn_status log_pipe_open(const char *path, uint64_t limit, struct log_pipe **out,
                                        struct error *error);

/* The descriptor for the program's output. Borrowed. */
int log_pipe_fd(const struct log_pipe *pipe);

/* Wait until everything that was written into the pipe is in the file. */
void log_pipe_flush(struct log_pipe *pipe);

/* The programs have ended: write the rest and close the file. NULL is allowed. */
void log_pipe_close(struct log_pipe *pipe);

#endif
