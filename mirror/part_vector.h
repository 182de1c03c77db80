/*
 * mirror/part_vector.h: the variables of each member of a group (graph/training_cut.h), as parts of
 * the vector of all parameters: a member computes with a copy of its own variables, and the head
 * puts the gradients of all members together.
 *
 * Pure, but for its memory. Threads: the owner's.
 */
#ifndef MIRROR_PART_VECTOR_H
#define MIRROR_PART_VECTOR_H

#include "common/base/error.h"
#include "common/cluster/variables.h"
#include "graph/training_cut.h"

struct part_place {
    uint32_t task;
    uint64_t whole, part, count; /* Floats: in the vector of all, in the part of the task. */
};

struct part_vector {
    uint32_t count;
    struct part_place *places;
    uint64_t floats; /* The sum of all counts. */
};

/* `table` has the variables of `cut`. TN_ENOMEM: it need not be closed. */
MUST_CHECK enum tn_status part_vector_open(struct part_vector *vector,
                                           const struct training_cut *cut,
                                           const struct variable_table *table, struct error *error);
void part_vector_close(struct part_vector *vector); /* A zeroed one is allowed. */

/* Copy the variables of `task` from the vector of all to its part, and back. */
void part_vector_gather(const struct part_vector *vector, uint32_t task, const float *whole,
                        float *part);
void part_vector_scatter(const struct part_vector *vector, uint32_t task, const float *part,
                         float *whole);

#endif
