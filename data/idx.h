/*
 * data/idx.h: arrays of bytes in the IDX format of the MNIST family, plain or compressed with
 * gzip.
 *
 * Format: two zero bytes, the element type (8: unsigned byte; the only one read here), the rank,
 * then `rank` big-endian 32-bit dimensions, then the elements, row-major. Described at
 * https://yann.lecun.com/exdb/mnist/.
 *
 * Files are not trusted: every field is checked before it is used, memory is bounded by what the
 * file can contain, and missing or extra bytes are errors.
 *
 * Threads: any. idx_read() blocks on the disk.
 */
#ifndef DATA_IDX_H
#define DATA_IDX_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { IDX_RANK_MAX = 4 };
#define IDX_BYTES_MAX (UINT64_C(1) << 31) /* The most elements of a file, and bytes. */

struct idx {
    uint32_t rank;                     /* 1 to IDX_RANK_MAX. */
    uint32_t dimensions[IDX_RANK_MAX]; /* Each at least 1. */
    size_t size;                       /* Their product. */
    uint8_t *data;                     /* Owned; NULL after idx_free(). */
};

/*
 * Read the array in bytes[0..size). On failure nothing is owned.
 *
 *   TN_ECORRUPT  magic, type, rank, a dimension, too short, too long, or checksum: see the error
 *   TN_ENOMEM    out of memory for the elements
 */
MUST_CHECK enum tn_status idx_parse(const uint8_t *bytes, size_t size, struct idx *out,
                                    struct error *error);

/* Read the file `path`; errors begin with the path. TN_ENOENT: it does not exist; TN_EINVAL: it is
 * not a regular file; TN_EIO: it cannot be read. */
MUST_CHECK enum tn_status idx_read(const char *path, struct idx *out, struct error *error);

void idx_free(struct idx *idx);

#endif
