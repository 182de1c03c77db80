#include "graph/ops/window.h"

#include <inttypes.h>

#include "common/base/minmax.h"

enum { WINDOW_MAX = 1 << 20 };

/* The padding that makes ceil(size / stride) results: the smaller half comes first. */
static void pad_same(int64_t size, int64_t window, int64_t stride, int64_t *before, int64_t *after)
{
    int64_t covered = ((size + stride - 1) / stride - 1) * stride + window;
    int64_t total = covered > size ? covered - size : 0;
    *before = total / 2;
    *after = total - total / 2;
}

static bool is_valid(int64_t window, int64_t stride, int64_t before, int64_t after)
{
    return window <= WINDOW_MAX && stride <= WINDOW_MAX && before < window && after < window;
}

enum tn_status window_resolve(const struct tn_shape *x, const struct tn_window *window,
                              struct attributes *attributes, struct error *error)
{
    assert(window != NULL && attributes != NULL);
    int64_t *integers = attributes->integers;
    if (x->rank != 4) {
        return error_set(error, TN_EINVAL,
                         "the images must have the shape [batch, height, width, "
                         "channels]: use tn_reshape()");
    }
    integers[WINDOW_HEIGHT] = u32_max(window->height, 1);
    integers[WINDOW_WIDTH] = u32_max(window->width, 1);
    integers[WINDOW_STRIDE_Y] = u32_max(window->stride_height, 1);
    integers[WINDOW_STRIDE_X] = u32_max(window->stride_width, 1);
    integers[WINDOW_TOP] = window->top;
    integers[WINDOW_LEFT] = window->left;
    integers[WINDOW_BOTTOM] = window->bottom;
    integers[WINDOW_RIGHT] = window->right;
    if (window->same) {
        pad_same(x->dims[1], integers[WINDOW_HEIGHT], integers[WINDOW_STRIDE_Y],
                 &integers[WINDOW_TOP], &integers[WINDOW_BOTTOM]);
        pad_same(x->dims[2], integers[WINDOW_WIDTH], integers[WINDOW_STRIDE_X],
                 &integers[WINDOW_LEFT], &integers[WINDOW_RIGHT]);
    }
    if (is_valid(integers[WINDOW_HEIGHT], integers[WINDOW_STRIDE_Y], integers[WINDOW_TOP],
                 integers[WINDOW_BOTTOM]) &&
        is_valid(integers[WINDOW_WIDTH], integers[WINDOW_STRIDE_X], integers[WINDOW_LEFT],
                 integers[WINDOW_RIGHT])) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "a window of %" PRId64 " x %" PRId64 " with padding of %" PRId64 ", %" PRId64
                     ", %" PRId64 ", %" PRId64 ": padding must be smaller than the window",
                     integers[WINDOW_HEIGHT], integers[WINDOW_WIDTH], integers[WINDOW_TOP],
                     integers[WINDOW_LEFT], integers[WINDOW_BOTTOM], integers[WINDOW_RIGHT]);
}

int64_t window_results(const struct tn_shape *x, const int64_t *integers, bool vertical)
{
    int64_t size = vertical ? x->dims[1] + integers[WINDOW_TOP] + integers[WINDOW_BOTTOM]
                            : x->dims[2] + integers[WINDOW_LEFT] + integers[WINDOW_RIGHT];
    int64_t window = integers[vertical ? WINDOW_HEIGHT : WINDOW_WIDTH];
    int64_t stride = integers[vertical ? WINDOW_STRIDE_Y : WINDOW_STRIDE_X];
    return size < window ? 0 : (size - window) / stride + 1;
}

int64_t window_tile(const int64_t *integers)
{
    const int64_t side = integers[WINDOW_HEIGHT];
    const bool is_square = integers[WINDOW_WIDTH] == side && integers[WINDOW_STRIDE_Y] == side &&
                           integers[WINDOW_STRIDE_X] == side;
    const int64_t padding = integers[WINDOW_TOP] + integers[WINDOW_LEFT] + integers[WINDOW_BOTTOM] +
                            integers[WINDOW_RIGHT];
    return is_square && padding == 0 ? side : 0;
}
