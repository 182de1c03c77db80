/* graph/cuda/arrange.c: elements at other places, by strides or by id; casts. */
#include "graph/cuda/table.h"

/* The strides of a row-major shape. */
static struct cuda_strides row_major(const struct tn_shape *x)
{
    return strides_for(x, x);
}

/* Input 0 by `strides` as output 0. */
static void arrange(const struct kernel_call *call, const struct cuda_strides *strides)
{
    const struct cuda_shape shape = shape_for(&call->out[0].shape);
    const struct cuda_strides all = row_major(&call->out[0].shape);
    kernels_of(call)->arrange(&shape, element_bytes(&call->in[0]), call->in[0].data, strides,
                              call->out[0].data, &all);
}

OPERATION(copy)
{
    const struct cuda_strides strides = row_major(&call->out[0].shape);
    if (call->in[0].data != call->out[0].data) { arrange(call, &strides); }
}

OPERATION(broadcast)
{
    const struct cuda_strides strides = strides_for(&call->out[0].shape, &call->in[0].shape);
    arrange(call, &strides);
}

OPERATION(permute)
{
    const struct cuda_strides from = row_major(&call->in[0].shape);
    struct cuda_strides strides = {.first = 0};
    for (uint32_t i = 0; i < call->out[0].shape.rank; i++) {
        strides.stride[i] = from.stride[INTEGERS[i]];
    }
    arrange(call, &strides);
}

OPERATION(slice)
{
    struct cuda_strides strides = row_major(&call->in[0].shape);
    strides.first = (size_t)INTEGERS[1] * strides.stride[INTEGERS[0]];
    arrange(call, &strides);
}

/* Input `input` as the part of output 0 that begins at `first` of the axis. */
static void place(const struct kernel_call *call, uint32_t input, size_t first)
{
    const struct tn_view *x = &call->in[input];
    const struct cuda_shape shape = shape_for(&x->shape);
    const struct cuda_strides from = row_major(&x->shape);
    struct cuda_strides to = row_major(&call->out[0].shape);
    to.first = first * to.stride[INTEGERS[0]];
    kernels_of(call)->arrange(&shape, element_bytes(x), x->data, &from, call->out[0].data, &to);
}

OPERATION(concat)
{
    size_t first = 0;
    for (uint32_t i = 0; i < call->node->input_count; i++) {
        place(call, i, first);
        first += (size_t)call->in[i].shape.dims[INTEGERS[0]];
    }
}

OPERATION(pad)
{
    kernels_of(call)->fill(elements_of(&call->out[0]), NUMBER, OUT(0));
    place(call, 0, (size_t)INTEGERS[1]);
}

OPERATION(gather)
{
    const size_t rows = (size_t)call->in[0].shape.dims[0];
    kernels_of(call)->gather(elements_of(&call->in[1]), call->in[1].data,
                             element_bytes(&call->in[1]), rows, elements_of(&call->in[0]) / rows,
                             IN(0), OUT(0));
}

OPERATION(gather_gradient)
{
    const size_t rows = (size_t)call->out[0].shape.dims[0];
    kernels_of(call)->gather_gradient(elements_of(&call->in[0]), call->in[0].data,
                                      element_bytes(&call->in[0]), rows,
                                      elements_of(&call->out[0]) / rows, IN(1), OUT(0));
}

OPERATION(one_hot)
{
    kernels_of(call)->one_hot(elements_of(&call->in[0]), call->in[0].data,
                              element_bytes(&call->in[0]), (size_t)INTEGERS[0], OUT(0));
}

static enum cuda_type type_of(const struct tn_view *view)
{
    static const enum cuda_type types[] = {
        [TN_FLOAT32] = CUDA_FLOAT,
        [TN_INT32] = CUDA_INT,
        [TN_INT64] = CUDA_LONG,
        [TN_UINT8] = CUDA_BYTE,
    };
    return types[view->type];
}

OPERATION(cast)
{
    const size_t count = elements_of(&call->out[0]);
    const enum cuda_type from = type_of(&call->in[0]);
    if (call->out[0].type == TN_FLOAT32) {
        kernels_of(call)->cast(count, from, call->in[0].data, NUMBER, OUT(0));
    } else {
        kernels_of(call)->cast_to_integers(count, from, call->in[0].data,
                                           element_bytes(&call->out[0]), call->out[0].data);
    }
}

OPERATION(key_share)
{
    const size_t rows = elements_of(&call->out[0]);
    kernels_of(call)->key_share(rows, call->in[0].data, dim_of(&call->in[0], 1),
                                (size_t)INTEGERS[0], (size_t)INTEGERS[1], TN_KEY_NONE, OUT(0));
}

const struct cuda_row cuda_arrange[] = {
    {&op_copy, copy, NULL},           {&op_broadcast, broadcast, NULL},
    {&op_permute, permute, NULL},     {&op_slice, slice, NULL},
    {&op_concat, concat, NULL},       {&op_pad, pad, NULL},
    {&op_gather, gather, NULL},       {&op_gather_gradient, gather_gradient, NULL},
    {&op_one_hot, one_hot, NULL},     {&op_cast, cast, NULL},
    {&op_key_share, key_share, NULL}, {NULL, NULL, NULL},
};
