/*
 * ps/store/store_file.h: a new file that is written from its first byte to its last, and hashed on
 * the way, while the bytes are in the processor's cache.
 *
 * A large file can bypass the page cache (O_DIRECT), where the disk allows it: this takes less
 * processor time, and no memory that training and other files use, but one block after the other is
 * slower than the cache.
 *
 * Threads: one owner. Blocking: on the disk.
 */
#ifndef PS_STORE_STORE_FILE_H
#define PS_STORE_STORE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/digest.h"
#include "common/base/error.h"

enum {
    STORE_PIECES_MAX = 4,
    STORE_DIRECT_BYTES = 16 << 20, /* Smaller files do not bypass the page cache. */
};

struct store_file {
    int fd;
    const char *path; /* Outlives the file. */
    uint64_t bytes, at;
    uint64_t flushed; /* The kernel was asked to write the bytes in front of it. */
    /* A file that bypasses the page cache: its next bytes, which are written in blocks. NULL. */
    uint8_t *block;
    size_t filled;
    struct digest_stream digest;
};

/*
 * Make a file of exactly `bytes`, all of them reserved on the device, so that a full one is found
 * before anything is written. store_file_close() must follow, also after a failure; the file may
 * exist then. `direct`: bypass the page cache if possible. TN_ENOSPC: the device is full (the error
 * has the numbers of bytes needed and left); TN_EIO
 */
MUST_CHECK enum tn_status store_file_create(struct store_file *file, const char *path,
                                            uint64_t bytes, bool direct, struct error *error);

/* Use the page cache for the rest. */
MUST_CHECK enum tn_status store_file_use_cache(struct store_file *file, struct error *error);

/* Append the pieces, one after the other. The disk writes after every 4 MiB, so that a sync has
 * little left to wait for. TN_ENOSPC, TN_EIO */
MUST_CHECK enum tn_status store_file_add(struct store_file *file, const struct iovec *pieces,
                                         size_t count, struct error *error);

/* All bytes were added: make them durable, but not the name in the folder. `*digest` is of the
 * whole file. TN_EIO */
MUST_CHECK enum tn_status store_file_sync(struct store_file *file, struct digest *digest,
                                          struct error *error);

/* Allowed after a failed create. */
void store_file_close(struct store_file *file);

#endif
