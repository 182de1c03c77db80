/*
 * cli/plan/memory_programs.h: the memory of the programs of a worker that has the whole model, by
 * thread and by GPU, and the gradients that it sums on the host. No GPU is opened.
 *
 * A member of the team of a worker, a thread or a GPU, has a program for each size of a slice and
 * for evaluations, and one for each subtree that it computes in one run (worker/compute_team.h).
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef CLI_PLAN_MEMORY_PROGRAMS_H
#define CLI_PLAN_MEMORY_PROGRAMS_H

#include <stdbool.h>

#include "cli/plan/memory_plan.h"
#include "model/model.h"

struct memory_programs;

/* Both outlive the result. TN_ENOMEM; on GPUs also the errors of compute_gpu_check(). */
MUST_CHECK enum tn_status memory_programs_open(const struct job *job, const struct model *model,
                                               struct memory_programs **out, struct error *error);
void memory_programs_close(struct memory_programs *programs); /* NULL is allowed. */

/* Whether each program is in parts, on the GPUs that the model names (graph/gpu_placement.h). */
bool memory_programs_are_placed(const struct memory_programs *programs);

/* The gradients on the host to sum a node, beside the one that is pushed: those of other subtrees,
 * and of the levels of each subtree whose slices are computed one by one. `programs` NULL: all
 * are. */
uint32_t memory_programs_sums(const struct job *job, struct memory_programs *programs,
                              struct slice_node node);

/* The programs, the pinned memory and the GPUs of a worker, without those of subtrees. `data` as in
 * memory_plan_make(). The errors of program_memory_plan(). */
MUST_CHECK enum tn_status memory_programs_plan(struct memory_programs *programs,
                                               const struct memory_data *data,
                                               struct worker_memory *worker, struct error *error);

/* The same of subtrees, and the examples that are read ahead, of a worker that computes `nodes` in
 * a step, to `*worker`. */
void memory_programs_add_nodes(struct memory_programs *programs, const struct slice_node *nodes,
                               uint32_t count, struct worker_memory *worker);

#endif
