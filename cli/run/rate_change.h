/*
 * cli/run/rate_change.h: `--resume` with another learning rate or schedule, while no node runs. The
 * step of the last checkpoint, from where training continues, becomes the end of the earlier rate:
 * common/cluster/job_rate.h.
 *
 * Threads: the main thread. Blocking: on ZooKeeper, or on the disk.
 */
#ifndef CLI_RUN_RATE_CHANGE_H
#define CLI_RUN_RATE_CHANGE_H

#include "cli/run/local_run.h"

/*
 * Give `run->job` the earlier rates of the cluster in ZooKeeper, and change the rate of that
 * cluster if the job has another: /spec, /run and /history in one transaction. Does nothing for a
 * new run.
 *
 *   TN_EINVAL  the rates differ without --resume, or train.before is full
 *   TN_EEXIST  they differ, and the run has not ended: other agents may be running it
 */
MUST_CHECK enum tn_status rate_change_of_cluster(struct local_run *run, struct zk_sync *sync,
                                                 struct error *error);

/* The same of a run in one process: write job.json. */
MUST_CHECK enum tn_status rate_change_of_process(struct local_run *run, const char *checkpoints,
                                                 struct error *error);

#endif
