/*
 * ps/store/store_port.h: the checkpoint store as a ps driver sees it: requests that never block,
 * each accepted one answered by exactly one event with its `op`. In production a thread serves it
 * over LMDB (ps/store/store_thread.h); the simulator serves it over a modelled disk.
 *
 * Threads: the port's functions are called by the owner's thread. Events go to the sink on the
 * store's thread: it copies what it needs into an inbox and returns; it calls no port function. All
 * memory of an event is borrowed for the call.
 */
#ifndef PS_STORE_STORE_PORT_H
#define PS_STORE_STORE_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/manifest.h"

enum {
    STORE_ARRAYS_MAX = MANIFEST_ARRAYS_MAX,
    STORE_BLOB_MAX = 4096, /* Bytes of "applied" notes kept with a shard. */
    STORE_LIST_MAX = 32,   /* Checkpoints a listing returns at most. */
    STORE_KEEP_MAX = 64,   /* Ids a collection can be told to keep. */
    STORE_QUEUE_MAX = 16,  /* Requests accepted and not yet answered. */
    STORE_TEXT_MAX = 1024, /* Of an event's text. */
};

#define STORE_ALL_SHARDS UINT32_MAX /* verify: every shard. */

/* One state array of a shard: `count` floats from byte `offset` of `buffer`. */
struct store_array {
    struct buffer *buffer;
    size_t offset_bytes; /* A multiple of 4. */
};

/*
 * "Write my part of checkpoint `id`." An accepted request keeps one reference on each array's
 * buffer until just before its answer; their contents must not change until then.
 */
struct store_write_request {
    uint64_t id;
    uint64_t generation;
    uint64_t step;
    uint64_t epoch;
    uint64_t optimizer_steps; /* Updates applied so far (Adam's t). */
    uint64_t first;           /* Of the flat parameter vector, in floats. */
    uint64_t count;           /* Floats of each array. */
    uint32_t shard;           /* This one ... */
    uint32_t shards;          /* ... of so many. */
    uint32_t state_arrays;
    struct store_array arrays[STORE_ARRAYS_MAX];
    const void *blob; /* Copied; opaque to the store. */
    size_t blob_bytes;
};

/*
 * "Fill my arrays from this checkpoint", whatever its number of shards. `manifest` is copied; an
 * accepted request keeps a reference on each array's buffer and writes into it, so nobody else
 * reads or writes these until the answer. After a failure their contents are undefined.
 */
struct store_read_request {
    const struct manifest *manifest;
    uint64_t first; /* Range wanted of the flat parameter vector, in floats. */
    uint64_t count;
    struct store_array arrays[STORE_ARRAYS_MAX]; /* `manifest->state_arrays` of them. */
};

/* What comes with the arrays of a read. */
struct store_metadata {
    uint64_t optimizer_steps; /* The largest of the shards that were read. */
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
 * The answer to `op`. `status` and what each request may give:
 *   TN_ENOENT    the store's folder, the checkpoint or a shard of it is not there
 *   TN_ENOSPC    write, put: the device is full; earlier checkpoints are intact
 *   TN_ECORRUPT  read, verify: damaged; nothing of it may be used
 *   TN_EEXIST    write: `id` is committed with other contents; discard: `id` is committed
 *   TN_EIO       the disk failed, or refused (read-only, no permission)
 *   TN_ECLOSED   the store was told to stop before this was done
 */
struct store_event {
    uint64_t op;
    enum store_request request;
    enum tn_status status;
    const char *text;     /* Failed: the error in words. LIST: warnings, one a line. Else "". */
    struct digest digest; /* WRITE: of the shard's file, ... */
    uint64_t bytes;       /* ... and its size: both go into the manifest. */
    const struct store_metadata *metadata; /* READ that succeeded. */
    const struct manifest *manifests;      /* LIST: committed checkpoints, newest first. */
    size_t count;                          /* LIST: manifests. COLLECT: checkpoints removed. */
};

typedef void (*store_sink)(void *ctx, const struct store_event *event);

/*
 * Each function returns TN_OK: accepted, one event follows; or TN_EREFUSED: STORE_QUEUE_MAX
 * requests wait already, or the store is stopping: nothing was taken and no event follows.
 * Requests are carried out one at a time, in the order of acceptance.
 */
struct store_port {
    void *ctx;
    enum tn_status (*write)(void *ctx, uint64_t op, const struct store_write_request *request);
    enum tn_status (*read)(void *ctx, uint64_t op, const struct store_read_request *request);
    /* Check one shard, or with STORE_ALL_SHARDS all of them, against the manifest (copied). */
    enum tn_status (*verify)(void *ctx, uint64_t op, const struct manifest *manifest,
                             uint32_t shard);
    /* Committed checkpoints whose manifest lies in the folder; at most STORE_LIST_MAX. */
    enum tn_status (*list)(void *ctx, uint64_t op);
    /* Keep a copy of a committed checkpoint's manifest (copied) beside its shards. */
    enum tn_status (*put_manifest)(void *ctx, uint64_t op, const struct manifest *manifest);
    /* Remove the checkpoints, committed or not, with an id below `below_id` that is not among the
     * `count` (at most STORE_KEEP_MAX) ids of `keep`. */
    enum tn_status (*collect)(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                              uint64_t below_id);
    /* Remove what was written of checkpoint `id`, which was never committed. */
    enum tn_status (*discard)(void *ctx, uint64_t op, uint64_t id);
};

#endif
