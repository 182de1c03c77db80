/*
 * common/base/log.h: one event per line on stderr, as text or JSON (`log_format`), with time,
 * level, task, epoch and generation. Lines are valid UTF-8 whatever the message contains. Threads:
 * any; a line is written whole. A line for which stderr has no room, because its reader is stopped
 * or slow, is left out, and the next line that fits is preceded by the number of those left out:
 * only threads that log at the same moment can wait for the reader.
 */
#ifndef COMMON_BASE_LOG_H
#define COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* Set once at start, before threads exist. `task` ("ps:1", "agent") is copied. */
void log_init(enum log_level level, enum log_format format, const char *task);

/* The task of the lines that the calling thread writes from now on: one of several in the process.
 * It is copied. */
void log_set_thread_task(const char *task);

/* stderr is the file `path` (copied), which this process began or continues: rotate it
 * (common/base/log_file.h) before a line would make it larger than `limit` bytes. stdout and stderr
 * are the new file then. Call it once, before threads exist. A path that is too long is ignored. */
void log_rotate_stderr(const char *path, uint64_t limit);

/* Whether the log is JSON, so that everything on stderr should be. */
bool log_is_json(void);

/* The epoch and generation of the following lines; the node's driver sets them when they change. */
void log_set_context(uint64_t epoch, uint64_t generation);

/* Write one line at `level`, with the time, the task and the context. Any thread. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Print a line for people, as it is; same rule for a slow reader. At most 2,047 bytes; control
 * characters are replaced. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

#endif
