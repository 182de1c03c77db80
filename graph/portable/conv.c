/*
 * graph/portable/conv.c: convolution, also with a bias and relu in the epilogue, which is exact,
 * and its two gradients. Weights that are a variable are packed once per set of values, in each
 * direction; other weights are packed into the workspace, before the kernel's own.
 */
#include "kernels/portable/conv.h"

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/portable/table.h"

enum { LINE_FLOATS = 16 };

static struct conv2d conv_of(const struct kernel_call *call, const struct tn_shape *x,
                             const struct tn_shape *weights)
{
    const int64_t *integers = call->node->attributes.integers;
    return (struct conv2d){
        .batch = (size_t)x->dims[0],
        .height = (size_t)x->dims[1],
        .width = (size_t)x->dims[2],
        .channels = (size_t)x->dims[3],
        .kernel_height = (size_t)weights->dims[0],
        .kernel_width = (size_t)weights->dims[1],
        .filters = (size_t)weights->dims[3],
        .groups = (size_t)integers[WINDOW_GROUPS],
        .stride_height = (size_t)integers[WINDOW_STRIDE_Y],
        .stride_width = (size_t)integers[WINDOW_STRIDE_X],
        .top = (size_t)integers[WINDOW_TOP],
        .left = (size_t)integers[WINDOW_LEFT],
        .bottom = (size_t)integers[WINDOW_BOTTOM],
        .right = (size_t)integers[WINDOW_RIGHT],
    };
}

static struct conv2d forward_conv(const struct kernel_call *call)
{
    return conv_of(call, &call->in[0].shape, &call->in[1].shape);
}

static struct conv2d input_conv(const struct kernel_call *call)
{
    return conv_of(call, &call->out[0].shape, &call->in[0].shape);
}

/* `packed` floats lie in front of the workspace unless the weights are steady. */
static struct kernel_needs needs_of(bool steady, size_t packed, size_t workspace)
{
    size_t lines = (packed + LINE_FLOATS - 1) / LINE_FLOATS;
    return steady ? needs_floats(workspace, packed)
                  : needs_floats(lines * LINE_FLOATS + workspace, 0);
}

/* The kernel's own workspace. */
static float *workspace_behind(const struct kernel_call *call, size_t packed)
{
    size_t lines = call->packed != NULL ? 0 : (packed + LINE_FLOATS - 1) / LINE_FLOATS;
    return (float *)call->workspace + lines * LINE_FLOATS;
}

static struct kernel_needs conv2d_needs(const struct kernel_call *call)
{
    struct conv2d conv = forward_conv(call);
    return needs_of(is_steady(call, 1), conv2d_packed_size(kernels_of(call), &conv),
                    conv2d_workspace(&conv));
}

static void pack(const struct kernel_call *call, void *packed)
{
    struct conv2d conv = forward_conv(call);
    conv2d_pack(kernels_of(call), &conv, float_input(call, 1), packed);
}

static void convolve(const struct kernel_call *call, struct conv2d_epilogue epilogue)
{
    struct conv2d conv = forward_conv(call);
    const float *packed = call->packed;
    if (packed == NULL) {
        pack(call, call->workspace);
        packed = call->workspace;
    }
    conv2d_forward(kernels_of(call), &conv, float_input(call, 0), packed, epilogue,
                   float_output(call, 0),
                   workspace_behind(call, conv2d_packed_size(kernels_of(call), &conv)));
}

static void conv2d(const struct kernel_call *call)
{
    convolve(call, (struct conv2d_epilogue){.bias = NULL});
}

static void conv2d_add(const struct kernel_call *call)
{
    convolve(call, (struct conv2d_epilogue){.bias = float_input(call, 2)});
}

static void conv2d_add_relu(const struct kernel_call *call)
{
    convolve(call, (struct conv2d_epilogue){.bias = float_input(call, 2), .relu = true});
}

/* The kernel's own workspace of a convolution with pooling: the rows of one row of windows, too. */
static struct kernel_needs pooled_needs(const struct kernel_call *call)
{
    struct conv2d conv = forward_conv(call);
    size_t side = (size_t)call->node->attributes.integers[WINDOW_POOL_SIDE];
    return needs_of(is_steady(call, 1), conv2d_packed_size(kernels_of(call), &conv),
                    conv2d_workspace(&conv) + side * conv2d_out_width(&conv) * conv.filters);
}

static void conv2d_add_relu_max_pool(const struct kernel_call *call)
{
    struct conv2d conv = forward_conv(call);
    struct conv2d_epilogue epilogue = {.bias = float_input(call, 2), .relu = true};
    const float *packed = call->packed;
    if (packed == NULL) {
        pack(call, call->workspace);
        packed = call->workspace;
    }
    conv2d_forward_pooled(
        kernels_of(call), &conv, (size_t)call->node->attributes.integers[WINDOW_POOL_SIDE],
        float_input(call, 0), packed, epilogue, float_output(call, 0), call->out[1].data,
        workspace_behind(call, conv2d_packed_size(kernels_of(call), &conv)));
}

static struct kernel_needs input_gradient_needs(const struct kernel_call *call)
{
    struct conv2d conv = input_conv(call);
    return needs_of(is_steady(call, 0), conv2d_packed_backward_size(kernels_of(call), &conv),
                    size_max(conv2d_workspace(&conv), conv2d_pack_scratch(&conv)));
}

static void pack_backward(const struct kernel_call *call, void *packed)
{
    struct conv2d conv = input_conv(call);
    size_t size = conv2d_packed_backward_size(kernels_of(call), &conv);
    conv2d_pack_backward(kernels_of(call), &conv, float_input(call, 0), packed,
                         workspace_behind(call, size));
}

