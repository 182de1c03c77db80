/*
 * ps/checkpoint_client.h: the requests of a ps to its checkpoint store: the list of checkpoints on
 * the disk, loads, saves, copies of manifests, and the removal of old checkpoints. Part of the ps
 * driver: requests leave through the ports, answers arrive as events, and the functions that handle
 * them return what happened. Rules: docs/protocol.md P6 to P8.
 *
 * The manifest of a checkpoint is read from the disk if the disk has a copy, else from ZooKeeper:
 * the disks alone are enough for a restore.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_CHECKPOINT_CLIENT_H
#define PS_CHECKPOINT_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/report.h"
#include "common/node/membership.h"
#include "common/node/node.h"
#include "ps/shard.h"
#include "ps/shard_rows.h"
#include "ps/store/store_port.h"

enum {
    CHECKPOINT_SAVES_MAX = 2,
    CHECKPOINT_RETRY_MS = 50,
    RETENTION_COPY_RETRY_MS = 1000,
    CHECKPOINT_MANIFEST_RETRY_MS = 200,
    CHECKPOINT_MANIFEST_WAIT_MS = 4000, /* More than the chief needs to restore it (C15). */
};

/* Checkpoints that must stay: ordered to be loaded, ordered to be evaluated, and the best one. */
enum retention_held { HELD_LOAD, HELD_EVALUATE, HELD_BEST, RETENTION_HELD };

/* Results of the functions that handle events. */
enum checkpoint_event {
    CHECKPOINT_NO_EVENT,
    CHECKPOINT_LISTED, /* The first listing is complete: reports may begin. */
    CHECKPOINT_LOADED, /* The shard's incoming arrays are complete. */
    CHECKPOINT_LOAD_FAILED,
    CHECKPOINT_SAVED,       /* `event_checkpoint` */
    CHECKPOINT_SAVE_FAILED, /* `event_checkpoint` */
};

struct checkpoint_save {
    uint64_t checkpoint, generation, step;
    bool kept;        /* The shard's kept arrays; else the current ones. */
    const void *blob; /* Copied by the store. */
    size_t blob_bytes;
};

struct checkpoint_client {
    /* Read by the driver. */
    bool listed;
    uint32_t manifest_count;
    struct manifest *manifests; /* Copies on the disk, newest first; STORE_LIST_MAX at most. */
    uint64_t highest_epoch, highest_generation; /* In all manifests seen. */
    uint64_t highest_id;       /* The highest id on this disk since the start, of checkpoints that
                                * are committed, not committed or being written. */
    uint32_t saves;            /* In progress. */
    bool hurried;              /* All saves in progress are hurried. */
    uint64_t event_checkpoint; /* In the last SAVED or SAVE_FAILED. */
    uint64_t saved_checkpoint; /* The newest one saved, with its file's ... */
    struct digest saved_digest;
    uint64_t saved_bytes;
    enum load_missing load_missing; /* Missing in the load that failed. */
    struct store_metadata metadata; /* From the last load. */
    /* Private. */
    struct store_port store;
    struct membership *membership;
    struct shard *shard;
    struct shard_rows *rows;
    const struct node_ports *ports;
    const struct job *job;
    const struct variable_table *variables;
    uint64_t variables_hash, graph_hash, parameters;
    uint32_t shards, index, keep;
    struct variable_move *moves; /* The order of the checkpoint being loaded. [VARIABLES_MAX] */
    uint32_t move_count;
    uint64_t interval_ms, begun_ms; /* The latter: of the last save; 0: none. */
    uint64_t now_ms, next_op, list_op;
    bool listed_all; /* The listing had no error: copies that it lacks do not exist. */
    struct {
        uint64_t checkpoint; /* 0: no load is in progress. */
        uint64_t manifest_op, read_op, retry_at_ms;
        uint64_t lost_since_ms; /* ZooKeeper has no manifest of it; 0: it was not asked yet. */
        bool found;             /* `manifest` is the manifest of `checkpoint`. */
        struct manifest manifest;
    } load;
    struct {
        uint64_t op, checkpoint;
    } saving[CHECKPOINT_SAVES_MAX];
    /* C11: if ZooKeeper was wiped, the newest manifest on this disk is published there again, and
     * that of each checkpoint that is loaded, because another disk may lack it. */
    struct {
        bool done; /* Reports may begin. */
        uint64_t checkpoint, op, retry_at_ms;
    } publication;
    /* After each commit: see checkpoint_retention.c. */
    struct {
        uint64_t wanted, current, done; /* Ids of committed checkpoints. */
        uint64_t copying;               /* The manifest being copied: `current`, or a gap. */
        uint64_t tried;                 /* The highest gap that was tried. */
        bool filled;                    /* A gap was filled since the last listing. */
        uint64_t held[RETENTION_HELD];  /* 0: none. */
        enum {
            RETENTION_IDLE,
            RETENTION_READ,
            RETENTION_PUT,
            RETENTION_LIST,
            RETENTION_COLLECT
        } state;
        uint64_t op, retry_at_ms;
        bool copy_failed; /* The last attempt to copy `manifest`. */
        struct manifest manifest;
        uint32_t unloadable_count;
        uint64_t unloadable[RUN_UNLOADABLE_MAX]; /* As /run lists them: to be kept. */
        uint64_t ids[STORE_KEEP_MAX];            /* To be kept. */
        size_t id_count;
    } retention;
};

