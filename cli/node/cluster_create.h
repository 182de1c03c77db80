/*
 * cli/node/cluster_create.h: create the cluster of a job in ZooKeeper, and remove an old one.
 *
 * Threads: those of zk_sync. Blocking: every call, for a bounded time.
 */
#ifndef CLI_NODE_CLUSTER_CREATE_H
#define CLI_NODE_CLUSTER_CREATE_H

#include "common/cluster/variables.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"
#include "common/zk/zk_sync.h"

/* Create the chroot of the connect string if it does not exist, readable and writable for all:
 * ZooKeeper does not create a missing chroot. Connects within `timeout_ms`. */
MUST_CHECK enum tn_status cluster_create_chroot(const char *connect, uint32_t timeout_ms,
                                                struct error *error);

/* Create the cluster `job->name` with this key (0: a new key), or read it if it exists. The caller
 * frees `out->job_json`. TN_EINVAL: it exists for another job; the error names the key that
 * differs. */
MUST_CHECK enum tn_status cluster_create(struct zk_sync *sync, const struct job *job,
                                         const struct variable_table *variables, uint64_t key,
                                         struct spec *out, struct error *error);

/* The contents of /spec of a new cluster with this key. The caller frees them. NULL: out of
 * memory. */
char *cluster_new_spec(const struct job *job, const struct variable_table *variables, uint64_t key);

/* R8: make `spec`, read from /spec, declare the numbers of coordinators and workers of `job`: they
 * may change between two runs. With `shared`, other programs may run nodes of the cluster; then
 * TN_EINVAL: the numbers differ, and nodes are running. */
MUST_CHECK enum tn_status cluster_declare(struct zk_sync *sync, const struct job *job, bool shared,
                                          struct spec *spec, struct error *error);

/* The contents of /spec with this job in place of that of `spec`. The caller frees the text and
 * `out->job_json`. NULL: out of memory. */
char *cluster_spec_of(const struct spec *spec, const struct job *job, struct spec *out);

/* TN_EEXIST: a node of the cluster is running; the error names it. */
MUST_CHECK enum tn_status cluster_check_no_nodes(struct zk_sync *sync, const char *cluster,
                                                 struct error *error);

/* Remove a finished cluster from ZooKeeper, with its history and manifests. Checkpoints on disk
 * keep their own manifests. TN_OK also when the cluster does not exist. */
MUST_CHECK enum tn_status cluster_remove(struct zk_sync *sync, const char *cluster,
                                         struct error *error);

/* Check that the registered nodes can reach `address`, which `flag` gave, and warn of those that
 * this host cannot reach (R9). TN_EINVAL: they cannot. */
MUST_CHECK enum tn_status cluster_check_reach(struct zk_sync *sync, const char *cluster,
                                              const char *flag, const char *address,
                                              struct error *error);

#endif
