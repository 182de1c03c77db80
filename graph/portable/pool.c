/* graph/portable/pool.c: max and mean pooling. Maxima of windows with more places than a byte can
 * count run in plain C, which only compares and adds. */
#include "kernels/portable/pool.h"

#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/portable/table.h"
#include "graph/reference/backend.h"

static struct pool2d pool_of(const struct kernel_call *call, const struct tn_shape *x,
                             const struct tn_shape *y)
{
    const int64_t *integers = call->node->attributes.integers;
    return (struct pool2d){
        .batch = (size_t)x->dims[0],
        .height = (size_t)x->dims[1],
        .width = (size_t)x->dims[2],
        .channels = (size_t)x->dims[3],
        .window_height = (size_t)integers[WINDOW_HEIGHT],
        .window_width = (size_t)integers[WINDOW_WIDTH],
        .stride_height = (size_t)integers[WINDOW_STRIDE_Y],
        .stride_width = (size_t)integers[WINDOW_STRIDE_X],
        .top = (size_t)integers[WINDOW_TOP],
        .left = (size_t)integers[WINDOW_LEFT],
        .out_height = (size_t)y->dims[1],
        .out_width = (size_t)y->dims[2],
    };
}

static void max_pool(const struct kernel_call *call)
{
    struct pool2d pool = pool_of(call, &call->in[0].shape, &call->out[0].shape);
    if (call->out[1].type != TN_UINT8) {
        backend_reference()->find (&op_max_pool)(call);
        return;
    }
    kernels_of(call)->pool->max_forward(&pool, float_input(call, 0), float_output(call, 0),
                                        call->out[1].data);
}

static void max_pool_gradient(const struct kernel_call *call)
{
    struct pool2d pool = pool_of(call, &call->out[0].shape, &call->in[1].shape);
    if (call->in[0].type != TN_UINT8) {
        backend_reference()->find (&op_max_pool_gradient)(call);
        return;
    }
    kernels_of(call)->pool->max_backward(&pool, float_input(call, 1), call->in[0].data,
                                         float_output(call, 0));
}

static void mean_pool(const struct kernel_call *call)
{
    struct pool2d pool = pool_of(call, &call->in[0].shape, &call->out[0].shape);
    kernels_of(call)->pool->mean_forward(&pool, float_input(call, 0), float_output(call, 0));
}

static void mean_pool_gradient(const struct kernel_call *call)
{
    struct pool2d pool = pool_of(call, &call->out[0].shape, &call->in[0].shape);
    kernels_of(call)->pool->mean_backward(&pool, float_input(call, 0), float_output(call, 0));
}

const struct portable_row portable_pool[] = {
    {&op_max_pool, max_pool, NULL, NULL},
    {&op_max_pool_gradient, max_pool_gradient, NULL, NULL},
    {&op_mean_pool, mean_pool, NULL, NULL},
    {&op_mean_pool_gradient, mean_pool_gradient, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