struct checkpoint_client_config {
    struct store_port store;
    struct membership *membership; /* All pointers outlive the client. */
    const struct node_ports *ports;
    struct shard *shard;
    struct shard_rows *rows;
    /* To load checkpoints that have the variables in another order; NULL: they are not loaded. */
    const struct job *job;
    const struct variable_table *variables;
    uint64_t variables_hash, graph_hash, parameters;
    uint32_t shards, index; /* Number of ps, and the index of this one. */
    uint32_t keep;          /* Committed checkpoints to keep, at least 1. */
    uint64_t interval_ms;   /* Between two checkpoints, as configured; 0: unknown. */
};

/* TN_ENOMEM. */
MUST_CHECK enum tn_status checkpoint_client_open(struct checkpoint_client *client,
                                                 const struct checkpoint_client_config *config,
                                                 struct error *error);
void checkpoint_client_close(struct checkpoint_client *client);

/* Request the first listing. Once, before everything else. */
void checkpoint_client_start(struct checkpoint_client *client, uint64_t now_ms);

/* Fill the shard's incoming arrays from `checkpoint` (not 0). CHECKPOINT_LOADED or
 * CHECKPOINT_LOAD_FAILED follows; one load at a time. */
void checkpoint_client_load(struct checkpoint_client *client, uint64_t checkpoint);

/* Write the shard's current or kept arrays. False: the store is busy, which is logged. Else
 * CHECKPOINT_SAVED or CHECKPOINT_SAVE_FAILED follows. */
bool checkpoint_client_save(struct checkpoint_client *client, const struct checkpoint_save *save);

/* Continue the saves in progress, if any, at full speed, because they are awaited. Call it for as
 * long as they are. */
void checkpoint_client_hurry(struct checkpoint_client *client);

/* `run` changed: copy the manifest of the committed checkpoint, then remove checkpoints older than
 * the newest `keep`. */
void checkpoint_client_follow(struct checkpoint_client *client, const struct run *run);
/* No save is in progress and the work after the last commit is done. */
bool checkpoint_client_idle(const struct checkpoint_client *client);

/* The first listing is complete, and ZooKeeper has the newest manifest of this disk if it lost its
 * data: reports may begin. `run` is the value of /run. */
bool checkpoint_client_ready(struct checkpoint_client *client, const struct run *run);

/* Fill in the fields `disk_...`, which are used if ZooKeeper has lost its data (C11), and the
 * digest and size of `saved_checkpoint`. */
void checkpoint_client_report(const struct checkpoint_client *client, struct report *report);

/* Pass every event of the store and every event of ZooKeeper; those of other requests are ignored.
 * Returns what the event has completed. */
enum checkpoint_event checkpoint_client_handle_store(struct checkpoint_client *client,
                                                     const struct store_event *event);
enum checkpoint_event checkpoint_client_handle_zk(struct checkpoint_client *client,
                                                  const struct zk_event *event);
/* Retries the requests that are due; harmless at any time. */
enum checkpoint_event checkpoint_client_tick(struct checkpoint_client *client, uint64_t now_ms);
/* When checkpoint_client_tick() is due; UINT64_MAX: never. */
uint64_t checkpoint_client_deadline_ms(const struct checkpoint_client *client);

#endif
