/* graph/cuda/attention.c: attention. */
#include "graph/cuda/table.h"

/* `used`: the bytes of the workspace for other purposes. */
static struct cuda_attention attention_of(const struct kernel_call *call, uint64_t used)
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
        .rounding = rounding_behind(call, used),
    };
}

/* The gradient of the scores. */
static uint64_t bytes_of_slopes(const struct kernel_call *call)
{
    return elements_of(&call->in[3]) * sizeof(float);
}

OPERATION(attention)
{
    const struct cuda_attention task = attention_of(call, 0);
    kernels_of(call)->attention(&task, IN(0), IN(1), IN(2), OUT(1), OUT(0));
}

OPERATION(attention_gradient)
{
    const struct cuda_attention task = attention_of(call, bytes_of_slopes(call));
    const struct cuda_attention_gradient arrays = {
        .q = IN(0),
        .k = IN(1),
        .v = IN(2),
        .p = IN(3),
        .dout = IN(4),
        .ds = call->workspace,
        .dq = OUT(0),
        .dk = OUT(1),
        .dv = OUT(2),
    };
    kernels_of(call)->attention_gradient(&task, &arrays);
}

/* One operand is as large as the scores or as one of the inputs, the other one as an input. */
static struct kernel_needs needs_beside(const struct kernel_call *call, size_t scores,
                                        size_t inputs, uint64_t used)
{
    size_t most = 0;
    for (size_t i = 0; i < inputs; i++) { most = size_max(most, elements_of(&call->in[i])); }
    return needs_rounded(call, used, size_max(scores, most), most);
}

static struct kernel_needs needs(const struct kernel_call *call)
{
    return needs_beside(call, elements_of(&call->out[1]), 3, 0);
}

static struct kernel_needs gradient_needs(const struct kernel_call *call)
{
    const size_t scores = elements_of(&call->in[3]), gradient = elements_of(&call->in[4]);
    const struct kernel_needs most =
        needs_beside(call, size_max(scores, gradient), 3, bytes_of_slopes(call));
    const struct kernel_needs last = needs_rounded(call, bytes_of_slopes(call), scores, gradient);
    return (struct kernel_needs){.workspace = u64_max(most.workspace, last.workspace)};
}

const struct cuda_row cuda_attention[] = {
    {&op_attention, attention, needs},
    {&op_attention_gradient, attention_gradient, gradient_needs},
    {NULL, NULL, NULL},
};
