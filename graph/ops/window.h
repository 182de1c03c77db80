/*
 * graph/ops/window.h: windows that move over images, as attributes of operations, and the size of
 * their results. Pure.
 */
#ifndef GRAPH_OPS_WINDOW_H
#define GRAPH_OPS_WINDOW_H

#include "graph/core/node.h"

/* The integers of an operation with a window, with all defaults in place. */
enum window_integer {
    WINDOW_HEIGHT,
    WINDOW_WIDTH,
    WINDOW_STRIDE_Y,
    WINDOW_STRIDE_X,
    WINDOW_TOP,
    WINDOW_LEFT,
    WINDOW_BOTTOM,
    WINDOW_RIGHT,
    WINDOW_GROUPS,    /* Convolutions only. */
    WINDOW_POOL_SIDE, /* Convolutions with pooling only. */
};

/*
 * Write the integers of `window` over images of shape x[batch][height][width][channels] to
 * `attributes`. TN_EINVAL: x has another rank, a number is out of range, or a padding is as large
 * as the window, so that a result would depend on no element.
 */
MUST_CHECK enum tn_status window_resolve(const struct tn_shape *x, const struct tn_window *window,
                                         struct attributes *attributes, struct error *error);

/* The number of rows (`vertical`) or columns of the result; less than 1: the window is too
 * large. */
int64_t window_results(const struct tn_shape *x, const int64_t *integers, bool vertical);

/* The side of windows that are squares without gaps, overlaps or padding; 0: they are others. */
int64_t window_tile(const int64_t *integers);

#endif
