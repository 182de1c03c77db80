/*
 * cli/run/resume_change.h: `--resume` with another learning rate or schedule, or another number of
 * ps, while no node runs: what common/job/job_resume.h allows. The step of the last checkpoint,
 * from where training continues, becomes the end of the earlier rate: common/job/job_rate.h. The ps
 * of the new number read the parameters from the shards of the former ones.
 *
 * Threads: the main thread. Blocking: on ZooKeeper, or on the disk.
 */
#ifndef CLI_RUN_RESUME_CHANGE_H
#define CLI_RUN_RESUME_CHANGE_H

#include "cli/run/local_run.h"

/*
 * Give `run->job` the earlier rates of the cluster in ZooKeeper, and change that cluster if the job
 * has another rate or number of ps: /spec, /run and /history in one transaction. Another number of
 * ps gives the cluster another key, so that no node of the former one takes part. Does nothing for
 * a new run.
 *
 *   TN_EINVAL  the jobs differ without --resume, train.before is full, or the placement does not
 *              allow another number of ps
 *   TN_EEXIST  they differ, and the run has not ended, or nodes are still registered when their
 *              sessions should have expired: other agents may be running it
 *   TN_EAGAIN  that of local_run_await_no_nodes()
 */
MUST_CHECK enum tn_status resume_change_of_cluster(struct local_run *run, struct zk_sync *sync,
                                                   struct error *error);

/* The same of a run in one process: write job.json. */
MUST_CHECK enum tn_status resume_change_of_process(struct local_run *run, const char *checkpoints,
                                                   struct error *error);

#endif
