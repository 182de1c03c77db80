/*
 * agent/ensemble/networks.h: a network namespace and an address for each child of a run. A test
 * harness passes them with `tanist run --networks FILE`, so that it can inject faults into the
 * network of each child separately:
 *
 *   {"version": 1, "networks": {"zookeeper:1": {"namespace": PATH, "address": "10.77.0.2"}, ...}}
 *
 * Threads: any; nothing changes after networks_read(). Blocking: on the disk.
 */
#ifndef AGENT_ENSEMBLE_NETWORKS_H
#define AGENT_ENSEMBLE_NETWORKS_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/task.h"

/* NETWORKS_MAX counts every task and every server of an ensemble. */
enum { NETWORKS_MAX = TASKS_MAX + 3, NETWORK_PATH_MAX = 256, NETWORK_ADDRESS_MAX = 16 };

struct network {
    char child[TASK_NAME_MAX];         /* The child: "ps:1", "zookeeper:2". */
    char path[NETWORK_PATH_MAX];       /* The namespace, for open() and setns(). */
    char address[NETWORK_ADDRESS_MAX]; /* IPv4, in the namespace. */
};

struct networks {
    uint32_t count; /* 0: all children share the agent's network. */
    struct network list[NETWORKS_MAX];
};

/* TN_ENOENT, TN_EIO: the file cannot be read. TN_EINVAL: the error names the field. */
MUST_CHECK enum tn_status networks_read(struct networks *networks, const char *path,
                                        struct error *error);

/* Find the network of a child. Without networks (`networks` NULL or empty) `*out` is NULL. If there
 * are any, each child must have one: TN_EINVAL names the child without. */
MUST_CHECK enum tn_status networks_find(const struct networks *networks, const char *child,
                                        const struct network **out, struct error *error);

#endif
