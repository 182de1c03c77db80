/* graph/cuda/normalize.c: layer norm and batch norm. */
#include "graph/cuda/table.h"

static struct cuda_norm norm_of(const struct kernel_call *call)
{
    const size_t columns = dim_of(&call->in[0], 1);
    return (struct cuda_norm){
        .rows = elements_of(&call->in[0]) / columns,
        .columns = columns,
        .epsilon = call->node->attributes.numbers[0],
        .x = IN(0),
        .gain = IN(1),
        .bias = IN(2),
        .y = OUT(0),
        .mean = OUT(1),
        .second = OUT(2),
    };
}

static struct cuda_norm_gradient gradient_of(const struct kernel_call *call)
{
    const size_t columns = dim_of(&call->in[0], 1);
    return (struct cuda_norm_gradient){
        .rows = elements_of(&call->in[0]) / columns,
        .columns = columns,
        .epsilon = call->node->attributes.numbers[0],
        .x = IN(0),
        .gain = IN(1),
        .mean = IN(2),
        .second = IN(3),
        .dy = IN(4),
        .dx = OUT(0),
        .dgain = OUT(1),
        .dbias = OUT(2),
    };
}

OPERATION(layer_norm)
{
    const struct cuda_norm task = norm_of(call);
    kernels_of(call)->layer_norm(&task);
}

OPERATION(layer_norm_gradient)
{
    const struct cuda_norm_gradient task = gradient_of(call);
    kernels_of(call)->layer_norm_gradient(&task);
}

OPERATION(batch_norm)
{
    const struct cuda_norm task = norm_of(call);
    kernels_of(call)->batch_norm(&task);
}

OPERATION(batch_norm_gradient)
{
    const struct cuda_norm_gradient task = gradient_of(call);
    kernels_of(call)->batch_norm_gradient(&task);
}

const struct cuda_row cuda_normalize[] = {
    {&op_layer_norm, layer_norm, NULL},
    {&op_layer_norm_gradient, layer_norm_gradient, NULL},
    {&op_batch_norm, batch_norm, NULL},
    {&op_batch_norm_gradient, batch_norm_gradient, NULL},
    {NULL, NULL, NULL},
};
