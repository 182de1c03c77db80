/*
 * common/cluster/cluster_spec.h: which task am I, and who are the others, as distributed TensorFlow
 * says it: TF_CONFIG (list and object form), the flags --job_name --task_index --ps_hosts
 * --worker_hosts, and their environment forms JOB_NAME TASK_INDEX PS_HOSTS WORKER_HOSTS.
 *
 * Precedence: flag > environment > TF_CONFIG > job file > default; who calls fills a spec in the
 * reverse order, later calls overwrite. TensorFlow's "chief" and "master" are our coordinator.
 * Pure but for cluster_spec_read_environment(). Threads: a spec is plain data.
 */
#ifndef COMMON_CLUSTER_CLUSTER_SPEC_H
#define COMMON_CLUSTER_CLUSTER_SPEC_H

#include <stdbool.h>

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/cluster/task.h"
#include "common/net/transport.h"

struct cluster_spec {
    bool has_task;
    struct task task;           /* Us. */
    uint32_t count[ROLE_COUNT]; /* Highest index + 1 of each role; 0: not said. */
    char address[TASKS_MAX][TRANSPORT_ADDRESS_MAX]; /* "host:port" or "": by cluster_spec_seat(). */
};

void cluster_spec_init(struct cluster_spec *spec);

/* Index into `address` of a task. */
uint32_t cluster_spec_seat(struct task task);

/* TF_CONFIG's text. TN_EINVAL with what is wrong in it. */
MUST_CHECK enum tn_status cluster_spec_read_tf_config(struct cluster_spec *spec, const char *text,
                                                      struct error *error);

/* "host:port,host:port" for all tasks of a role, replacing what was known. */
MUST_CHECK enum tn_status cluster_spec_set_hosts(struct cluster_spec *spec, enum role role,
                                                 const char *hosts, struct error *error);

/* The task by TensorFlow's names: "worker" and "1". NULL leaves that half as it is. */
MUST_CHECK enum tn_status cluster_spec_set_task(struct cluster_spec *spec, const char *job_name,
                                                const char *task_index, struct error *error);

/* TF_CONFIG, then JOB_NAME, TASK_INDEX, PS_HOSTS, WORKER_HOSTS of the process's environment. */
MUST_CHECK enum tn_status cluster_spec_read_environment(struct cluster_spec *spec,
                                                        struct error *error);

/* Numbers of tasks that the spec knows replace the job's. TN_EINVAL: our task is not among them. */
MUST_CHECK enum tn_status cluster_spec_apply(const struct cluster_spec *spec, struct job *job,
                                             struct error *error);

/* Where our task listens, "tcp://host:port"; false when the spec does not say. */
bool cluster_spec_listen(const struct cluster_spec *spec, char text[static TRANSPORT_ADDRESS_MAX]);

#endif
