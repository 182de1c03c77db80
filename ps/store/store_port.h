/*
 * ps/store/store_port.h: the checkpoint store as a ps driver uses it: requests that never block,
 * each accepted request answered by exactly one event with its `op`. In production a thread serves
 * the port with LMDB (ps/store/store_thread.h); the simulator serves it with a model of a disk.
 *
 * Threads: the port's functions are called on the owner's thread. Events are passed to the sink on
 * the store's thread; the sink copies what it needs into an inbox and returns, and calls no port
 * function. All memory of an event is borrowed for the call.
 */
#ifndef PS_STORE_STORE_PORT_H
#define PS_STORE_STORE_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/manifest.h"
#include "common/cluster/variable_moves.h"
#include "ps/table/rows_chain.h"

enum {
    STORE_ARRAYS_MAX = MANIFEST_ARRAYS_MAX,
    STORE_BLOB_MAX = 4096,                /* Bytes that the owner may store with a shard. */
    STORE_LIST_MAX = CHECKPOINTS_MAX,     /* Checkpoints in a listing. */
    STORE_KEEP_MAX = 4 * CHECKPOINTS_MAX, /* Ids that a collection keeps. */
    STORE_QUEUE_MAX = 16,                 /* Requests accepted and not yet answered. */
    STORE_TEXT_MAX = 1024,                /* Bytes of an event's text. */
};

#define STORE_ALL_SHARDS UINT32_MAX /* Verify: every shard. */

/* One array of a shard: `count` floats from byte `offset_bytes` of `buffer`. */
struct store_array {
    struct buffer *buffer;
    size_t offset_bytes; /* A multiple of 4. */
};

struct row_table; /* ps/table/row_table.h */

/*
 * The rows of tables of a shard. The tables stay as they are until the answer. A read puts those of
 * the part of the tables there, from all shards that can have some.
 *
 * `chain`, of a write: the files of the same shard that the save continues, none if it has all
 * rows; the store appends the new one. It empties the chain if the next save cannot continue it: a
 * file of it is missing, the shard exists already, or the disk has no hard links. After a read: the
 * files of the shard if they are those of the whole part, in the store's folder; else none.
 */
struct store_rows {
    struct row_table *const *tables;
    uint32_t count;             /* 0: none. */
    const uint64_t *row_counts; /* Write: of the save in progress of each table. */
    struct rows_chain *chain;   /* Read: NULL is allowed. The store's until the answer. */
};

/*
 * Write one shard of checkpoint `id`. An accepted request keeps one reference on each array's
 * buffer until just before its answer; their contents must not change until then.
 */
struct store_write_request {
    uint64_t id;
    uint64_t generation;
    uint64_t step;
    uint64_t epoch;
    uint64_t optimizer_steps; /* Updates applied so far (Adam's t). */
    uint64_t first;           /* Start in the flat parameter vector, in floats. */
    uint64_t count;           /* Floats of each array. */
    uint32_t shard;           /* Index of this shard. */
    uint32_t shards;          /* Number of shards of the checkpoint. */
    uint32_t state_arrays;
    struct store_array arrays[STORE_ARRAYS_MAX];
    const void *blob; /* Copied; opaque to the store. */
    size_t blob_bytes;
    struct store_rows rows; /* Such a save has no blob. */
    uint64_t spread_ms;     /* The time over which it is spread; 0: at full speed. */
};

/*
 * Fill the arrays from a checkpoint with any number of shards. `manifest` is copied; an accepted
 * request keeps a reference on each array's buffer and writes into it, so no other code may read or
 * write these buffers until the answer. After a failure their contents are undefined.
 */
