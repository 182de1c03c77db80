/* graph/reference/pool.c: the greatest element and the mean of windows, and their gradients. */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/reference/real.h"

/* The part of a window that is inside the image: pixels [top, bottom) x [left, right). */
struct part {
    int64_t top, bottom, left, right;
};

static void clip_range(int64_t first, int64_t window, int64_t size, int64_t *from, int64_t *to)
{
    *from = first < 0 ? (int64_t)0 : first;
    *to = first + window;
    if (*to > size) { *to = size; }
}

static struct part part_of(const struct tn_shape *x, const int64_t *window, int64_t r, int64_t c)
{
    struct part part;
    clip_range(r * window[WINDOW_STRIDE_Y] - window[WINDOW_TOP], window[WINDOW_HEIGHT], x->dims[1],
               &part.top, &part.bottom);
    clip_range(c * window[WINDOW_STRIDE_X] - window[WINDOW_LEFT], window[WINDOW_WIDTH], x->dims[2],
               &part.left, &part.right);
    return part;
}

static int64_t at(const struct tn_shape *x, int64_t image, int64_t row, int64_t column,
                  int64_t channel)
{
    return ((image * x->dims[1] + row) * x->dims[2] + column) * x->dims[3] + channel;
}

/* A window's work: element `result` of y, channel `channel` of image `image`. */
typedef void (*window_work)(const struct kernel_call *call, const struct tn_shape *x,
                            const struct part *part, int64_t image, int64_t channel,
                            int64_t result);

/* Do the work for each element of y, in ascending order. */
static void for_each_window(const struct kernel_call *call, const struct tn_shape *x,
                            const struct tn_shape *y, window_work work)
{
    int64_t result = 0;
    for (int64_t image = 0; image < y->dims[0]; image++) {
        for (int64_t r = 0; r < y->dims[1]; r++) {
            for (int64_t c = 0; c < y->dims[2]; c++) {
                struct part part = part_of(x, call->node->attributes.integers, r, c);
                for (int64_t channel = 0; channel < y->dims[3]; channel++) {
                    work(call, x, &part, image, channel, result++);
                }
            }
        }
    }
}

/* The place of the greatest element: the first if several are equal, the last NaN if there is one.
 */
static int64_t greatest(const real *data, const struct tn_shape *x, const struct part *part,
                        int64_t image, int64_t channel)
{
    int64_t best = at(x, image, part->top, part->left, channel);
    for (int64_t row = part->top; row < part->bottom; row++) {
        for (int64_t column = part->left; column < part->right; column++) {
            int64_t place = at(x, image, row, column, channel);
            if (data[place] > data[best] || isnan(data[place])) { best = place; }
        }
    }
    return best;
}

static void find_greatest(const struct kernel_call *call, const struct tn_shape *x,
                          const struct part *part, int64_t image, int64_t channel, int64_t result)
{
    const real *data = real_input(call, 0);
    real_output(call, 0)[result] = data[greatest(data, x, part, image, channel)];
}

static void give_to_greatest(const struct kernel_call *call, const struct tn_shape *x,
                             const struct part *part, int64_t image, int64_t channel,
                             int64_t result)
{
    int64_t place = greatest(real_input(call, 0), x, part, image, channel);
    real_output(call, 0)[place] += real_input(call, 1)[result];
}

static real size_of(const struct part *part)
{
    return (real)((part->bottom - part->top) * (part->right - part->left));
}

static void find_mean(const struct kernel_call *call, const struct tn_shape *x,
                      const struct part *part, int64_t image, int64_t channel, int64_t result)
{
    const real *data = real_input(call, 0);
    real sum = 0;
    for (int64_t row = part->top; row < part->bottom; row++) {
        for (int64_t column = part->left; column < part->right; column++) {
            sum += data[at(x, image, row, column, channel)];
        }
    }
    real_output(call, 0)[result] = sum / size_of(part);
}

static void give_to_all(const struct kernel_call *call, const struct tn_shape *x,
                        const struct part *part, int64_t image, int64_t channel, int64_t result)
{
    real share = real_input(call, 0)[result] / size_of(part);
    for (int64_t row = part->top; row < part->bottom; row++) {
        for (int64_t column = part->left; column < part->right; column++) {
            real_output(call, 0)[at(x, image, row, column, channel)] += share;
        }
    }
}

static void max_pool(const struct kernel_call *call)
{
    for_each_window(call, &call->in[0].shape, &call->out[0].shape, find_greatest);
}

static void max_pool_gradient(const struct kernel_call *call)
{
    memset(call->out[0].data, 0, (size_t)output_elements(call) * sizeof(real));
    for_each_window(call, &call->out[0].shape, &call->in[1].shape, give_to_greatest);
}

static void mean_pool(const struct kernel_call *call)
{
    for_each_window(call, &call->in[0].shape, &call->out[0].shape, find_mean);
}

static void mean_pool_gradient(const struct kernel_call *call)
{
    memset(call->out[0].data, 0, (size_t)output_elements(call) * sizeof(real));
    for_each_window(call, &call->out[0].shape, &call->in[0].shape, give_to_all);
}

const struct kernel_row REAL(reference_pool)[] = {
    {&op_max_pool, max_pool},
    {&op_max_pool_gradient, max_pool_gradient},
    {&op_mean_pool, mean_pool},
    {&op_mean_pool_gradient, mean_pool_gradient},
    {NULL, NULL},
};
