/* graph/cuda/matmul.c: matrix products. */
#include "graph/cuda/table.h"

/* The workspace of the products of slices that are added up. */
static uint64_t bytes_by_slice(const struct kernel_call *call)
{
    return call->slices > 1 ? call->slices * elements_of(&call->out[0]) * sizeof(float) : 0;
}

/* One product for each slice's part of k, side by side in the workspace, and their sum over the
 * tree of slices. */
static void multiply_by_slice(const struct kernel_call *call, struct cuda_matmul *task)
{
    assert(task->k % call->slices == 0);
    task->batch = call->slices;
    task->k /= call->slices;
    task->a.batch = task->k * task->a.column;
    task->b.batch = task->k * task->b.row;
    task->out = call->workspace;
    kernels_of(call)->matmul(task);
    kernels_of(call)->sum_slices(task->m * task->n, call->slices, task->out, OUT(0));
}

/* As graph/portable/matmul.c: pairs that are added up are one product if rows continue from pair to
 * pair, else one after another. */
static void multiply_matrices(const struct kernel_call *call, const float *bias, bool relu)
{
    const bool turned_a = INTEGERS[0] != 0, turned_b = INTEGERS[1] != 0, add_up = INTEGERS[2] != 0;
    const size_t m = dim_of(&call->out[0], 2), n = dim_of(&call->out[0], 1);
    const size_t k = dim_of(&call->in[0], turned_a ? 2 : 1);
    const size_t count = elements_of(&call->in[0]) / (m * k);
    const bool shares_b = elements_of(&call->in[1]) == k * n;
    struct cuda_matmul task = {
        .batch = add_up ? 1 : count,
        .m = m,
        .n = n,
        .k = k,
        .a = {IN(0), m * k, turned_a ? 1 : k, turned_a ? m : 1},
        .b = {IN(1), shares_b ? 0 : k * n, turned_b ? 1 : n, turned_b ? k : 1},
        .out = OUT(0),
        .bias = bias,
        .relu = relu,
        .rounding = rounding_behind(call, bytes_by_slice(call)),
    };
    const bool is_one = !add_up || (turned_a && !turned_b);
    if (add_up && is_one) { task.k *= count; }
    if (call->slices > 1) {
        assert(is_one && task.batch == 1 && bias == NULL && !relu);
        multiply_by_slice(call, &task);
        return;
    }
    for (size_t i = 0; i < (is_one ? 1 : count); i++) {
        kernels_of(call)->matmul(&task);
        task.a.data += m * k;
        task.b.data += k * n;
        task.accumulate = true;
    }
}

OPERATION(matmul)
{
    multiply_matrices(call, NULL, false);
}

OPERATION(matmul_add)
{
    multiply_matrices(call, IN(2), false);
}

OPERATION(matmul_add_relu)
{
    multiply_matrices(call, IN(2), true);
}

/* The products of the slices, if examples may be added: as graph/joined_slices.c has it. */
static struct kernel_needs needs_products(const struct kernel_call *call)
{
    const bool adds =
        INTEGERS[0] != 0 && INTEGERS[1] == 0 && (INTEGERS[2] != 0 || call->in[0].shape.rank == 2);
    return needs_rounded(call, adds ? bytes_by_slice(call) : 0, elements_of(&call->in[0]),
                         elements_of(&call->in[1]));
}

static struct kernel_needs needs_operands(const struct kernel_call *call)
{
    return needs_rounded(call, 0, elements_of(&call->in[0]), elements_of(&call->in[1]));
}

const struct cuda_row cuda_matmul[] = {
    {&op_matmul, matmul, needs_products},
    {&op_matmul_add, matmul_add, needs_operands},
    {&op_matmul_add_relu, matmul_add_relu, needs_operands},
    {NULL, NULL, NULL},
};
