/*
 * data/formats/tar.h: members of a tar archive, read in place: ustar, with long names and sizes as
 * GNU tar and POSIX (pax) write them.
 *
 * Archives are not trusted: each header's checksum is checked, and each size against the bytes that
 * exist. Pure, apart from error texts. Threads: any.
 */
#ifndef DATA_FORMATS_TAR_H
#define DATA_FORMATS_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { TAR_NAME_MAX = 512, TAR_BLOCK = 512 };

struct tar_member {
    char name[TAR_NAME_MAX];
    bool is_file; /* Else a folder, a link or another thing without contents. */
    const uint8_t *bytes;
    size_t size;
    size_t next; /* Where the next member begins. */
};

/* The member at `at`; `*more` is false at the end of the archive. TN_ECORRUPT: it is damaged, cut
 * off, or no tar archive; TN_EINVAL: its name is too long. */
MUST_CHECK enum tn_status tar_next(const uint8_t *bytes, size_t size, size_t at,
                                   struct tar_member *out, bool *more, struct error *error);

#endif