struct store_read_request {
    const struct manifest *manifest;
    const char *fallback_dir; /* Read-only: shards that the store's folder lacks are read from there
                               * or from its folder "checkpoints". Copied. NULL or "": nowhere. */
    uint64_t first;           /* The range of the flat parameter vector to read, in floats. */
    uint64_t count;
    /* If the reader has the variables in another order than the checkpoint: from the vector of the
     * checkpoint to that of the reader, to which the range belongs. Lent until the answer. Empty:
     * the orders are the same. */
    struct variable_moves moves;
    /* `manifest->state_arrays` of them; those without a buffer are checked only:
     * allowed in store_read_range(). */
    struct store_array arrays[STORE_ARRAYS_MAX];
    struct store_rows rows; /* To get the rows of their part. */
};

/* Values stored with the arrays of a shard, as a read returns them. */
struct store_metadata {
    uint64_t optimizer_steps; /* The highest of the shards read. */
    size_t blob_bytes;        /* 0 unless the range is exactly one shard of the checkpoint. */
    uint8_t blob[STORE_BLOB_MAX];
};

enum store_request {
    STORE_WRITE,
    STORE_READ,
    STORE_VERIFY,
    STORE_LIST,
    STORE_PUT_MANIFEST,
    STORE_COLLECT,
    STORE_DISCARD,
};

/*
 * The answer to `op`. Values of `status`, besides TN_OK:
 *   TN_ENOENT    the store's folder, the checkpoint or one of its shards does not exist
 *   TN_ENOSPC    write, put: the device is full; earlier checkpoints are intact
 *   TN_ECORRUPT  read, verify: damaged; its contents must not be used
 *   TN_EEXIST    write: `id` is committed with other contents; discard: `id` is committed
 *   TN_EIO       the disk failed, or refused the access (read-only, no permission)
 *   TN_ECLOSED   the store was stopped before the request was done
 */
struct store_event {
    uint64_t op;
    enum store_request request;
    enum tn_status status;
    const char *text;     /* Failed: the error. LIST: warnings, one per line. Else "". */
    struct digest digest; /* WRITE: the digest of the shard's file, for the manifest. */
    uint64_t bytes;       /* WRITE: the size of that file. */
    uint64_t waited_ms;   /* WRITE: for how long it waited, to leave the machine to training. */
    const struct store_metadata *metadata; /* READ that succeeded. */
    const struct manifest *manifests;      /* LIST: committed checkpoints, newest first. */
    size_t count;        /* LIST: of manifests. COLLECT: of checkpoints removed. */
    uint64_t highest_id; /* LIST: of all checkpoints, committed or not; 0: none. */
};

typedef void (*store_sink)(void *ctx, const struct store_event *event);

/*
 * Each function returns TN_OK (accepted, one event follows) or TN_EREFUSED (STORE_QUEUE_MAX
 * requests are waiting already, or the store is stopping; no reference is kept and no event
 * follows). Requests are carried out one at a time, in the order of acceptance.
 */
struct store_port {
    void *ctx;
    enum tn_status (*write)(void *ctx, uint64_t op, const struct store_write_request *request);
    enum tn_status (*read)(void *ctx, uint64_t op, const struct store_read_request *request);
    /* Check one shard, or with STORE_ALL_SHARDS all of them, against the manifest (copied). */
    enum tn_status (*verify)(void *ctx, uint64_t op, const struct manifest *manifest,
                             uint32_t shard);
    /* The newest committed checkpoints with a manifest in the folder, at most STORE_LIST_MAX. */
    enum tn_status (*list)(void *ctx, uint64_t op);
    /* Keep a copy of a committed checkpoint's manifest (copied) beside its shards. */
    enum tn_status (*put_manifest)(void *ctx, uint64_t op, const struct manifest *manifest);
    /* Remove the checkpoints, committed or not, with an id below `below_id` that is not among the
     * `count` (at most STORE_KEEP_MAX) ids of `keep`. */
    enum tn_status (*collect)(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                              uint64_t below_id);
    /* Remove all files of checkpoint `id`, which was never committed. */
    enum tn_status (*discard)(void *ctx, uint64_t op, uint64_t id);
    /* The writes that are accepted and not answered are awaited: they continue at full
     * speed. Requests behind a write have the same effect. */
    void (*hurry)(void *ctx);
};

#endif
