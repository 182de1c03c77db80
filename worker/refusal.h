/* worker/refusal.h: whether a run refuses a worker, because its data or its arithmetic are others
 * (rule C13). Pure but for the log. */
#ifndef WORKER_REFUSAL_H
#define WORKER_REFUSAL_H

#include <stdbool.h>

#include "common/cluster/inputs.h"
#include "common/job/job.h"

/* If `run` and `ours` differ in what must be equal, log both values and the remedy, and return
 * true. */
bool refusal_log(const struct job *job, const struct inputs *run, const struct inputs *ours);

#endif
