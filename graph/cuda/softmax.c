/* graph/cuda/softmax.c: softmax, cross entropy and accuracy. */
#include "graph/cuda/table.h"

static struct cuda_softmax all_columns(const struct kernel_call *call)
{
    const size_t columns = dim_of(&call->out[0], 1);
    return (struct cuda_softmax){elements_of(&call->out[0]) / columns, columns, 1, columns, 0, 1};
}

OPERATION(softmax)
{
    const struct cuda_softmax rows = all_columns(call);
    kernels_of(call)->softmax(&rows, IN(0), OUT(0));
}

OPERATION(softmax_gradient)
{
    const struct cuda_softmax rows = all_columns(call);
    kernels_of(call)->softmax_gradient(&rows, IN(0), IN(1), OUT(0));
}

OPERATION(softmax_cross_entropy)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->cross_entropy(elements_of(&call->in[1]), columns, IN(0), call->in[1].data,
                                    element_bytes(&call->in[1]), NUMBER, OUT(1), OUT(0));
}

OPERATION(softmax_cross_entropy_gradient)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->cross_entropy_gradient(elements_of(&call->in[1]), columns, IN(0),
                                             call->in[1].data, element_bytes(&call->in[1]), NUMBER,
                                             IN(2), OUT(0));
}

OPERATION(is_correct)
{
    const size_t columns = dim_of(&call->in[0], 1);
    kernels_of(call)->is_correct(elements_of(&call->in[1]), columns, IN(0), call->in[1].data,
                                 element_bytes(&call->in[1]), OUT(0));
}

const struct cuda_row cuda_softmax[] = {
    {&op_softmax, softmax, NULL},
    {&op_softmax_gradient, softmax_gradient, NULL},
    {&op_softmax_cross_entropy, softmax_cross_entropy, NULL},
    {&op_softmax_cross_entropy_gradient, softmax_cross_entropy_gradient, NULL},
    {&op_is_correct, is_correct, NULL},
    {NULL, NULL, NULL},
};
