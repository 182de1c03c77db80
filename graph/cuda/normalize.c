/* graph/cuda/normalize.c: layer norm and batch norm. */
#include "graph/cuda/table.h"

OPERATION(layer_norm)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->layer_norm(elements_of(&call->in[0]) / columns, columns, NUMBER, IN(0), IN(1),
                                 IN(2), OUT(0), OUT(1), OUT(2));
}

OPERATION(layer_norm_gradient)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->layer_norm_gradient(elements_of(&call->in[0]) / columns, columns, IN(0),
                                          IN(1), IN(2), IN(3), IN(4), OUT(0), OUT(1), OUT(2));
}

OPERATION(batch_norm)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->batch_norm(elements_of(&call->in[0]) / columns, columns,
                                 call->node->attributes.numbers[0], IN(0), IN(1), IN(2), OUT(0),
                                 OUT(1), OUT(2));
}

OPERATION(batch_norm_gradient)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->batch_norm_gradient(elements_of(&call->in[0]) / columns, columns,
                                          call->node->attributes.numbers[0], IN(0), IN(1), IN(2),
                                          IN(3), IN(4), OUT(0), OUT(1), OUT(2));
}

const struct cuda_row cuda_normalize[] = {
    {&op_layer_norm, layer_norm, NULL},
    {&op_layer_norm_gradient, layer_norm_gradient, NULL},
    {&op_batch_norm, batch_norm, NULL},
    {&op_batch_norm_gradient, batch_norm_gradient, NULL},
    {NULL, NULL, NULL},
};
