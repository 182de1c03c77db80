/* graph/cuda/retrieval.c: softmax within a slice. All scores are in the workspace at once. */
#include "graph/cuda/table.h"

static struct cuda_matmul product_of(size_t m, size_t n, size_t k, struct cuda_operand a,
                                     struct cuda_operand b, float *out)
{
    return (struct cuda_matmul){.batch = 1, .m = m, .n = n, .k = k, .a = a, .b = b, .out = out};
}

static size_t pairs_of(const struct kernel_call *call)
{
    return dim_of(&call->in[0], 2);
}

/* Queries times items, to the front of the workspace. */
static float *find_scores(const struct kernel_call *call)
{
    const size_t count = pairs_of(call), width = dim_of(&call->in[0], 1);
    const struct cuda_matmul scores =
        product_of(count, count, width, (struct cuda_operand){IN(0), 0, width, 1},
                   (struct cuda_operand){IN(1), 0, 1, width}, call->workspace);
    kernels_of(call)->matmul(&scores);
    return call->workspace;
}

OPERATION(slice_softmax_cross_entropy)
{
    const size_t count = pairs_of(call);
    float *scores = find_scores(call);
    kernels_of(call)->cross_entropy(count, count, scores, NULL, 0, 0, OUT(0), scores);
}

OPERATION(slice_softmax_cross_entropy_gradient)
{
    const size_t count = pairs_of(call), width = dim_of(&call->in[0], 1);
    float *slopes = find_scores(call), *losses = slopes + count * count;
    kernels_of(call)->cross_entropy(count, count, slopes, NULL, 0, 0, losses, slopes);
    kernels_of(call)->cross_entropy_gradient(count, count, slopes, NULL, 0, 0, IN(2), slopes);
    const struct cuda_matmul queries =
        product_of(count, width, count, (struct cuda_operand){slopes, 0, count, 1},
                   (struct cuda_operand){IN(1), 0, width, 1}, OUT(0));
    const struct cuda_matmul items =
        product_of(count, width, count, (struct cuda_operand){slopes, 0, 1, count},
                   (struct cuda_operand){IN(0), 0, width, 1}, OUT(1));
    kernels_of(call)->matmul(&queries);
    kernels_of(call)->matmul(&items);
}

OPERATION(is_retrieved)
{
    const size_t count = pairs_of(call);
    kernels_of(call)->is_correct(count, count, find_scores(call), NULL, 0, OUT(0));
}

/* The scores, and losses that the gradient does not need. */
static struct kernel_needs needs(const struct kernel_call *call)
{
    const size_t count = pairs_of(call);
    return (struct kernel_needs){.workspace = (count + 1) * count * sizeof(float)};
}

const struct cuda_row cuda_retrieval[] = {
    {&op_slice_softmax_cross_entropy, slice_softmax_cross_entropy, needs},
    {&op_slice_softmax_cross_entropy_gradient, slice_softmax_cross_entropy_gradient, needs},
    {&op_is_retrieved, is_retrieved, needs},
    {NULL, NULL, NULL},
};
