/*
 * data/formats/zip.h: the members of a ZIP archive that are stored without compression, as
 * numpy.savez() writes them (.npz). ZIP64 is read.
 *
 * Archives are not trusted: every offset is checked against the size, and the local header of a
 * member must agree with the directory.
 *
 * Pure, apart from error texts. Threads: any.
 */
#ifndef DATA_FORMATS_ZIP_H
#define DATA_FORMATS_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct zip_directory {
    const uint8_t *bytes; /* The archive's. */
    size_t size;
    uint64_t members;
    size_t at, end; /* The directory; `at` moves to the next member. */
};

struct zip_member {
    const char *name; /* Not terminated. */
    size_t name_size;
    const uint8_t *data;
    size_t size;
    uint32_t crc32;
};

/* TN_ECORRUPT: not a ZIP archive, or it is damaged. */
MUST_CHECK enum tn_status zip_open(const uint8_t *bytes, size_t size, struct zip_directory *out,
                                   struct error *error);

/* Call it `members` times. TN_EINVAL: the member is compressed or encrypted; TN_ECORRUPT. */
MUST_CHECK enum tn_status zip_next(struct zip_directory *directory, struct zip_member *out,
                                   struct error *error);

#endif
