/*
 * agent/log_reason.h: the line of a log that gives the reason why its process has ended.
 *
 * Pure but for log_reason_read(). Threads: any.
 */
#ifndef AGENT_LOG_REASON_H
#define AGENT_LOG_REASON_H

#include <stddef.h>
#include <stdint.h>

enum { LOG_REASON_MAX = 640 };

/* Find the line that explains why a log ends. `text` is the end of the log, in either log format.
 * The result is the last line with the level ERROR, or that the logger did not write, such as a
 * failed assertion or the report of a sanitizer. Other threads may log lines after it. Without such
 * a line, the result is the last line. It points into `text`; `*length` is set to its length, 0 if
 * all lines are empty. */
const char *log_reason_find(const char *text, size_t size, size_t *length);

/* That line of the last 8 KiB of the file, from byte `from` on if the file is still that long;
 * cut to LOG_REASON_MAX - 1 bytes, "" if the file cannot be read. Blocks on the file. */
void log_reason_read(const char *path, uint64_t from, char out[static LOG_REASON_MAX]);

#endif
