/* graph/cuda/attention.c: attention. */
#include "graph/cuda/table.h"

static struct cuda_attention attention_of(const struct kernel_call *call)
{
    return (struct cuda_attention){
        .batch = dim_of(&call->in[0], 4),
        .heads = dim_of(&call->in[0], 3),
        .queries = dim_of(&call->in[0], 2),
        .keys = dim_of(&call->in[2], 2),
        .width = dim_of(&call->in[0], 1),
        .value_width = dim_of(&call->in[2], 1),
        .causal = INTEGERS[0] != 0,
        .scale = NUMBER,
    };
}

OPERATION(attention)
{
    const struct cuda_attention task = attention_of(call);
    kernels_of(call)->attention(&task, IN(0), IN(1), IN(2), OUT(1), OUT(0));
}

OPERATION(attention_gradient)
{
    const struct cuda_attention task = attention_of(call);
    kernels_of(call)->attention_gradient(&task, IN(0), IN(1), IN(2), IN(3), IN(4), call->workspace,
                                         OUT(0), OUT(1), OUT(2));
}

/* The gradient of the scores. */
static struct kernel_needs needs_scores(const struct kernel_call *call)
{
    return (struct kernel_needs){.workspace = elements_of(&call->in[3]) * sizeof(float)};
}

const struct cuda_row cuda_attention[] = {
    {&op_attention, attention, NULL},
    {&op_attention_gradient, attention_gradient, needs_scores},
    {NULL, NULL, NULL},
};
