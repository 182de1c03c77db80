/*
 * common/cluster/bootstrap.h: the persistent znodes of a cluster, created before its nodes start.
 * Creating them again changes nothing; an existing cluster with another job is refused.
 */
#ifndef COMMON_CLUSTER_BOOTSTRAP_H
#define COMMON_CLUSTER_BOOTSTRAP_H

#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

enum { BOOTSTRAP_ZNODES_MAX = 16, REFORM_WRITES_MAX = 4 };

struct bootstrap_znode {
    char path[ZK_PATH_MAX];
    const char *data; /* NULL: empty. */
    size_t size;
};

/* The znodes to create, in this order, all persistent; existing ones are fine. The spec is the
 * first one with data: the process that creates it decides what the cluster is. */
struct bootstrap {
    uint32_t count;
    struct bootstrap_znode znodes[BOOTSTRAP_ZNODES_MAX];
    char *spec; /* Private. */
    char run[ZNODE_JSON_MAX], assignment[ZNODE_JSON_MAX];
};

/* Pure but for memory. `slices`: of the job. `cluster` must pass cluster_name_check().
 * TN_ENOMEM. */
MUST_CHECK enum tn_status bootstrap_init(struct bootstrap *bootstrap, const char *cluster,
                                         const struct spec *spec, uint32_t slices,
                                         struct error *error);
void bootstrap_free(struct bootstrap *bootstrap);

/* R11. TN_EINVAL: the graph of a node's model is not that of the cluster; the error has both
 * hashes. An unknown hash, 0, agrees with any. */
MUST_CHECK enum tn_status bootstrap_check_graph(const char *cluster, const struct spec *spec,
                                                uint64_t graph_hash, struct error *error);

/* Create all znodes and return the spec in ZooKeeper, whose key is valid. The caller frees its
 * job_json, NULL after a failure. Blocks. TN_EINVAL: as of bootstrap_check_graph(); TN_EEXIST: the
 * spec in ZooKeeper is that of another job, and the error names the difference and the remedy;
 * other errors as zk_sync_write(). */
MUST_CHECK enum tn_status bootstrap_create(struct zk_sync *sync, const char *cluster,
                                           const struct spec *wanted, uint32_t slices,
                                           struct spec *out, struct error *error);

/* The spec of an existing cluster. TN_ENOENT: there is no cluster of that name. Blocks. */
MUST_CHECK enum tn_status bootstrap_read_spec(struct zk_sync *sync, const char *cluster,
                                              struct spec *out, struct error *error);

/* Delete the requests of operators that were made before `since_wall_ms`, the start of the calling
 * process: they are left over from commands that gave up. A later one is for the run that begins.
 * Only while no node runs. Blocks. TN_OK also if the cluster does not exist. */
MUST_CHECK enum tn_status bootstrap_clear_requests(struct zk_sync *sync, const char *cluster,
                                                   uint64_t since_wall_ms, struct error *error);

/* Change a run that is done, failed or interrupted, so that it forms again. Pure. */
void bootstrap_reformed(struct run *run);

/* Make a run that is done, failed or interrupted start again from its last committed checkpoint:
 * delete the requests of operators as bootstrap_clear_requests() does, and set /run to forming,
 * together with `count` other `writes`: either all are done, or none. Only while no node runs.
 * Blocks. TN_ENOENT: no such cluster; TN_EREFUSED: one of the znodes was changed at the same time.
 */
MUST_CHECK enum tn_status bootstrap_reform(struct zk_sync *sync, const char *cluster,
                                           const struct zk_write *writes, uint32_t count,
                                           uint64_t since_wall_ms, struct error *error);

#endif
