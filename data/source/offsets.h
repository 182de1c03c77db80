/*
 * data/source/offsets.h: where the rows of a file begin. Small lists are in memory; large ones are
 * in a temporary file without a name, in $TMPDIR or /var/tmp, which the kernel maps, so that data
 * of any size need no memory of that size.
 *
 * Threads: one adds; then any number may read. Blocking: on the disk.
 */
#ifndef DATA_SOURCE_OFFSETS_H
#define DATA_SOURCE_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct offsets {
    uint64_t *at;
    uint64_t count;
    uint64_t room; /* This and all below: private. */
    int file;      /* Valid if `is_file`. */
    bool is_file;
};

/* A zeroed struct is an empty list. TN_ENOMEM; TN_ENOSPC, TN_EIO: the temporary file. */
MUST_CHECK enum tn_status offsets_add(struct offsets *offsets, uint64_t offset,
                                      struct error *error);
void offsets_free(struct offsets *offsets);

#endif
