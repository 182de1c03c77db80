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

/* The line of `text` (lines with '\n', the end of a log) that best explains its end: the last one
 * that is an ERROR or that the logger did not write (an assertion, the report of a sanitizer). A
 * thread that runs on may log after it: lines of the levels DEBUG to WARN are taken only if there
 * is no other, and then the last one. Its start is returned and its size, at most that of the text,
 * set; an empty text has the size 0. Both log formats are known. */
const char *log_reason_find(const char *text, size_t size, size_t *length);

/* That line of the last 8 KiB of the file, from byte `from` on if the file is still that long;
 * cut to LOG_REASON_MAX - 1 bytes, "" if the file cannot be read. Blocks on the file. */
void log_reason_read(const char *path, uint64_t from, char out[static LOG_REASON_MAX]);

#endif
