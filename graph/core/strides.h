/*
 * graph/core/strides.h: walking through the elements of a value in row-major order while
 * following other values that are repeated, permuted or cut. Private to graph/.
 */
#ifndef GRAPH_CORE_STRIDES_H
#define GRAPH_CORE_STRIDES_H

#include <assert.h>
#include <string.h>

#include "tanist/tensor.h"

/* `at` is the offset in the followed value; stride[i] is its change per index of dimension i. */
struct walk {
    const struct tn_shape *shape;
    int64_t index[TN_RANK_MAX], stride[TN_RANK_MAX], at;
};

/* The strides of a row-major value; the last one is 1. */
static inline void shape_strides(const struct tn_shape *shape, int64_t stride[TN_RANK_MAX])
{
    int64_t step = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        stride[i] = step;
        step *= shape->dims[i];
    }
}

/* A walk over `shape` that follows a value of shape `from` which is repeated to it. */
static inline struct walk walk_broadcast(const struct tn_shape *shape, const struct tn_shape *from)
{
    struct walk walk = {.shape = shape};
    int64_t stride[TN_RANK_MAX] = {0};
    assert(from->rank <= shape->rank);
    uint32_t missing = shape->rank - from->rank;
    shape_strides(from, stride);
    for (uint32_t i = 0; i < from->rank; i++) {
        walk.stride[missing + i] = from->dims[i] == 1 ? 0 : stride[i];
    }
    return walk;
}

/* Go to the next element. After the last one the walk is at the first again. */
static inline void walk_next(struct walk *walk)
{
    for (uint32_t i = walk->shape->rank; i-- > 0;) {
        walk->at += walk->stride[i];
        if (++walk->index[i] < walk->shape->dims[i]) { return; }
        walk->at -= walk->index[i] * walk->stride[i];
        walk->index[i] = 0;
    }
}

#endif
