/*
 * cli/operate/balance.h: borders between the rows of the ps by which each ps of a running cluster
 * gets about the same load, as the ps have measured it (common/cluster/row_balance.h).
 *
 * Threads: the main thread. Blocking: on ZooKeeper, and some seconds on ps that do not answer.
 */
#ifndef CLI_OPERATE_BALANCE_H
#define CLI_OPERATE_BALANCE_H

#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

struct balance {
    struct row_borders rows;
    double imbalance_before; /* Measured: the largest load of a ps over the mean. */
    double imbalance;        /* The imbalance with `rows`, if the loads stay the same. */
};

/*
 * The borders for `ps` ps of the cluster, whose /spec is `spec`.
 *
 *   TN_EINVAL      the model has no tables, or the ps are as many and no borders are better
 *   TN_EUNHEALTHY  a ps does not answer, or has not counted yet
 *   others         those of zk_sync
 */
MUST_CHECK enum tn_status balance_measure(struct zk_sync *sync, const char *cluster,
                                          const struct spec *spec, uint32_t ps, struct balance *out,
                                          struct error *error);

#endif
