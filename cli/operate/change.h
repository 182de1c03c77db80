/*
 * cli/operate/change.h: a change of the job of a run while it trains (S14), as far as a command of
 * another file asks for it.
 *
 * Threads: the main thread. Blocking: on ZooKeeper and until training continues, at most for
 * `timeout_ms`.
 */
#ifndef CLI_OPERATE_CHANGE_H
#define CLI_OPERATE_CHANGE_H

#include "cli/target.h"

/* Give a job whose cluster.workers is not a range another number of workers, and print the result,
 * in JSON if `json`, or why it was not possible. Returns the exit code. */
int change_workers(const struct target *target, uint32_t workers, uint64_t timeout_ms, bool json);

#endif
