/*
 * cli/inspect/verify.h: verify the shards of checkpoints, in one folder or through the agents of
 * all hosts.
 *
 * Threads: the main thread. Blocking: on the disk and on ZooKeeper.
 */
#ifndef CLI_INSPECT_VERIFY_H
#define CLI_INSPECT_VERIFY_H

#include "common/cluster/verification.h"
#include "common/zk/zk_sync.h"

/* Verify the shards in `folder`. `*out` has an entry for each shard of `manifest`. TN_ENOMEM. */
MUST_CHECK enum tn_status verify_in_folder(const char *folder, const struct manifest *manifest,
                                           struct shard_conclusion *out, struct error *error);

/* Verifications of the checkpoints of a cluster, through its agents. */
struct verify_cluster {
    struct zk_sync *sync;
    const char *cluster;
    uint64_t timeout_ms; /* For the next shard that an agent reads. */
    uint64_t newest;     /* Checkpoint; the others can be superseded only if a later one exists. */
    /* Places whose agent has not answered: it is not waited for again. Zeroed by the owner. */
    uint32_t absent_count;
    char absent[MANIFEST_SHARDS_MAX][sizeof((struct manifest_shard *)0)->place];
};

/*
 * Ask the agents of all hosts to verify the shards of `manifest` in their folders, and wait for
 * them, as long as some agent makes progress.
 *
 *   TN_ENOENT  the checkpoint was superseded and removed meanwhile, so it has no verdict
 *   others     as zk_sync_write(), TN_ENOMEM
 */
MUST_CHECK enum tn_status verify_in_cluster(struct verify_cluster *verify,
                                            const struct manifest *manifest,
                                            struct shard_conclusion *out, struct error *error);

/*
 * For an agent: verify the shards in `folder` that the request asks for, answer, and return when
 * the request was removed. Errors: those of zk_sync_write(), TN_ENOMEM.
 */
MUST_CHECK enum tn_status verify_answer(struct zk_sync *sync, const char *cluster,
                                        const char *request, const char *folder,
                                        struct error *error);

#endif
