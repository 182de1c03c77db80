/*
 * common/base/partial_file.h: a large file written piece by piece beside its final name, as
 * "NAME.partial", and moved there when it is complete and durable. A crash leaves the old file.
 *
 * Threads: the owner's. Blocking: on the disk. Errors: as in common/base/files.h.
 */
#ifndef COMMON_BASE_PARTIAL_FILE_H
#define COMMON_BASE_PARTIAL_FILE_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/error.h"

struct partial_file {
    FILE *file;
    uint64_t bytes; /* Written so far. */
    int failed;     /* The errno of the first failure; 0: none. */
    char path[PATH_MAX], partial[PATH_MAX];
};

/* TN_EINVAL: the path is too long, or is a folder. */
MUST_CHECK enum tn_status partial_file_open(struct partial_file *file, const char *path,
                                            struct error *error);

/* A failure is kept until partial_file_close(). */
void partial_file_write(struct partial_file *file, const void *data, size_t size);

/* With `status` TN_OK the file gets its name, synced; else, or when a piece could not be written,
 * it is removed. Returns `status`, or the failure. A file that was not opened is allowed. */
MUST_CHECK enum tn_status partial_file_close(struct partial_file *file, enum tn_status status,
                                             struct error *error);

#endif
