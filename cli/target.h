/*
 * cli/target.h: which cluster a command means: --zk or --zk-config with --cluster, or --dir of a
 * local run, whose run.json says both.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "agent/ensemble/ensemble.h"
#include "agent/observe/run_note.h"
#include "cli/options.h"
#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/cluster/znodes.h"
#include "common/zk/zk_sync.h"

enum { CONNECT_MAX = 1024, CREDENTIALS_MAX = 256, TARGET_OPTIONS = 6 };

/* What the options say; all NULL at first. */
struct target_options {
    const char *zk, *zk_config, *cluster, *dir, *credentials;
    struct option_number wait; /* Seconds. */
};

/* Fill TARGET_OPTIONS rows of a command's table. */
void target_options(struct target_options *options, struct option *rows);

/* --zk, --zk-config or the environment (TANIST_ZK) as a connect string; "" when none is given. */
MUST_CHECK enum tn_status target_connect(const char *zk, const char *zk_config,
                                         char connect[static CONNECT_MAX], struct error *error);

/* Digest credentials from the file `path`, or the environment; "" when there are none. */
MUST_CHECK enum tn_status target_credentials(const char *path, char text[static CREDENTIALS_MAX],
                                             struct error *error);

struct target_server {
    char address[ZOO_ADDRESS_MAX];
    uint64_t pid; /* 0: not known. */
};

struct target {
    char connect[CONNECT_MAX], cluster[CLUSTER_NAME_MAX], credentials[CREDENTIALS_MAX];
    const char *dir; /* NULL: not a local run. */
    uint32_t wait_ms;
    size_t server_count;
    struct target_server servers[ZOO_SERVERS_MAX];
};

/* TN_EINVAL: not said, or contradictory; TN_ENOENT: DIR holds no run; TN_EUNHEALTHY: DIR's run is
 * not running, so its ensemble is not there to be asked. */
MUST_CHECK enum tn_status target_find(const struct target_options *options, struct target *out,
                                      struct error *error);

/* Move this thread, and those it starts, into the network namespace of the run's agent, where that
 * is another (`tanist run --networks`). TN_ECONNECT: we may not; TN_OK also when the agent is gone.
 */
MUST_CHECK enum tn_status target_enter_network(const struct run_note *note, struct error *error);

/* Point a target of a local run (its `dir`) at what run.json says: where its ZooKeeper is now. */
void target_use_note(struct target *target, const struct run_note *note);

/* Connect within `timeout_ms`, saying on stderr after 3 s what is waited for. As zk_sync_open(). */
MUST_CHECK enum tn_status target_connect_sync(const char *connect, const char *credentials,
                                              uint32_t timeout_ms, struct zk_sync **out,
                                              struct error *error);

/* Connect, and read what the cluster was made for. Without --cluster, the only one there is taken.
 * TN_EUNHEALTHY: there is no such cluster (the error lists those there are); TN_ECONNECT. `job` may
 * be NULL. `spec->job_json` is to be freed. */
MUST_CHECK enum tn_status target_open(struct target *target, struct zk_sync **sync,
                                      struct spec *spec, struct job *job, struct error *error);

#endif
