/* tests/sim/disk_model_private.h: shared by the contents of the disk and its queue of requests. */
#ifndef SIM_DISK_MODEL_PRIVATE_H
#define SIM_DISK_MODEL_PRIVATE_H

#include "tests/sim/disk_model.h"

struct disk_rows; /* tests/sim/disk_rows.h */

enum { DISK_SHARDS_MAX = 8192, DISK_MANIFESTS_MAX = 2048 };

struct disk_shard {
    uint64_t id;
    uint32_t index, of;
    uint64_t first, count, optimizer_steps;
    uint32_t arrays;
    float *data;                                /* arrays x count. */
    struct disk_rows *rows[MANIFEST_CHAIN_MAX]; /* Shared with other checkpoints. */
    uint32_t row_files;
    uint64_t step, generation;
    struct digest digest;
    bool damaged;
    bool elsewhere; /* Written while its ps was away. */
    size_t blob_bytes;
    uint8_t blob[STORE_BLOB_MAX];
};

struct disk_model {
    struct world *world;
    struct disk_config config;
    struct disk_shard *shards[DISK_SHARDS_MAX];
    size_t shard_count;
    struct manifest *manifests[DISK_MANIFESTS_MAX];
    size_t manifest_count;
    uint64_t away; /* Bit i: ps i runs on another host, without the shards it wrote before. */
    struct disk_user *users;
    struct manifest listed[STORE_LIST_MAX];
};

struct disk_request {
    struct disk_request *next;
    enum store_request kind;
    uint64_t op;
    struct store_write_request write;
    struct store_read_request read;
    bool has_fallback; /* An operator has named the folder of the other host. */
    struct manifest *manifest;
    uint64_t keep[STORE_KEEP_MAX];
    size_t keep_count;
    uint64_t id;
    uint32_t shard;
    uint8_t *blob;
    bool hurried;
};

struct disk_user {
    struct disk_user *next;
    struct disk_model *disk;
    store_sink sink;
    void *ctx;
    bool dead, frozen, busy;
    struct disk_request *queue;
    size_t waiting;
    uint64_t turn; /* Counts the ends that were scheduled; only the last one counts. */
};

/* disk_contents.c: executes a request. A read that succeeds fills `metadata`. */
void disk_execute(struct disk_model *disk, const struct disk_request *request,
                  struct store_event *event, struct store_metadata *metadata);
void disk_forget_all(struct disk_model *disk);

#endif
