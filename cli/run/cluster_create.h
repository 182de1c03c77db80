/* cli/run/cluster_create.h: making a cluster in ZooKeeper for a job, and looking whether it lives.
 * Blocks, each call for a bounded time. */
#ifndef CLI_RUN_CLUSTER_CREATE_H
#define CLI_RUN_CLUSTER_CREATE_H

#include "common/cluster/job.h"
#include "common/cluster/variables.h"
#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

/* Make the chroot of the connect string if it is not there, open to all: below one that is missing,
 * ZooKeeper knows no path. Connects within `timeout_ms`. */
MUST_CHECK enum tn_status cluster_create_chroot(const char *connect, uint32_t timeout_ms,
                                                struct error *error);

/* Make the cluster `job->name` with this key (0: a new one), or find it. `out->job_json` is to be
 * freed. TN_EINVAL: it is of another job; the key that differs is named. */
MUST_CHECK enum tn_status cluster_create(struct zk_sync *sync, const struct job *job,
                                         const struct variable_table *variables, uint64_t key,
                                         struct spec *out, struct error *error);

/* TN_EEXIST: a node of the cluster lives; the error names it. */
MUST_CHECK enum tn_status cluster_check_dead(struct zk_sync *sync, const char *cluster,
                                             struct error *error);

/* Remove a cluster that is over from ZooKeeper, its history and manifests included; checkpoints on
 * disk keep their own. Nothing there is fine. */
MUST_CHECK enum tn_status cluster_remove(struct zk_sync *sync, const char *cluster,
                                         struct error *error);

#endif
