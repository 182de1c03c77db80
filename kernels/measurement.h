/*
 * kernels/measurement.h: the norms that an update needs of a range of the flat vector: its part of
 * the norm of the gradient, and the norms of each variable that adapts and of its gradient, or for
 * LAMB of its change.
 *
 * A variable that lies in the range as a whole is measured here alone. Of a variable that continues
 * outside the range, which are at most two, there are parts, which are joined with those of the
 * other ranges. All sums are over the tree of kernels/optimizer/norm.h, in which the elements of
 * other variables are zeros, so they do not depend on where the vector is cut.
 *
 * Threads: the owner's.
 */
#ifndef KERNELS_MEASUREMENT_H
#define KERNELS_MEASUREMENT_H

#include "kernels/optimizer.h"

enum { MEASUREMENT_PARTS_MAX = 5 };

/* The parts of the norms of a variable and of its gradient. */
struct split_variable {
    uint32_t variable;
    struct norm_part values, gradient;
};

struct measurement {
    uint64_t first, end; /* The range, in elements. */
    struct norm_part whole;
    uint32_t split_count;
    struct split_variable split[2]; /* In their order. */
    struct split_variable open;     /* While elements are added: the variable that has begun. */
};

/* The parts of range [first, first + count), all sums 0. `first` is a multiple of NORM_LEAF. */
void measurement_shape(struct measurement *m, const struct optimizer *optimizer, uint64_t first,
                       uint64_t count);

/* Measure a range, from its beginning: add the next `count` elements, a multiple of NORM_LEAF
 * except at the end of the vector. After the last ones all parts, and the norms in `optimizer` of
 * whole variables, are known. `arrays` and `gradient` begin at them; they are those of the
 * update from `step` to step + 1. */
void measurement_begin(struct measurement *m, uint64_t first, uint64_t count);
void measurement_add(struct measurement *m, struct optimizer *optimizer, uint64_t step,
                     uint64_t count, const float *const arrays[static OPTIMIZER_ARRAYS_MAX],
                     const float *gradient);

/* The parts, in a fixed order. Returns their number. */
uint32_t measurement_parts(struct measurement *m, struct norm_part *out[MEASUREMENT_PARTS_MAX]);

/* Join the measurements of ranges that together are the whole vector, in their order: set the norms
 * of the gradient and of split variables. */
void measurement_join(const struct measurement *all, uint32_t count, struct optimizer *optimizer);

#endif
