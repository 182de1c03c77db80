/*
 * common/cluster/bootstrap.h: the persistent znodes of a cluster, made once before its nodes start.
 * Making them again is harmless; a cluster of the same name with another job is refused.
 */
#ifndef COMMON_CLUSTER_BOOTSTRAP_H
#define COMMON_CLUSTER_BOOTSTRAP_H

#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

enum { BOOTSTRAP_ZNODES_MAX = 16 };

struct bootstrap_znode {
    char path[256];
    const char *data; /* NULL: empty. */
    size_t size;
};

/* What is to be created, in this order, each persistent; one that exists is fine. The spec comes
 * first of what has data: whoever creates it first decides. */
struct bootstrap {
    uint32_t count;
    struct bootstrap_znode znodes[BOOTSTRAP_ZNODES_MAX];
    char *spec; /* Private. */
    char run[ZNODE_JSON_MAX], assignment[ZNODE_JSON_MAX];
};

/* Pure but for memory. `slices`: of the job. Asserts that `cluster` is a cluster's name. TN_ENOMEM.
 */
MUST_CHECK enum tn_status bootstrap_init(struct bootstrap *bootstrap, const char *cluster,
                                         const struct spec *spec, uint32_t slices,
                                         struct error *error);
void bootstrap_free(struct bootstrap *bootstrap);

/* TN_EEXIST: `found`, in ZooKeeper, is of another job than `wanted`; the error says what differs
 * and the remedy. */
MUST_CHECK enum tn_status bootstrap_compare(const char *cluster, const struct spec *found,
                                            const struct spec *wanted, struct error *error);

/* Create all of it and return the spec as it is in ZooKeeper (its key counts, and its job_json is
 * to be freed; NULL after a failure). Blocks. TN_EEXIST as above; else what zk_sync says. */
MUST_CHECK enum tn_status bootstrap_create(struct zk_sync *sync, const char *cluster,
                                           const struct spec *wanted, uint32_t slices,
                                           struct spec *out, struct error *error);

/* The spec of a cluster that exists. TN_ENOENT: there is none of that name. Blocks. */
MUST_CHECK enum tn_status bootstrap_read_spec(struct zk_sync *sync, const char *cluster,
                                              struct spec *out, struct error *error);

/* Let a run that is done, failed or stopped in the middle begin again from its last committed
 * checkpoint: /run says forming. Only while no node lives. Blocks. TN_ENOENT: no such cluster. */
MUST_CHECK enum tn_status bootstrap_reform(struct zk_sync *sync, const char *cluster,
                                           struct error *error);

#endif
