/* graph/reference/reduce.c: sums over dimensions, and repetition. */
#include "graph/core/strides.h"
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* Elements are added in the order of x, so each output's terms come in ascending order. */
static void sum(const struct kernel_call *call)
{
    const struct tn_shape *shape = &call->in[0].shape;
    const real *x = real_input(call, 0);
    real *out = real_output(call, 0);
    uint64_t axes = (uint64_t)call->node->attributes.integers[0];
    struct walk to = {.shape = shape};
    int64_t stride[TN_RANK_MAX];
    shape_strides(&call->out[0].shape, stride);
    for (uint32_t i = 0, kept = 0; i < shape->rank; i++) {
        to.stride[i] = (axes >> i & 1) != 0 ? 0 : stride[kept++];
    }
    for (int64_t i = 0, end = output_elements(call); i < end; i++) { out[i] = 0; }
    for (int64_t i = 0, end = shape_elements(shape); i < end; i++, walk_next(&to)) {
        out[to.at] += x[i];
    }
}

static void broadcast(const struct kernel_call *call)
{
    const real *x = real_input(call, 0);
    real *out = real_output(call, 0);
    struct walk from = walk_broadcast(&call->out[0].shape, &call->in[0].shape);
    for (int64_t i = 0, end = output_elements(call); i < end; i++, walk_next(&from)) {
        out[i] = x[from.at];
    }
}

const struct kernel_row REAL(reference_reduce)[] = {
    {&op_sum, sum},
    {&op_broadcast, broadcast},
    {NULL, NULL},
};
