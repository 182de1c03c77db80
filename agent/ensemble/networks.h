/*
 * agent/ensemble/networks.h: a network namespace and an address for each child of a run, as a
 * harness hands them to `tanist run --networks FILE`, so that each child's network can be attacked
 * on its own:
 *
 *   {"version": 1, "places": {"zookeeper:1": {"namespace": PATH, "address": "10.77.0.2"}, ...}}
 *
 * Threads: any; nothing changes after networks_read(). Blocking: on the disk.
 */
#ifndef AGENT_ENSEMBLE_NETWORKS_H
#define AGENT_ENSEMBLE_NETWORKS_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/task.h"

/* NETWORKS_MAX: every task and every server of an ensemble. */
enum { NETWORKS_MAX = TASKS_MAX + 3, NETWORK_PATH_MAX = 256, NETWORK_ADDRESS_MAX = 16 };

struct network {
    char place[TASK_NAME_MAX];         /* The child: "ps:1", "zookeeper:2". */
    char path[NETWORK_PATH_MAX];       /* Of the namespace, for open() and setns(). */
    char address[NETWORK_ADDRESS_MAX]; /* IPv4, in it. */
};

struct networks {
    uint32_t count; /* 0: there are none; all children are in our network. */
    struct network list[NETWORKS_MAX];
};

/* TN_ENOENT, TN_EIO: the file cannot be read. TN_EINVAL: the error names the field. */
MUST_CHECK enum tn_status networks_read(struct networks *networks, const char *path,
                                        struct error *error);

/* The network of a child; NULL: there are none. `networks` may be NULL. Who has some has one for
 * each child: TN_EINVAL names the one that has not. */
MUST_CHECK enum tn_status networks_find(const struct networks *networks, const char *place,
                                        const struct network **out, struct error *error);

#endif
