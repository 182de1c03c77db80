/*
 * data/formats/tfrecord.h: records of a TFRecord file.
 *
 * Format: for each record its length in 8 bytes, a checksum of these, its bytes, a checksum of
 * them, both as crc32c_masked(). Files are not trusted; both checksums are checked.
 *
 * Pure, apart from error texts. Threads: any.
 */
#ifndef DATA_FORMATS_TFRECORD_H
#define DATA_FORMATS_TFRECORD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct tfrecord {
    const uint8_t *bytes;
    size_t size;
    size_t next; /* Where the next record begins, or the end of the file. */
};

/* The record at `at`, which is below size. TN_ECORRUPT: it is damaged or cut off. */
MUST_CHECK enum tn_status tfrecord_read(const uint8_t *bytes, size_t size, size_t at,
                                        struct tfrecord *out, struct error *error);

#endif
