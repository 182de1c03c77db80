/* graph/cuda/retrieval.c: softmax within a slice. All scores are in the workspace at once. */
#include "graph/cuda/table.h"

static size_t pairs_of(const struct kernel_call *call)
{
    return dim_of(&call->in[0], 2);
}

/* The scores, and losses that the gradient does not need. */
static uint64_t bytes_of_scores(const struct kernel_call *call)
{
    const size_t count = pairs_of(call);
    return (count + 1) * count * sizeof(float);
}

static struct cuda_matmul product_of(const struct kernel_call *call, size_t n, size_t k,
                                     struct cuda_operand a, struct cuda_operand b, float *out)
{
    return (struct cuda_matmul){.batch = 1,
                                .m = pairs_of(call),
                                .n = n,
                                .k = k,
                                .a = a,
                                .b = b,
                                .out = out,
                                .rounding = rounding_behind(call, bytes_of_scores(call))};
}

/* Queries times items, to the front of the workspace. */
static float *find_scores(const struct kernel_call *call)
{
    const size_t count = pairs_of(call), width = dim_of(&call->in[0], 1);
    const struct cuda_matmul scores =
        product_of(call, count, width, (struct cuda_operand){IN(0), 0, width, 1},
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
        product_of(call, width, count, (struct cuda_operand){slopes, 0, count, 1},
                   (struct cuda_operand){IN(1), 0, width, 1}, OUT(0));
    const struct cuda_matmul items =
        product_of(call, width, count, (struct cuda_operand){slopes, 0, 1, count},
                   (struct cuda_operand){IN(0), 0, width, 1}, OUT(1));
    kernels_of(call)->matmul(&queries);
    kernels_of(call)->matmul(&items);
}

OPERATION(is_retrieved)
{
    const size_t count = pairs_of(call);
    kernels_of(call)->is_correct(count, count, find_scores(call), NULL, 0, OUT(0));
}

static struct kernel_needs needs(const struct kernel_call *call)
{
    const size_t count = pairs_of(call), operand = elements_of(&call->in[0]);
    return needs_rounded(call, bytes_of_scores(call), size_max(operand, count * count), operand);
}

const struct cuda_row cuda_retrieval[] = {
    {&op_slice_softmax_cross_entropy, slice_softmax_cross_entropy, needs},
    {&op_slice_softmax_cross_entropy_gradient, slice_softmax_cross_entropy_gradient, needs},
    {&op_is_retrieved, is_retrieved, needs},
    {NULL, NULL, NULL},
};
