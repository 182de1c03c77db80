/*
 * cli/run/live_plan.h: the decisions about a change of the layout (common/job/job_resume.h), or of
 * the fixed number of workers, of a running job: whether it is possible, and the transaction that
 * makes it (P16). cli/run/live_change.h reads the cluster and writes for `tanist run`, tests/sim
 * for a simulated agent.
 *
 * Threads: any. Pure but for memory, the key of the changed cluster and the time of its entry in
 * the history.
 */
#ifndef CLI_RUN_LIVE_PLAN_H
#define CLI_RUN_LIVE_PLAN_H

#include "cli/run/change_writes.h"
#include "common/cluster/change_request.h"

enum { LIVE_WRITES = CHANGE_WRITES + 1 };

/* The cluster as it was read before the transaction. */
struct live_view {
    struct spec spec;
    struct run run;
    int32_t run_version;
};

enum live_verdict {
    LIVE_WRITE, /* Make the change, unless a node is registered or a candidate. */
    LIVE_MADE,  /* By an attempt whose answer was lost. */
    LIVE_OVER,  /* The run ends; it stays as it is. */
};

struct live_writes {
    struct zk_write list[LIVE_WRITES]; /* Point into the rest. */
    struct change_writes changes;
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
};

/* Whether a run of `job`, with `now` as /run, may be changed as requested. TN_EINVAL: never;
 * TN_EUNHEALTHY: not now. The error has the remedy. */
MUST_CHECK enum tn_status live_plan_check(const struct job *job,
                                          const struct change_request *request,
                                          const struct run *now, struct error *error);

/* The job that is requested, in `*job`. */
void live_plan_job(struct job *job, const struct change_request *request);

/* The change for people, such as "cluster.ps 3 -> 2", cut to fit. */
void live_plan_text(const struct job *from, const struct job *to, char *text, size_t size);

/* The decision once all nodes have left. `job`: before the change; `wanted`: after it. */
enum live_verdict live_plan_judge(const struct live_view *view, const struct job *job,
                                  const struct job *wanted);

/* The transaction, which fails if /spec or /run was changed since they were read. The pause began
 * when the nodes were asked to leave, or at `wall_ms`. `variables_hash`: in the order of `wanted`.
 * The caller frees it, also after a failure. TN_ENOMEM. */
MUST_CHECK enum tn_status live_writes_init(struct live_writes *writes, const struct live_view *view,
                                           const struct job *job, const struct job *wanted,
                                           uint64_t variables_hash, uint64_t wall_ms,
                                           struct error *error);
void live_writes_free(struct live_writes *writes);

#endif
