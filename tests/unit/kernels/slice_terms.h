/* tests/unit/kernels/slice_terms.h: the sum of the slices of a node as terms of a tree. */
#ifndef TESTS_UNIT_KERNELS_SLICE_TERMS_H
#define TESTS_UNIT_KERNELS_SLICE_TERMS_H

#include "common/cluster/slices.h"
#include "kernels/tree_sum.h"

/* Append the terms that sum arrays [first, first + count) of `arrays`, each from element `offset`
 * on. Returns their number. */
static inline uint32_t slice_terms(const struct slice_node node, float *const *arrays,
                                   size_t offset, struct sum_term *terms)
{
    struct slice_node left, right;
    slices_children(node, &left, &right);
    uint32_t made = left.count > 1 ? slice_terms(left, arrays, offset, terms) : 0;
    made += right.count > 1 ? slice_terms(right, arrays, offset, terms + made) : 0;
    terms[made].left = left.count > 1 ? NULL : arrays[left.first] + offset;
    terms[made].right = right.count > 1 ? NULL : arrays[right.first] + offset;
    return made + 1;
}

#endif
