/*
 * data/source/unpack.h: files compressed with gzip or zstd.
 *
 * Their rows cannot be read in any order, so that such a file is unpacked when it is opened, into a
 * file without a name, in $TMPDIR or /var/tmp; if it is kept, it gets its name at the end.
 * Space on the disk is reserved before it is written. Files of several parts, as `cat a.gz b.gz`
 * makes, are read. Progress is logged.
 *
 * Threads: any; nothing is shared. Blocking: on the disk.
 */
#ifndef DATA_SOURCE_UNPACK_H
#define DATA_SOURCE_UNPACK_H

#include <stdbool.h>

#include "data/source/file.h"

/* Whether the bytes begin as a compressed file does. */
bool unpack_is_packed(const uint8_t *bytes, size_t size);

/* Takes unpacked bytes. */
struct unpack_sink {
    enum tn_status (*put)(void *ctx, const uint8_t *bytes, size_t size, struct error *error);
    void *ctx;
};

/* Unpack bytes[0..size) into the sink, in pieces. TN_ECORRUPT: they are damaged or cut off;
 * TN_ENOMEM; what put() returns. */
MUST_CHECK enum tn_status unpack_bytes(const uint8_t *bytes, size_t size,
                                       const struct unpack_sink *sink, struct error *error);

/* Replace an open file by its unpacked contents. `place`: where they are kept, unless there is a
 * file; NULL: they are not. TN_EINVAL: it is damaged, or has no contents; TN_ENOSPC, TN_EIO: the
 * temporary file; TN_ENOMEM. After a failure the file is closed. */
MUST_CHECK enum tn_status unpack_file(const char *path, const char *place, struct source_file *file,
                                      struct error *error);

#endif
