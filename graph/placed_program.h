/*
 * graph/placed_program.h: a program whose operations are on the GPUs that their author chose
 * (graph/gpu_placement.h). The graph is cut into parts (graph/training_cut.h,
 * graph/evaluation_cut.h), each of which is a program on its GPU. They run one after another. What
 * one part computes for another one is copied through the memory of the host.
 *
 * Each GPU has the variables that its parts read, and no others. The bits are those of the whole
 * program (rule A10).
 *
 * Threads: a program belongs to one thread at a time. Nothing blocks.
 */
#ifndef GRAPH_PLACED_PROGRAM_H
#define GRAPH_PLACED_PROGRAM_H

#include "common/base/error.h"
#include "graph/program_memory.h"
#include "tanist/program.h"

struct placed_program;

/*
 * As tn_program_create(), with `kernels[i]` in place of those of `options` for task `i` of
 * gpu_placement_as_tasks(). `memory_max` is for each part, and `options->variable_offsets` is not
 * NULL.
 *
 *   TN_EINVAL  also as training_cut_create() and gpu_placement_as_tasks(); more GPUs than
 *              PLACE_TASKS_MAX
 */
MUST_CHECK enum tn_status placed_program_create(const struct tn_graph *graph,
                                                const struct tn_program_options *options,
                                                const char *const *kernels,
                                                struct placed_program **out, struct error *error);
void placed_program_destroy(struct placed_program *placed); /* NULL is allowed. */

/* The memory that placed_program_create() allocates for the parts of each task of
 * gpu_placement_as_tasks(), with the kernels of `options`, or "portable" on the CPU; this allocates
 * none of it. A task without operations needs none. The fields of the model are on the host, and
 * count for task 0. Its errors. */
MUST_CHECK enum tn_status placed_program_plan(const struct tn_graph *graph,
                                              const struct tn_program_options *options,
                                              struct program_memory *parts, struct error *error);

/* As tn_program_field() and tn_program_output(); of the latter, with TN_EVALUATE only. */
struct tn_view placed_program_field(const struct placed_program *placed, const char *field);
struct tn_view placed_program_output(const struct placed_program *placed, const char *name);

/* As tn_program_run(). The whole gradient becomes final at once. */
MUST_CHECK enum tn_status placed_program_run(struct placed_program *placed, struct tn_run *run,
                                             struct error *error);

/* The arithmetic operations of a run. */
double placed_program_flops(const struct placed_program *placed);

#endif
