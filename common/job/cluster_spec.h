/*
 * common/job/cluster_spec.h: the task of this process and the addresses of all tasks, in the
 * forms of distributed TensorFlow: TF_CONFIG (list and object form), the flags --job_name
 * --task_index
 * --ps_hosts --worker_hosts, and the environment variables JOB_NAME TASK_INDEX PS_HOSTS
 * WORKER_HOSTS.
 *
 * Precedence: flag > environment > TF_CONFIG > job file > default. The caller fills a spec in the
 * reverse order; later calls overwrite. TensorFlow's "chief" and "master" are our coordinator. Pure
 * except for cluster_spec_read_environment(). Threads: a spec is plain data.
 */
#ifndef COMMON_JOB_CLUSTER_SPEC_H
#define COMMON_JOB_CLUSTER_SPEC_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/cluster/task.h"
#include "common/job/job.h"
#include "common/net/transport.h"

struct cluster_spec {
    bool has_task;
    struct task task;           /* The task of this process. */
    uint32_t count[ROLE_COUNT]; /* Highest index + 1 of each role; 0: not given. */
    char address[TASKS_MAX]
                [TRANSPORT_ADDRESS_MAX]; /* "host:port" or "", by cluster_spec_index(). */
};

void cluster_spec_init(struct cluster_spec *spec);

/* Index into `address` of a task. */
uint32_t cluster_spec_index(struct task task);

/* Read the text of TF_CONFIG. TN_EINVAL: the text is not valid, or the cluster has no chief, an
 * address twice, or no such task. The error names the part. */
MUST_CHECK enum tn_status cluster_spec_read_tf_config(struct cluster_spec *spec, const char *text,
                                                      struct error *error);

/* Sets the tasks of a role, "host:port,host:port", and replaces those that were set before. */
MUST_CHECK enum tn_status cluster_spec_set_hosts(struct cluster_spec *spec, enum role role,
                                                 const char *hosts, struct error *error);

/* Sets the task by TensorFlow's names, "worker" and "1". A part that is NULL is not changed. */
MUST_CHECK enum tn_status cluster_spec_set_task(struct cluster_spec *spec, const char *job_name,
                                                const char *task_index, struct error *error);

/* TF_CONFIG, then JOB_NAME, TASK_INDEX, PS_HOSTS and WORKER_HOSTS of the environment. */
MUST_CHECK enum tn_status cluster_spec_read_environment(struct cluster_spec *spec,
                                                        struct error *error);

/* The numbers of tasks in the spec replace those of the job. TN_EINVAL: our task is not among
 * them. */
MUST_CHECK enum tn_status cluster_spec_apply(const struct cluster_spec *spec, struct job *job,
                                             struct error *error);

/* The address that our task listens on, "tcp://host:port"; false: not given. */
bool cluster_spec_listen(const struct cluster_spec *spec, char text[static TRANSPORT_ADDRESS_MAX]);

#endif
