/*
 * cli/plan/memory_check.h: whether a job fits into the memory of a machine, by its plan.
 *
 * Threads: any. Blocking: memory_of_machine() reads files of the system.
 */
#ifndef CLI_PLAN_MEMORY_CHECK_H
#define CLI_PLAN_MEMORY_CHECK_H

#include "cli/plan/memory_plan.h"

/* The memory of this machine, or less, if a control group limits this process. 0: unknown. */
uint64_t memory_of_machine(void);

/* Whether the tasks of the job can fit into a machine with `available` bytes (0: unknown): without
 * what may need less than is planned, such as programs, or rows of keys that were not read. `data`
 * NULL: they are unknown. TN_EINVAL: they cannot; the error has the sizes and names the smallest
 * number of ps with which they could, or with which each task could on a machine of its own. */
MUST_CHECK enum tn_status memory_plan_check(const struct job *job,
                                            const struct variable_table *variables,
                                            const struct memory_data *data, uint64_t available,
                                            struct error *error);
/* Logs a warning if the whole plan does not fit. */
void memory_plan_warn(const struct memory_plan *plan, uint64_t available);

#endif
