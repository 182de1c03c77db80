/*
 * ps/store/store_scan.h: reads a shard's file once: every byte goes from the file to its place in
 * memory, and is hashed there for the digest of its chunk and for that of the file, while it is in
 * the processor's cache.
 *
 * The damage of a file is known at the end of the file at the latest: values that were copied until
 * then must not be used if the scan fails, or if the digest is not the one expected.
 *
 * Threads: that of the caller, which it returns on, and up to STORE_SCAN_THREADS_MAX - 1 others
 * until then. Each takes the next chunk, reads it and checks its digest, up to a few chunks ahead
 * of the digest of the file, to which one thread at a time adds those that are ready, in the order
 * of the file. With `in_turn`, the kernel sees a file that is read in order: it takes reads of
 * several threads for random ones, reads little ahead of each, and the disk waits. Without others,
 * the result is the same. Blocking: on the disk.
 */
#ifndef PS_STORE_STORE_SCAN_H
#define PS_STORE_STORE_SCAN_H

#include <stdatomic.h>

#include "common/cluster/variable_moves.h"
#include "ps/store/store_layout.h"
#include "ps/store/store_pages.h"
#include "ps/store/store_port.h"

enum { STORE_SCAN_THREADS_MAX = 4 };

struct store_scan {
    int fd;
    const char *path; /* For errors. */
    uint64_t bytes;   /* Size of the file. */
    /* Its values; NULL: only the digest of the file is wanted. */
    const struct store_values *values;
    const struct store_header *header;
    /* The chunks with floats that these move are checked. */
    struct variable_moves moves;
    /* The floats are copied to their places in these arrays, except those without a buffer; NULL:
     * to none. */
    const struct store_array *arrays;
    struct digest_stream *parameters; /* Gets those of array 0, in their order. NULL: not wanted. */
    const atomic_bool *cancelled;
    unsigned threads; /* At most; at least 1. */
    bool in_turn;     /* One of them reads at a time. */
};

/* How many threads a scan of `bytes` should have that is to end soon: as this process has
 * processors, but not for a few MiB. */
unsigned store_scan_threads(uint64_t bytes);

/*
 * Read the file. `*digest` is that of all its bytes. The scan ends at the first problem, by the
 * order of the file, whichever thread finds it; `*digest` is then undefined.
 *
 *   TN_ECORRUPT  a chunk is missing or damaged, or the header of a value is; the file is too short
 *   TN_EIO, TN_ENOMEM, TN_ECLOSED (cancelled)
 */
MUST_CHECK enum tn_status store_scan_run(const struct store_scan *scan, struct digest *digest,
                                         struct error *error);

#endif
