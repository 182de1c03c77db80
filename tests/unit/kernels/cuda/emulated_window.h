/* Part of emulated_backend.h: convolutions and pooling. */
#ifndef TESTS_UNIT_KERNELS_CUDA_EMULATED_WINDOW_H
#define TESTS_UNIT_KERNELS_CUDA_EMULATED_WINDOW_H

#include "graph/ops/window.h"
#include "kernels/portable/conv.h"
#include "tests/unit/kernels/cuda/portable_call.h"

/* The arguments of an operation. */
#define KERNELS      (library->kernels)
#define IN(number)   ((const float *)call->in[number].data)
#define OUT(number)  ((float *)call->out[number].data)
#define NUMBER       ((float)call->node->attributes.numbers[0])
#define INTEGERS     (call->node->attributes.integers)
#define OPERATION(n) static void n(const struct kernel_call *call)

static inline size_t elements(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape);
}

static inline size_t dim_of(const struct tn_view *view, uint32_t from_end)
{
    return (size_t)view->shape.dims[view->shape.rank - from_end];
}

static inline struct cuda_conv conv_of(const struct kernel_call *call, const struct tn_shape *x,
                                       const struct tn_shape *weights)
{
    const struct conv2d conv = {
        .height = (size_t)x->dims[1],
        .width = (size_t)x->dims[2],
        .kernel_height = (size_t)weights->dims[0],
        .kernel_width = (size_t)weights->dims[1],
        .stride_height = (size_t)INTEGERS[WINDOW_STRIDE_Y],
        .stride_width = (size_t)INTEGERS[WINDOW_STRIDE_X],
        .top = (size_t)INTEGERS[WINDOW_TOP],
        .left = (size_t)INTEGERS[WINDOW_LEFT],
        .bottom = (size_t)INTEGERS[WINDOW_BOTTOM],
        .right = (size_t)INTEGERS[WINDOW_RIGHT],
    };
    return (struct cuda_conv){
        .batch = (size_t)x->dims[0],
        .height = conv.height,
        .width = conv.width,
        .channels = (size_t)x->dims[3],
        .kernel_height = conv.kernel_height,
        .kernel_width = conv.kernel_width,
        .filters = (size_t)weights->dims[3],
        .groups = (size_t)INTEGERS[WINDOW_GROUPS],
        .stride_height = conv.stride_height,
        .stride_width = conv.stride_width,
        .top = conv.top,
        .left = conv.left,
        .out_height = conv2d_out_height(&conv),
        .out_width = conv2d_out_width(&conv),
    };
}

static inline void convolve(const struct kernel_call *call, const float *bias, bool relu)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->in[1].shape);
    KERNELS->conv_forward(&conv, IN(0), IN(1), bias, relu, OUT(0));
}

OPERATION(emulate_conv2d)
{
    convolve(call, NULL, false);
}

OPERATION(emulate_conv2d_add)
{
    convolve(call, IN(2), false);
}

OPERATION(emulate_conv2d_add_relu)
{
    convolve(call, IN(2), true);
}

OPERATION(emulate_conv2d_input_gradient)
{
    const struct cuda_conv conv = conv_of(call, &call->out[0].shape, &call->in[0].shape);
    KERNELS->conv_backward_data(&conv, IN(1), IN(0), OUT(0));
}

OPERATION(emulate_conv2d_weights_gradient)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->out[0].shape);
    KERNELS->conv_backward_weights(&conv, IN(0), IN(1), OUT(0));
}

/* Windows side by side over the results of a convolution. */
static inline struct cuda_pool pool_over(const struct kernel_call *call,
                                         const struct cuda_conv *conv)
{
    const size_t side = (size_t)INTEGERS[WINDOW_POOL_SIDE];
    return (struct cuda_pool){
        .batch = conv->batch,
        .height = conv->out_height,
        .width = conv->out_width,
        .channels = conv->filters,
        .window_height = side,
        .window_width = side,
        .stride_height = side,
        .stride_width = side,
        .out_height = conv->out_height / side,
        .out_width = conv->out_width / side,
    };
}

static inline float *conv_results(const struct cuda_conv *conv)
{
    return device_memory(conv->batch * conv->out_height * conv->out_width * conv->filters *
                         sizeof(float));
}

OPERATION(emulate_conv2d_add_relu_max_pool)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->in[1].shape);
    const struct cuda_pool pool = pool_over(call, &conv);
    float *y = conv_results(&conv);
    KERNELS->conv_forward(&conv, IN(0), IN(1), IN(2), true, y);
    KERNELS->max_pool(&pool, y, OUT(0), call->out[1].data);
    library->release(y);
}

OPERATION(emulate_conv2d_pool_gradients)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->out[0].shape);
    const struct cuda_pool pool = pool_over(call, &conv);
    const struct cuda_shape kept = {.rank = 1, .dims = {conv.filters}};
    const struct cuda_shape added = {.rank = 1,
                                     .dims = {conv.batch * conv.out_height * conv.out_width}};
    const struct cuda_strides by_filter = {.stride = {1}}, by_pixel = {.stride = {conv.filters}};
    float *dy = conv_results(&conv);
    KERNELS->max_pool_gradient(&pool, IN(2), call->in[1].data, dy);
    KERNELS->sum(&kept, &by_filter, &added, &by_pixel, dy, OUT(1));
    KERNELS->conv_backward_weights(&conv, IN(0), dy, OUT(0));
    if (call->node->op == &op_conv2d_pool_all_gradients) {
        KERNELS->conv_backward_data(&conv, dy, IN(3), OUT(2));
    }
    library->release(dy);
}

static inline struct cuda_pool pool_of(const struct kernel_call *call, const struct tn_shape *x,
                                       const struct tn_shape *y)
{
    return (struct cuda_pool){
        .batch = (size_t)x->dims[0],
        .height = (size_t)x->dims[1],
        .width = (size_t)x->dims[2],
        .channels = (size_t)x->dims[3],
        .window_height = (size_t)INTEGERS[WINDOW_HEIGHT],
        .window_width = (size_t)INTEGERS[WINDOW_WIDTH],
        .stride_height = (size_t)INTEGERS[WINDOW_STRIDE_Y],
        .stride_width = (size_t)INTEGERS[WINDOW_STRIDE_X],
        .top = (size_t)INTEGERS[WINDOW_TOP],
        .left = (size_t)INTEGERS[WINDOW_LEFT],
        .out_height = (size_t)y->dims[1],
        .out_width = (size_t)y->dims[2],
    };
}

OPERATION(emulate_mean_pool)
{
    const struct cuda_pool pool = pool_of(call, &call->in[0].shape, &call->out[0].shape);
    KERNELS->mean_pool(&pool, IN(0), OUT(0));
}

OPERATION(emulate_mean_pool_gradient)
{
    const struct cuda_pool pool = pool_of(call, &call->out[0].shape, &call->in[0].shape);
    KERNELS->mean_pool_gradient(&pool, IN(0), OUT(0));
}

#endif
