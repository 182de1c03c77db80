/* graph/cuda/window.c: convolutions and pooling. */
#include "graph/ops/window.h"
#include "graph/cuda/table.h"
#include "kernels/portable/conv.h"

/* `used`: the bytes of the workspace for other purposes. */
static struct cuda_conv conv_of(const struct kernel_call *call, const struct tn_shape *x,
                                const struct tn_shape *weights, uint64_t used)
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
        .rounding = rounding_behind(call, used),
    };
}

/* The results of a convolution, which are pooled, or their gradient. */
static uint64_t bytes_of_results(const struct cuda_conv *conv)
{
    return conv->batch * conv->out_height * conv->out_width * conv->filters * sizeof(float);
}

/* The convolution of the call; its results, or their gradient, are in the workspace. */
static struct cuda_conv pooled_conv(const struct kernel_call *call, const struct tn_shape *weights)
{
    struct cuda_conv conv = conv_of(call, &call->in[0].shape, weights, 0);
    conv.rounding = rounding_behind(call, bytes_of_results(&conv));
    return conv;
}

static void convolve(const struct kernel_call *call, const float *bias, bool relu)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->in[1].shape, 0);
    kernels_of(call)->conv_forward(&conv, IN(0), IN(1), bias, relu, OUT(0));
}

OPERATION(conv2d)
{
    convolve(call, NULL, false);
}

OPERATION(conv2d_add)
{
    convolve(call, IN(2), false);
}

OPERATION(conv2d_add_relu)
{
    convolve(call, IN(2), true);
}

OPERATION(conv2d_input_gradient)
{
    const struct cuda_conv conv = conv_of(call, &call->out[0].shape, &call->in[0].shape, 0);
    kernels_of(call)->conv_backward_data(&conv, IN(1), IN(0), OUT(0));
}

OPERATION(conv2d_weights_gradient)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->out[0].shape, 0);
    kernels_of(call)->conv_backward_weights(&conv, IN(0), IN(1), OUT(0));
}

/* Windows side by side over the results of a convolution. */
static struct cuda_pool pool_over(const struct kernel_call *call, const struct cuda_conv *conv)
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

OPERATION(conv2d_add_relu_max_pool)
{
    const struct cuda_conv conv = pooled_conv(call, &call->in[1].shape);
    const struct cuda_pool pool = pool_over(call, &conv);
    float *y = call->workspace;
    kernels_of(call)->conv_forward(&conv, IN(0), IN(1), IN(2), true, y);
    kernels_of(call)->max_pool(&pool, y, OUT(0), call->out[1].data, element_bytes(&call->out[1]));
}

OPERATION(conv2d_pool_gradients)
{
    const struct cuda_conv conv = pooled_conv(call, &call->out[0].shape);
    const struct cuda_pool pool = pool_over(call, &conv);
    const struct cuda_shape kept = {.rank = 1, .dims = {conv.filters}};
    const struct cuda_shape added = {.rank = 1,
                                     .dims = {conv.batch * conv.out_height * conv.out_width}};
    const struct cuda_strides by_filter = {.stride = {1}}, by_pixel = {.stride = {conv.filters}};
    float *dy = call->workspace;
    kernels_of(call)->max_pool_gradient(&pool, IN(2), call->in[1].data, element_bytes(&call->in[1]),
                                        dy);
    kernels_of(call)->sum(&kept, &by_filter, &added, &by_pixel, dy, OUT(1));
    kernels_of(call)->conv_backward_weights(&conv, IN(0), dy, OUT(0));
    if (call->node->op == &op_conv2d_pool_all_gradients) {
        kernels_of(call)->conv_backward_data(&conv, dy, IN(3), OUT(2));
    }
}

static struct cuda_pool pool_of(const struct kernel_call *call, const struct tn_shape *x,
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

OPERATION(max_pool)
{
    const struct cuda_pool pool = pool_of(call, &call->in[0].shape, &call->out[0].shape);
    kernels_of(call)->max_pool(&pool, IN(0), OUT(0), call->out[1].data,
                               element_bytes(&call->out[1]));
}

OPERATION(max_pool_gradient)
{
    const struct cuda_pool pool = pool_of(call, &call->out[0].shape, &call->in[1].shape);
    kernels_of(call)->max_pool_gradient(&pool, IN(1), call->in[0].data, element_bytes(&call->in[0]),
                                        OUT(0));
}

OPERATION(mean_pool)
{
    const struct cuda_pool pool = pool_of(call, &call->in[0].shape, &call->out[0].shape);
    kernels_of(call)->mean_pool(&pool, IN(0), OUT(0));
}

OPERATION(mean_pool_gradient)
{
    const struct cuda_pool pool = pool_of(call, &call->out[0].shape, &call->in[0].shape);
    kernels_of(call)->mean_pool_gradient(&pool, IN(0), OUT(0));
}

/* The rounded operands of a convolution that is a product: pixels and filters, or pixels and their
 * gradient. */
static struct kernel_needs conv_needs(const struct kernel_call *call, const struct cuda_conv *conv,
                                      uint64_t used, bool has_weights_gradient)
{
    const size_t pixels = conv->batch * conv->height * conv->width;
    const size_t x = pixels * conv->channels, y = pixels * conv->filters;
    const size_t weights = conv->channels * conv->filters;
    if (!cuda_conv_is_product(conv)) { return (struct kernel_needs){.workspace = used}; }
    if (!has_weights_gradient) { return needs_rounded(call, used, size_max(x, y), weights); }
    return needs_rounded(call, used, size_max(x, weights), y);
}

static struct kernel_needs needs(const struct kernel_call *call)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->in[1].shape, 0);
    return conv_needs(call, &conv, 0, false);
}

static struct kernel_needs input_needs(const struct kernel_call *call)
{
    const struct cuda_conv conv = conv_of(call, &call->out[0].shape, &call->in[0].shape, 0);
    return conv_needs(call, &conv, 0, false);
}

static struct kernel_needs weights_needs(const struct kernel_call *call)
{
    const struct cuda_conv conv = conv_of(call, &call->in[0].shape, &call->out[0].shape, 0);
    return conv_needs(call, &conv, 0, true);
}

static struct kernel_needs pooled_needs(const struct kernel_call *call)
{
    const struct cuda_conv conv = pooled_conv(call, &call->in[1].shape);
    return conv_needs(call, &conv, bytes_of_results(&conv), false);
}

static struct kernel_needs gradients_need(const struct kernel_call *call)
{
    const struct cuda_conv conv = pooled_conv(call, &call->out[0].shape);
    return conv_needs(call, &conv, bytes_of_results(&conv), true);
}

const struct cuda_row cuda_window[] = {
    {&op_conv2d, conv2d, needs},
    {&op_conv2d_add, conv2d_add, needs},
    {&op_conv2d_add_relu, conv2d_add_relu, needs},
    {&op_conv2d_add_relu_max_pool, conv2d_add_relu_max_pool, pooled_needs},
    {&op_conv2d_input_gradient, conv2d_input_gradient, input_needs},
    {&op_conv2d_weights_gradient, conv2d_weights_gradient, weights_needs},
    {&op_conv2d_pool_gradients, conv2d_pool_gradients, gradients_need},
    {&op_conv2d_pool_all_gradients, conv2d_pool_gradients, gradients_need},
    {&op_max_pool, max_pool, NULL},
    {&op_max_pool_gradient, max_pool_gradient, NULL},
    {&op_mean_pool, mean_pool, NULL},
    {&op_mean_pool_gradient, mean_pool_gradient, NULL},
    {NULL, NULL, NULL},
};
