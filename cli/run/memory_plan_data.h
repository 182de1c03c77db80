/*
 * cli/run/memory_plan_data.h: the memory that a worker needs for what depends on the data: the
 * examples, and the rows of tables that an evaluation reads.
 *
 * Threads: any. Blocking: on the disk, because the data are opened.
 */
#ifndef CLI_RUN_MEMORY_PLAN_DATA_H
#define CLI_RUN_MEMORY_PLAN_DATA_H

#include "cli/run/memory_plan.h"
#include "model/model.h"

enum { PLANNED_EXAMPLES = 200000 };

/* Add `data` and `rows` to each member, if the data can be opened on this machine; set `has_data`.
 * The keys of at most the first PLANNED_EXAMPLES of the evaluated examples are read; more of them
 * are assumed to have as many different keys each, so `rows` is rather too large then. Keys that
 * cannot be read count as none: `tanist data check` finds faults of data.
 *   TN_EINVAL: a batch has more examples than there are */
MUST_CHECK enum tn_status memory_plan_data(const struct job *job, const struct model *model,
                                           struct memory_plan *plan, struct error *error);

#endif
