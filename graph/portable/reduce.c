/*
 * graph/portable/reduce.c: sums over neighbouring dimensions, in the orders of
 * kernels/portable/reduce.h. Sums over others run in the plain C order, element by element.
 */
#include "kernels/portable/tree_rows.h"

#include "graph/ops/ops.h"
#include "graph/portable/table.h"
#include "graph/reference/backend.h"

/* x[outer][rows][columns], of which the rows are added. */
struct sum {
    size_t outer, rows, columns;
};

/* False: the axes are not neighbours. */
static bool is_one_range(const struct tn_shape *x, uint64_t axes, struct sum *sum)
{
    *sum = (struct sum){1, 1, 1};
    for (uint32_t i = 0; i < x->rank; i++) {
        bool removed = (axes >> i & 1) != 0;
        if (x->dims[i] == 1) { continue; }
        if (removed && sum->columns > 1) { return false; }
        size_t *size = removed ? &sum->rows : sum->rows > 1 ? &sum->columns : &sum->outer;
        *size *= (size_t)x->dims[i];
    }
    return true;
}

static void add_up(const struct kernel_call *call)
{
    struct sum sum;
    const float *x = float_input(call, 0);
    float *out = float_output(call, 0);
    const struct reduce_kernels *kernels = kernels_of(call)->reduce;
    uint64_t axes = (uint64_t)call->node->attributes.integers[0];
    if (!is_one_range(&call->in[0].shape, axes, &sum)) {
        backend_reference()->find (&op_sum)(call);
    } else if (call->slices > 1) {
        assert(sum.outer == 1);
        tree_rows_sum(kernels, call->slices, sum.rows, sum.columns, x, out);
    } else if (sum.columns == 1) {
        kernels->sum_columns(sum.outer, sum.rows, x, sum.rows, out);
    } else {
        for (size_t i = 0; i < sum.outer; i++, out += sum.columns) {
            kernels->sum_rows(sum.rows, sum.columns, x, sum.columns, false, out);
            x += sum.rows * sum.columns;
        }
    }
}

const struct portable_row portable_reduce[] = {
    {&op_sum, add_up, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
