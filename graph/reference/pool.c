/* graph/reference/pool.c: the greatest element and the mean of windows, and their gradients. */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/reference/real.h"

/* A window's first pixel, perhaps outside the image, and the part that is inside: pixels [top,
 * bottom) x [left, right). */
struct part {
    int64_t first_row, first_column, top, bottom, left, right;
};

static void clip_range(int64_t first, int64_t window, int64_t size, int64_t *from, int64_t *to)
{
    *from = first < 0 ? (int64_t)0 : first;
    *to = first + window;
    if (*to > size) { *to = size; }
}

static struct part part_of(const struct tn_shape *x, const int64_t *window, int64_t r, int64_t c)
{
    struct part part = {
        .first_row = r * window[WINDOW_STRIDE_Y] - window[WINDOW_TOP],
        .first_column = c * window[WINDOW_STRIDE_X] - window[WINDOW_LEFT],
    };
    clip_range(part.first_row, window[WINDOW_HEIGHT], x->dims[1], &part.top, &part.bottom);
    clip_range(part.first_column, window[WINDOW_WIDTH], x->dims[2], &part.left, &part.right);
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

/* The place in the window of the greatest element: the first if several are equal, the last NaN if
 * there is one. `*where` is its offset in x. */
static int64_t greatest(const struct kernel_call *call, const struct tn_shape *x,
                        const struct part *part, int64_t image, int64_t channel, int64_t *where)
{
    const real *data = real_input(call, 0);
    int64_t width = call->node->attributes.integers[WINDOW_WIDTH], best = -1;
    for (int64_t row = part->top; row < part->bottom; row++) {
        for (int64_t column = part->left; column < part->right; column++) {
            int64_t place = at(x, image, row, column, channel);
            if (best < 0 || data[place] > data[*where] || isnan(data[place])) {
                best = (row - part->first_row) * width + column - part->first_column;
                *where = place;
            }
        }
    }
    return best;
}

static void find_greatest(const struct kernel_call *call, const struct tn_shape *x,
                          const struct part *part, int64_t image, int64_t channel, int64_t result)
{
    int64_t where = 0, place = greatest(call, x, part, image, channel, &where);
    real_output(call, 0)[result] = real_input(call, 0)[where];
    if (call->out[1].type == TN_UINT8) {
        ((uint8_t *)call->out[1].data)[result] = (uint8_t)place;
    } else {
        ((int32_t *)call->out[1].data)[result] = (int32_t)place;
    }
}

static void give_to_greatest(const struct kernel_call *call, const struct tn_shape *x,
                             const struct part *part, int64_t image, int64_t channel,
                             int64_t result)
{
    int64_t width = call->node->attributes.integers[WINDOW_WIDTH];
    int64_t place = integer_at(&call->in[0], result);
    int64_t row = part->first_row + place / width, column = part->first_column + place % width;
    real_output(call, 0)[at(x, image, row, column, channel)] += real_input(call, 1)[result];
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
