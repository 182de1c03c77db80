/*
 * graph/portable/matmul.c: products of matrices, also with a bias and relu in the epilogue, which
 * is exact. A variable as right operand is packed once per set of values, if that pays.
 */
#include "kernels/portable/matmul.h"

#include "graph/ops/ops.h"
#include "graph/portable/table.h"

/* All products; `count` pairs of matrices that are added up (integer 2) become one product if the
 * rows of both continue from pair to pair, else `pairs` products. */
struct products {
    struct matmul task;
    size_t pairs, a_size, b_size;
};

static size_t last_but(const struct tn_view *view, uint32_t from_end)
{
    return (size_t)view->shape.dims[view->shape.rank - from_end];
}

static struct products products_of(const struct kernel_call *call)
{
    const int64_t *integers = call->node->attributes.integers;
    bool turned_a = integers[0] != 0, turned_b = integers[1] != 0, add_up = integers[2] != 0;
    size_t m = last_but(&call->out[0], 2), n = last_but(&call->out[0], 1);
    size_t k = last_but(&call->in[0], turned_a ? 2 : 1);
    size_t count = elements_of(&call->in[0]) / (m * k);
    bool shares_b = elements_of(&call->in[1]) == k * n;
    struct products products = {.pairs = 1, .a_size = m * k, .b_size = k * n};
    products.task = (struct matmul){
        .batch = add_up ? 1 : count,
        .m = m,
        .n = n,
        .k = k,
        .a = {call->in[0].data, m * k, turned_a ? 1 : k, turned_a ? m : 1},
        .b = {call->in[1].data, shares_b ? 0 : k * n, turned_b ? 1 : n, turned_b ? k : 1},
        .packed = call->packed,
        .runs = call->slices,
        .out = call->out[0].data,
        .out_batch = m * n,
        .out_row = n,
    };
    if (add_up && turned_a && !turned_b) {
        products.task.k *= count;
    } else if (add_up) {
        products.pairs = count;
    }
    return products;
}

static bool is_packed(const struct kernel_call *call, const struct products *products)
{
    return is_steady(call, 1) && products->pairs == 1 && products->task.b.batch == 0 &&
           matmul_packing_pays(kernels_of(call), &products->task);
}

static struct kernel_needs matmul_needs(const struct kernel_call *call)
{
    struct products products = products_of(call);
    const struct portable *kernels = kernels_of(call);
    if (!is_packed(call, &products)) {
        return needs_floats(matmul_workspace(kernels, &products.task), 0);
    }
    return needs_floats(0, matmul_packed_size(kernels, products.task.k, products.task.n));
}

static void pack(const struct kernel_call *call, void *packed)
{
    struct products products = products_of(call);
    matmul_pack(kernels_of(call), products.task.k, products.task.n, &products.task.b, packed);
}

static void multiply(const struct kernel_call *call, const float *bias, bool relu)
{
    struct products products = products_of(call);
    assert(products.pairs == 1 || (bias == NULL && !relu));
    products.task.bias = bias;
    products.task.relu = relu;
    for (size_t i = 0; i < products.pairs; i++) {
        matmul_run(kernels_of(call), &products.task, call->workspace);
        products.task.a.data += products.a_size;
        products.task.b.data += products.b_size;
        products.task.accumulate = true;
    }
}

static void matmul(const struct kernel_call *call)
{
    multiply(call, NULL, false);
}

static void matmul_add(const struct kernel_call *call)
{
    multiply(call, float_input(call, 2), false);
}

static void matmul_add_relu(const struct kernel_call *call)
{
    multiply(call, float_input(call, 2), true);
}

const struct portable_row portable_matmul[] = {
    {&op_matmul, matmul, matmul_needs, pack},
    {&op_matmul_add, matmul_add, matmul_needs, pack},
    {&op_matmul_add_relu, matmul_add_relu, matmul_needs, pack},
    {NULL, NULL, NULL, NULL},
};
