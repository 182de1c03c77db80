/*
 * ps/checkpoint_client.h: what a ps asks of its store: the list of what lies on the client, loads,
 * saves, copies of manifests, and collection. A part of the ps driver: requests go out by the
 * ports, answers come in as events, and it says what they mean. Rules: docs/protocol.md P6 to P8.
 *
 * A checkpoint's manifest is taken from the disk if a copy is there, else from ZooKeeper: disks
 * alone are enough.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_CHECKPOINT_CLIENT_H
#define PS_CHECKPOINT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/node/membership.h"
#include "common/node/node.h"
#include "ps/shard.h"
#include "ps/store/store_port.h"

enum { CHECKPOINT_SAVES_MAX = 2, CHECKPOINT_RETRY_MS = 50 };

/* What an event meant. */
enum checkpoint_event {
    CHECKPOINT_NO_EVENT,
    CHECKPOINT_LISTED, /* The first listing is there: reports may begin. */
    CHECKPOINT_LOADED, /* The incoming arrays are whole. */
    CHECKPOINT_LOAD_FAILED,
    CHECKPOINT_SAVED,       /* `event_checkpoint` */
    CHECKPOINT_SAVE_FAILED, /* `event_checkpoint` */
};

struct checkpoint_save {
    uint64_t checkpoint, generation, step;
    const void *blob; /* Copied by the store. */
    size_t blob_bytes;
};

struct checkpoint_client {
    /* Read by the driver. */
    bool listed;
    uint32_t manifest_count;
    struct manifest
        *manifests; /* Known to be on the client, newest first; STORE_LIST_MAX of them. */
    uint64_t highest_epoch, highest_generation; /* That any of them names. */
    uint32_t saves;                             /* Under way. */
    uint64_t event_checkpoint;
    uint64_t saved_checkpoint; /* The newest saved, ... */
    struct digest saved_digest;
    uint64_t saved_bytes;
    struct store_metadata metadata; /* Of the last load. */
    /* Private. */
    struct store_port store;
    struct membership *membership;
    struct shard *shard;
    const struct node_ports *ports;
    uint64_t variables_hash, parameters;
    uint32_t shards, index, keep;
    uint64_t now_ms, next_op, list_op;
    struct {
        uint64_t checkpoint; /* 0: none. */
        uint64_t manifest_op, read_op, retry_at_ms;
        bool found; /* `manifest` is it. */
        struct manifest manifest;
    } load;
    struct {
        uint64_t op, checkpoint;
    } saving[CHECKPOINT_SAVES_MAX];
    /* Following what is committed: its manifest is copied, then others are collected. */
    struct {
        uint64_t wanted, current, done; /* Ids of committed checkpoints. */
        uint64_t load_checkpoint;       /* Not to be collected: it is wanted for a load. */
        enum {
            RETENTION_IDLE,
            RETENTION_READ,
            RETENTION_PUT,
            RETENTION_LIST,
            RETENTION_COLLECT
        } state;
        uint64_t op, retry_at_ms;
        struct manifest manifest;
        uint64_t ids[STORE_KEEP_MAX];
        size_t id_count;
    } retention;
};

struct checkpoint_client_config {
    struct store_port store;
    struct membership *membership;
    const struct node_ports *ports;
    struct shard *shard;
    uint64_t variables_hash, parameters;
    uint32_t shards, index; /* Number of ps; which one we are. */
    uint32_t keep;          /* Committed checkpoints to keep. */
};

/* TN_ENOMEM. */
MUST_CHECK enum tn_status checkpoint_client_open(struct checkpoint_client *client,
                                                 const struct checkpoint_client_config *config,
                                                 struct error *error);
void checkpoint_client_close(struct checkpoint_client *client);

/* Ask for the first listing. */
void checkpoint_client_start(struct checkpoint_client *client, uint64_t now_ms);

/* Fill the shard's incoming arrays from `checkpoint` (not 0). CHECKPOINT_LOADED or
 * CHECKPOINT_LOAD_FAILED follows. */
void checkpoint_client_load(struct checkpoint_client *client, uint64_t checkpoint);

/* Write the shard's current arrays. False: not possible, and logged; else CHECKPOINT_SAVED
 * or CHECKPOINT_SAVE_FAILED follows. */
bool checkpoint_client_save(struct checkpoint_client *client, const struct checkpoint_save *save);

/* `run` is news: what is committed is kept, what is older than `keep` of these goes. */
void checkpoint_client_follow(struct checkpoint_client *client, const struct run *run);
/* Nothing is being saved, and what is committed is kept. */
bool checkpoint_client_idle(const struct checkpoint_client *client);

enum checkpoint_event checkpoint_client_handle_store(struct checkpoint_client *client,
                                                     const struct store_event *event);
enum checkpoint_event checkpoint_client_handle_zk(struct checkpoint_client *client,
                                                  const struct zk_event *event);
/* When checkpoint_client_deadline_ms() has passed. */
enum checkpoint_event checkpoint_client_tick(struct checkpoint_client *client, uint64_t now_ms);
uint64_t checkpoint_client_deadline_ms(const struct checkpoint_client *client);

#endif
