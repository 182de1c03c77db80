/*
 * data/formats/mapping.h: a file's bytes, mapped read-only.
 *
 * Pages are read from the disk when they are used, so that a file need not fit in memory. A file
 * must not be shortened while it is mapped: the process would be killed by SIGBUS.
 *
 * Threads: any.
 */
#ifndef DATA_FORMATS_MAPPING_H
#define DATA_FORMATS_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct mapping {
    const uint8_t *bytes; /* NULL: nothing is mapped. */
    size_t size;          /* At least 1. */
};

/* TN_ENOENT: it does not exist; TN_EINVAL: not a regular file, empty, or without permission;
 * TN_EIO, TN_ENOMEM. Errors begin with the path. */
MUST_CHECK enum tn_status mapping_open(const char *path, struct mapping *out, struct error *error);
void mapping_close(struct mapping *mapping); /* A zeroed one is allowed. */

#endif
