/*
 * cli/inspect/held_shards.h: what a run in phase "held" waits for: the shards that its ps cannot
 * load, and where they were written.
 *
 * Threads: the owner's. Blocking: held_shards_read(), for a bounded time.
 */
#ifndef CLI_INSPECT_HELD_SHARDS_H
#define CLI_INSPECT_HELD_SHARDS_H

#include <jansson.h>

#include "common/cluster/manifest.h"
#include "common/cluster/run.h"
#include "common/zk/zk_sync.h"

struct held_shards {
    const struct run *run;   /* Borrowed. */
    enum role holders;       /* ps; or workers, each of which lacks the whole checkpoint. */
    uint32_t ps_count;       /* 0: the holders are workers. */
    struct row_borders rows; /* The job's. */
    bool has_manifest;       /* The manifest of the checkpoint that cannot be loaded was read. */
    struct manifest manifest;
};

/* Read the places of the shards; `run` need not be held. Without the manifest they are unknown. */
void held_shards_read(struct held_shards *held, struct zk_sync *sync, const char *cluster,
                      const struct run *run, uint32_t ps_count, const struct row_borders *rows);

/* {reason, missing: [{task, shard, host, folder, checkpoint}]}, or null if the run is not held. Of
 * a checkpoint of other ps or borders, each shard that the task needs: it lacks at least one.
 * Unknown values are null. */
json_t *held_shards_json(const struct held_shards *held);

/* The missing shards and the remedies, as lines for people; nothing if the run is not held. */
void held_shards_print(const struct held_shards *held);

#endif
