/* graph/portable/attention.c: attention and its gradient from the probabilities. */
#include "kernels/portable/attention.h"

#include "graph/ops/ops.h"
#include "graph/portable/table.h"

/* The layout of [batch][heads][time][width]. */
static struct attention_operand operand_of(const struct tn_view *view)
{
    size_t width = (size_t)view->shape.dims[3], head = (size_t)view->shape.dims[2] * width;
    return (struct attention_operand){view->data, (size_t)view->shape.dims[1] * head, head, width};
}

static struct attention_result result_of(const struct tn_view *view)
{
    struct attention_operand like = operand_of(view);
    return (struct attention_result){view->data, like.batch, like.head, like.row};
}

static struct attention task_of(const struct kernel_call *call)
{
    const struct tn_shape *q = &call->in[0].shape, *v = &call->in[2].shape;
    return (struct attention){
        .batch = (size_t)q->dims[0],
        .heads = (size_t)q->dims[1],
        .queries = (size_t)q->dims[2],
        .keys = (size_t)v->dims[2],
        .width = (size_t)q->dims[3],
        .value_width = (size_t)v->dims[3],
        .causal = call->node->attributes.integers[0] != 0,
        .scale = (float)call->node->attributes.numbers[0],
        .q = operand_of(&call->in[0]),
        .k = operand_of(&call->in[1]),
        .v = operand_of(&call->in[2]),
    };
}

static struct kernel_needs forward_needs(const struct kernel_call *call)
{
    struct attention task = task_of(call);
    return needs_floats(attention_forward_workspace(kernels_of(call), &task), 0);
}

static void attention(const struct kernel_call *call)
{
    struct attention task = task_of(call);
    struct attention_result y = result_of(&call->out[0]);
    attention_forward(kernels_of(call), &task, float_output(call, 1), &y, call->workspace);
}

static struct kernel_needs backward_needs(const struct kernel_call *call)
{
    struct attention task = task_of(call);
    return needs_floats(attention_backward_workspace(kernels_of(call), &task), 0);
}

static void attention_gradient(const struct kernel_call *call)
{
    struct attention task = task_of(call);
    struct attention_operand dy = operand_of(&call->in[4]);
    struct attention_gradients gradients = {
        .q = result_of(&call->out[0]),
        .k = result_of(&call->out[1]),
        .v = result_of(&call->out[2]),
    };
    attention_backward(kernels_of(call), &task, float_input(call, 3), &dy, &gradients,
                       call->workspace);
}

const struct portable_row portable_attention[] = {
    {&op_attention, attention, forward_needs, NULL},
    {&op_attention_gradient, attention_gradient, backward_needs, NULL},
    {NULL, NULL, NULL, NULL},
};
