/*
 * cli/cluster_read.h: read the state of a cluster from its znodes.
 *
 * Threads: those of zk_sync. Blocking: every cluster_read_*() call, for a bounded time. Besides the
 * errors named here, each of them fails as zk_sync_read() does, and with TN_ECORRUPT.
 */
#ifndef CLI_CLUSTER_READ_H
#define CLI_CLUSTER_READ_H

#include "common/cluster/manifest.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"
#include "common/zk/zk_sync.h"

/* TN_ENOENT: the znode does not exist. */
MUST_CHECK enum tn_status cluster_read_run(struct zk_sync *sync, const char *cluster,
                                           struct run *out, struct error *error);

/* TN_ENOENT: no coordinator has been chief yet. */
MUST_CHECK enum tn_status cluster_read_chief(struct zk_sync *sync, const char *cluster,
                                             struct chief_record *out, struct error *error);

/* TN_ENOENT: no node holds the task. */
MUST_CHECK enum tn_status cluster_read_member(struct zk_sync *sync, const char *cluster,
                                              struct task task, struct member *out,
                                              struct error *error);

/* The number of slices that each worker owns, and the workers that get none because they
 * were late (C23). TN_ENOENT: the znode does not exist. */
MUST_CHECK enum tn_status cluster_read_slices(struct zk_sync *sync, const char *cluster,
                                              uint32_t owned[static WORKERS_MAX],
                                              bool late[static WORKERS_MAX], struct error *error);

/* `name` is the name of a znode in /history. TN_ENOENT: the chief has removed it. */
MUST_CHECK enum tn_status cluster_read_history(struct zk_sync *sync, const char *cluster,
                                               const char *name, struct history_entry *out,
                                               struct error *error);

/* `name` is the name of a znode in /checkpoints. TN_ENOENT: the chief has removed it. */
MUST_CHECK enum tn_status cluster_read_manifest(struct zk_sync *sync, const char *cluster,
                                                const char *name, struct manifest *out,
                                                struct error *error);

/* The last step that /run records: that of the last checkpoint or of the last evaluation. */
uint64_t cluster_recorded_step(const struct run *run);

/* The last state of the local run in `dir`, whose ZooKeeper ends with it. False: it has not ended,
 * or the folder does not show that. */
bool cluster_read_ended(const char *dir, struct run *out);

/* "sync" or "async". Static storage. */
const char *cluster_mode_name(const struct job *job);

#endif
