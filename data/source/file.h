/*
 * data/source/file.h: a file in memory as the kernel maps it: nothing is read before it is used,
 * and nothing stays that memory is needed for elsewhere.
 *
 * A file must not be written while it is mapped; one that is cut short ends the process.
 *
 * Threads: a mapped file is read-only. Blocking: on the disk, also where bytes are read.
 */
#ifndef DATA_SOURCE_FILE_H
#define DATA_SOURCE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct source_file {
    const uint8_t *bytes; /* NULL: not open, or a folder. */
    size_t size;
};

/* TN_ENOENT; TN_EINVAL: it is empty, or not a regular file; TN_EIO, TN_ENOMEM. */
MUST_CHECK enum tn_status source_file_open(const char *path, struct source_file *out,
                                           struct error *error);
void source_file_close(struct source_file *file); /* A zeroed one is allowed. */

#endif
