/*
 * cli/run/live_change.h: what the agent of `tanist run` does with a request to change the number of
 * ps or the strategy while the job runs (S14, P16): whether the change is possible, and the
 * transaction that makes it once no node runs.
 *
 * Threads: the main thread. Blocking: live_change_write(), on ZooKeeper, for a bounded time.
 */
#ifndef CLI_RUN_LIVE_CHANGE_H
#define CLI_RUN_LIVE_CHANGE_H

#include "cli/run/local_run.h"
#include "common/cluster/change_request.h"

/* Whether the run, of which `now` is /run, can be changed as requested. `text` names the change.
 * TN_EINVAL, TN_EUNHEALTHY: it cannot; the error has the remedy. */
MUST_CHECK enum tn_status live_change_check(const struct local_run *run,
                                            const struct change_request *request,
                                            const struct run *now,
                                            char text[static CHANGE_TEXT_MAX], struct error *error);

/*
 * Make the change in ZooKeeper, or see that it has been made; `run->job` is the changed one then,
 * `*spec` that of the cluster, whose `job_json` the caller frees in any case, and `*generation`
 * that of /run before. Repeat it after:
 *
 *   TN_EEXIST    a node is registered or a candidate yet, or again
 *   TN_EREFUSED  a znode was changed at the same time
 *   TN_ECONNECT, TN_ETIMEDOUT, TN_EEXPIRED  the change may have been made
 *
 * After any other error nothing was changed. TN_EUNHEALTHY: the run ends.
 */
MUST_CHECK enum tn_status live_change_write(struct local_run *run, struct zk_sync *sync,
                                            const struct change_request *request, struct spec *spec,
                                            uint64_t *generation, struct error *error);

#endif
