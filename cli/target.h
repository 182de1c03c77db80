/*
 * cli/target.h: the cluster that a command is about: --zk or --zk-config with --cluster, or --dir
 * of a local run, whose run.json names both.
 *
 * Threads: the main thread. Blocking: on the disk, and target_open() on ZooKeeper.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "agent/ensemble/ensemble.h"
#include "agent/observe/run_note.h"
#include "cli/options.h"
#include "cli/zk_options.h"
#include "common/base/error.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"
#include "common/zk/zk_sync.h"

/* The usual synopsis of a command with these options. */
#define TARGET_SYNOPSIS "DIR | --zk CONNECT [--cluster NAME] [OPTION]..."

struct target_options {
    struct zk_options zk;
    const char *cluster, *dir; /* NULL: not given. */
    struct option_number wait; /* Seconds. */
};

/* Add the options to a command. */
void target_options_add(struct options *options, struct target_options *target);

struct target_server {
    char address[ZOO_ADDRESS_MAX];
    uint64_t pid; /* 0: unknown. */
};

struct target {
    char connect[CONNECT_MAX], cluster[CLUSTER_NAME_MAX], credentials[CREDENTIALS_MAX];
    const char *dir; /* NULL: not a local run. */
    uint32_t wait_ms;
    size_t server_count;
    struct target_server servers[ZOO_SERVERS_MAX];
};

/* TN_EINVAL: no cluster is given, or the options contradict each other; TN_ENOENT: DIR holds no
 * run; TN_EUNHEALTHY: the run in DIR is not active, and neither is its ZooKeeper. */
MUST_CHECK enum tn_status target_find(const struct target_options *options, struct target *out,
                                      struct error *error);

/* Move this thread, and the threads that it starts, into the network namespace of the run's agent,
 * if that is another one (`tanist run --networks`). TN_ECONNECT: this user may not enter it. TN_OK
 * also when the agent no longer runs. */
MUST_CHECK enum tn_status target_enter_network(const struct run_note *note, struct error *error);

/* Update the target of a local run, whose `dir` is set, from its run.json. */
void target_use_note(struct target *target, const struct run_note *note);

/*
 * Connect, and read the spec of the cluster. Without --cluster, the only cluster in ZooKeeper is
 * chosen. `spec->job_json` is NULL afterwards; `job` may be NULL. On success `*sync` is the
 * caller's to close. Of a run in DIR that has just begun, the cluster is awaited for `wait_ms`.
 *
 *   TN_EINVAL      there are several clusters and none was named; the error lists them; or the
 *                  credentials are missing or wrong
 *   TN_EUNHEALTHY  the cluster does not exist; the error lists those that do
 *   TN_ECONNECT    ZooKeeper does not answer
 */
MUST_CHECK enum tn_status target_open(struct target *target, struct zk_sync **sync,
                                      struct spec *spec, struct job *job, struct error *error);

/* The agent of a local run has ended, and the servers that it started with it. */
bool target_agent_is_gone(const struct target *target);

/* Whether a wait continues after a read with this result: without an answer (TN_ETIMEDOUT) nothing
 * is known, and the servers may only be slow, unless they ended with their local run. */
bool target_reads_again(const struct target *target, enum tn_status status);

#endif
