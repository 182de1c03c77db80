/*
 * group/member_memory.h: the memory that one member of a group needs to compute, predicted: the
 * programs of its parts (group/part_runner.h), and the values between them.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef GROUP_MEMBER_MEMORY_H
#define GROUP_MEMBER_MEMORY_H

#include "graph/evaluation_cut.h"

struct member_memory_config {
    const struct training_cut *cut;
    const struct evaluation_cut *evaluation; /* NULL: its parts of the training alone. */
    uint32_t task;
    uint32_t slices, batch; /* As in struct computation_config. */
    uint32_t chunk;         /* Examples of a chunk of the test set. */
    const char *kernels;
};

/* Bytes; nothing is allocated for values. The errors of program_memory_plan_part(). */
MUST_CHECK enum tn_status member_memory_plan(const struct member_memory_config *config,
                                             uint64_t *bytes, struct error *error);

#endif