static void conv2d_input_gradient(const struct kernel_call *call)
{
    struct conv2d conv = input_conv(call);
    const float *packed = call->packed;
    if (packed == NULL) {
        pack_backward(call, call->workspace);
        packed = call->workspace;
    }
    conv2d_backward_data(
        kernels_of(call), &conv, float_input(call, 1), packed, float_output(call, 0),
        workspace_behind(call, conv2d_packed_backward_size(kernels_of(call), &conv)));
}

static struct kernel_needs weights_gradient_needs(const struct kernel_call *call)
{
    struct conv2d conv = conv_of(call, &call->in[0].shape, &call->out[0].shape);
    return needs_floats(conv2d_workspace(&conv), 0);
}

static void conv2d_weights_gradient(const struct kernel_call *call)
{
    struct conv2d conv = conv_of(call, &call->in[0].shape, &call->out[0].shape);
    conv2d_backward_weights(kernels_of(call), &conv, float_input(call, 0), float_input(call, 1),
                            false, float_output(call, 0), call->workspace);
}

/* --------------------------------- the gradients of a pooled convolution */

static struct conv2d pooled_conv(const struct kernel_call *call)
{
    return conv_of(call, &call->in[0].shape, &call->out[0].shape);
}

static bool has_input_gradient(const struct kernel_call *call)
{
    return call->node->op == &op_conv2d_pool_all_gradients;
}

/* Floats of the results of one image before pooling, in lines. */
static size_t before_pooling(const struct conv2d *conv)
{
    size_t floats = conv2d_out_height(conv) * conv2d_out_width(conv) * conv->filters;
    return (floats + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
}

static size_t packed_for_input(const struct kernel_call *call, const struct conv2d *conv)
{
    return has_input_gradient(call) ? conv2d_packed_backward_size(kernels_of(call), conv) : 0;
}

static struct kernel_needs pool_gradients_needs(const struct kernel_call *call)
{
    struct conv2d conv = pooled_conv(call);
    size_t own = before_pooling(&conv) + conv2d_workspace(&conv);
    return needs_of(is_steady(call, 3), packed_for_input(call, &conv),
                    size_max(own, conv2d_pack_scratch(&conv)));
}

static void pack_for_input(const struct kernel_call *call, void *packed)
{
    struct conv2d conv = pooled_conv(call);
    conv2d_pack_backward(kernels_of(call), &conv, float_input(call, 3), packed,
                         workspace_behind(call, packed_for_input(call, &conv)));
}

static struct pool2d pool_of_image(const struct kernel_call *call, const struct conv2d *conv)
{
    const size_t side = (size_t)call->node->attributes.integers[WINDOW_POOL_SIDE];
    return (struct pool2d){
        .batch = 1,
        .height = conv2d_out_height(conv),
        .width = conv2d_out_width(conv),
        .channels = conv->filters,
        .window_height = side,
        .window_width = side,
        .stride_height = side,
        .stride_width = side,
        .out_height = conv2d_out_height(conv) / side,
        .out_width = conv2d_out_width(conv) / side,
    };
}

/* Image by image: sums go on where those of the image before have ended, as over the whole
 * batch. */
static void pool_gradients(const struct kernel_call *call)
{
    const struct portable *kernels = kernels_of(call);
    struct conv2d conv = pooled_conv(call);
    const struct pool2d pool = pool_of_image(call, &conv);
    const size_t batch = conv.batch, pixels = pool.height * pool.width;
    const size_t pooled = pool.out_height * pool.out_width * pool.channels;
    const size_t image = conv.height * conv.width * conv.channels;
    float *dy = workspace_behind(call, packed_for_input(call, &conv));
    float *workspace = dy + before_pooling(&conv);
    const float *packed = call->packed;
    if (packed == NULL && has_input_gradient(call)) {
        pack_for_input(call, call->workspace);
        packed = call->workspace;
    }
    conv.batch = 1;
    for (size_t n = 0; n < batch; n++) {
        kernels->pool->max_backward(&pool, float_input(call, 2) + n * pooled,
                                    (const uint8_t *)call->in[1].data + n * pooled, dy);
        kernels->reduce->sum_rows(pixels, conv.filters, dy, conv.filters, n > 0,
                                  float_output(call, 1));
        conv2d_backward_weights(kernels, &conv, float_input(call, 0) + n * image, dy, n > 0,
                                float_output(call, 0), workspace);
        if (has_input_gradient(call)) {
            conv2d_backward_data(kernels, &conv, dy, packed, float_output(call, 2) + n * image,
                                 workspace);
        }
    }
}

const struct portable_row portable_conv[] = {
    {&op_conv2d, conv2d, conv2d_needs, pack},
    {&op_conv2d_add, conv2d_add, conv2d_needs, pack},
    {&op_conv2d_add_relu, conv2d_add_relu, conv2d_needs, pack},
    {&op_conv2d_add_relu_max_pool, conv2d_add_relu_max_pool, pooled_needs, pack},
    {&op_conv2d_input_gradient, conv2d_input_gradient, input_gradient_needs, pack_backward},
    {&op_conv2d_weights_gradient, conv2d_weights_gradient, weights_gradient_needs, NULL},
    {&op_conv2d_pool_gradients, pool_gradients, pool_gradients_needs, NULL},
    {&op_conv2d_pool_all_gradients, pool_gradients, pool_gradients_needs, pack_for_input},
    {NULL, NULL, NULL, NULL},
};
