/* graph/cuda/reduce.c: sums, in the orders of graph/portable/reduce.c. */
#include "graph/cuda/table.h"

/* False: x is not [outer][rows][columns] of which the rows are added, as graph/portable/reduce.c
 * has it. */
static bool is_one_range(const struct kernel_call *call, size_t *outer, size_t *rows,
                         size_t *columns)
{
    const struct tn_shape *x = &call->in[0].shape;
    for (uint32_t i = 0; i < x->rank; i++) {
        const bool is_removed = (INTEGERS[0] >> i & 1) != 0;
        if (x->dims[i] == 1) { continue; }
        if (is_removed && *columns > 1) { return false; }
        size_t *size = is_removed ? rows : *rows > 1 ? columns : outer;
        *size *= (size_t)x->dims[i];
    }
    return true;
}

/* The elements of each result are added in the order of x. */
static void sum_over_any(const struct kernel_call *call)
{
    const struct tn_shape *x = &call->in[0].shape;
    const struct cuda_strides all = strides_for(x, x);
    struct cuda_shape kept = {.rank = 0}, added = {.rank = 0};
    struct cuda_strides by_result = {.first = 0}, by_term = {.first = 0};
    for (uint32_t i = 0; i < x->rank; i++) {
        const bool is_added = (INTEGERS[0] >> i & 1) != 0;
        struct cuda_shape *shape = is_added ? &added : &kept;
        struct cuda_strides *strides = is_added ? &by_term : &by_result;
        strides->stride[shape->rank] = all.stride[i];
        shape->dims[shape->rank++] = (size_t)x->dims[i];
    }
    kernels_of(call)->sum(&kept, &by_result, &added, &by_term, IN(0), OUT(0));
}

/* x[slices][rows][columns] with the sums of each slice in the workspace, added over their tree. */
static void sum_by_slice(const struct kernel_call *call, size_t rows, size_t columns)
{
    const size_t slices = call->slices, each = rows / slices;
    float *sums = call->workspace;
    assert(rows % slices == 0);
    if (columns == 1) {
        kernels_of(call)->sum_columns(slices, each, IN(0), sums);
    } else {
        const struct cuda_shape kept = {.rank = 2, .dims = {slices, columns}};
        const struct cuda_shape added = {.rank = 1, .dims = {each}};
        const struct cuda_strides by_result = {.stride = {each * columns, 1}};
        const struct cuda_strides by_term = {.stride = {columns}};
        kernels_of(call)->sum(&kept, &by_result, &added, &by_term, IN(0), sums);
    }
    kernels_of(call)->sum_slices(columns, slices, sums, OUT(0));
}

OPERATION(sum)
{
    size_t outer = 1, rows = 1, columns = 1;
    const bool is_range = is_one_range(call, &outer, &rows, &columns);
    if (call->slices > 1) {
        assert(is_range && outer == 1);
        sum_by_slice(call, rows, columns);
    } else if (!is_range || columns > 1) {
        sum_over_any(call);
    } else {
        kernels_of(call)->sum_columns(outer, rows, IN(0), OUT(0));
    }
}

/* The sums of the slices, if examples may be added. */
static struct kernel_needs needs_sums(const struct kernel_call *call)
{
    const bool is_joined = call->slices > 1 && (INTEGERS[0] & 1) != 0;
    const uint64_t bytes =
        is_joined ? call->slices * elements_of(&call->out[0]) * sizeof(float) : 0;
    return (struct kernel_needs){.workspace = bytes};
}

const struct cuda_row cuda_reduce[] = {
    {&op_sum, sum, needs_sums},
    {NULL, NULL, NULL},
};
