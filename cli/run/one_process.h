/*
 * cli/run/one_process.h: `tanist run --local`: the job in this process, without ZooKeeper and
 * without nodes, in the folder of a run like any other.
 *
 * Threads: the main thread.
 */
#ifndef CLI_RUN_ONE_PROCESS_H
#define CLI_RUN_ONE_PROCESS_H

#include "cli/run/local_run.h"

/*
 * Run the job of `run`, which is checked, in its open folder. Sets `agent_result` and `result` as
 * local_run_work() does. Handles SIGINT and SIGTERM from now on: the first saves a checkpoint of
 * the current step and returns, a second one ends the process.
 *
 * Errors are those of training_parts_open() and local_run_job().
 */
MUST_CHECK enum tn_status one_process_work(struct local_run *run, struct error *error);

#endif
