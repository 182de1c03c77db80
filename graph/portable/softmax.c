/* graph/portable/softmax.c: softmax and its gradient, row by row. */
#include "graph/ops/ops.h"
#include "graph/portable/table.h"

static struct softmax_rows rows_of(const struct kernel_call *call)
{
    size_t columns = (size_t)shape_last(&call->out[0].shape);
    return (struct softmax_rows){
        .rows = elements_of(&call->out[0]) / columns,
        .columns = columns,
        .stride = columns,
        .visible = columns,
        .scale = 1,
    };
}

static void softmax(const struct kernel_call *call)
{
    struct softmax_rows rows = rows_of(call);
    kernels_of(call)->softmax->forward(&rows, float_input(call, 0), float_output(call, 0));
}

static void softmax_gradient(const struct kernel_call *call)
{
    struct softmax_rows rows = rows_of(call);
    kernels_of(call)->softmax->backward(&rows, float_input(call, 0), float_input(call, 1),
                                        float_output(call, 0));
}

const struct portable_row portable_softmax[] = {
    {&op_softmax, softmax, NULL, NULL},
    {&op_softmax_gradient, softmax_gradient, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
