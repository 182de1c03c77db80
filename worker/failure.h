/* worker/failure.h: why a worker cannot compute, for each strategy. Threads: any. */
#ifndef WORKER_FAILURE_H
#define WORKER_FAILURE_H

#include <stdint.h>

#include "common/cluster/slices.h"
#include "tanist/status.h"

/* The exit code for the status of a computation. A restart computes the same again, so errors of
 * the device or the input end the job. */
int failure_exit_code(enum tn_status status);
/* The sum of gradients of these slices is not finite: the node leaves with
 * TN_EXIT_INVALID_INPUT. */
void failure_log_divergence(uint64_t step, struct slice_node slices);

#endif
