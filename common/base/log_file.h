/*
 * common/base/log_file.h: a log on disk that does not grow without limit. When the next line would
 * make PATH larger than its limit, PATH.1 becomes PATH.2 and so on, PATH becomes PATH.1, and a new
 * PATH is begun. The oldest of LOG_FILES_KEPT + 1 files is removed. Lines are neither lost nor
 * split.
 *
 * Threads: a `struct log_file` belongs to one. Blocking: on the disk.
 */
#ifndef COMMON_BASE_LOG_FILE_H
#define COMMON_BASE_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { LOG_FILES_KEPT = 3, LOG_FILE_PATH_MAX = 1024 };

#define LOG_FILE_LEAST_BYTES   (UINT64_C(64) << 10)
#define LOG_FILE_DEFAULT_BYTES (UINT64_C(16) << 20)

/* Begin a new file at `path`; the previous ones move as described above. Returns a descriptor for
 * appending; -1: the disk refuses it, and the caller continues with the file it has. */
int log_file_rotate(const char *path);

/* Rotate the log if it has `limit` bytes or more; for a program that cannot do it while it runs. */
void log_file_rotate_if_full(const char *path, uint64_t limit);

struct log_file {
    char path[LOG_FILE_PATH_MAX];
    int fd;
    uint64_t limit, size;
    bool in_line; /* The last byte written does not end a line. */
};

/* Open `path` for appending, or create it. TN_EINVAL: the path is too long; TN_EIO, TN_ENOSPC. */
MUST_CHECK enum tn_status log_file_open(struct log_file *file, const char *path, uint64_t limit,
                                        struct error *error);
void log_file_close(struct log_file *file);

/* Append output, which may end in the middle of a line. What the disk refuses is lost. */
void log_file_write(struct log_file *file, const char *data, size_t size);

#endif
