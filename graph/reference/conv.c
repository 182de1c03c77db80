/*
 * graph/reference/conv.c: convolution and its two gradients, by the definition. Each result has one
 * accumulator; padding contributes nothing.
 */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "graph/reference/real.h"

/* The sizes of one convolution. */
struct geometry {
    const int64_t *window;                  /* Integers of ops/window.h. */
    int64_t batch, height, width, channels; /* The images'. */
    int64_t rows, columns, filters;         /* The results'. */
    int64_t group_channels, group_filters;
};

static struct geometry geometry_of(const struct kernel_call *call, const struct tn_shape *x,
                                   const struct tn_shape *y)
{
    const int64_t *window = call->node->attributes.integers;
    int64_t groups = window[WINDOW_GROUPS];
    return (struct geometry){
        .window = window,
        .batch = x->dims[0],
        .height = x->dims[1],
        .width = x->dims[2],
        .channels = x->dims[3],
        .rows = y->dims[1],
        .columns = y->dims[2],
        .filters = y->dims[3],
        .group_channels = x->dims[3] / groups,
        .group_filters = y->dims[3] / groups,
    };
}

/* The pixel under place (a, b) of the window of result (r, c), as an offset of its first channel;
 * -1: it is padding. */
static int64_t pixel_at(const struct geometry *g, int64_t image, int64_t r, int64_t c, int64_t a,
                        int64_t b)
{
    int64_t y = r * g->window[WINDOW_STRIDE_Y] + a - g->window[WINDOW_TOP];
    int64_t x = c * g->window[WINDOW_STRIDE_X] + b - g->window[WINDOW_LEFT];
    if (y < 0 || y >= g->height || x < 0 || x >= g->width) { return -1; }
    return ((image * g->height + y) * g->width + x) * g->channels;
}

static int64_t result_at(const struct geometry *g, int64_t image, int64_t r, int64_t c)
{
    return ((image * g->rows + r) * g->columns + c) * g->filters;
}

static int64_t weight_at(const struct geometry *g, int64_t a, int64_t b, int64_t channel)
{
    return ((a * g->window[WINDOW_WIDTH] + b) * g->group_channels + channel) * g->filters;
}

/* One result: the inner product of a window and a filter. */
static double result_of(const struct geometry *g, const real *x, const real *weights, int64_t image,
                        int64_t r, int64_t c, int64_t filter)
{
    int64_t first = filter / g->group_filters * g->group_channels;
    double sum = 0;
    for (int64_t a = 0; a < g->window[WINDOW_HEIGHT]; a++) {
        for (int64_t b = 0; b < g->window[WINDOW_WIDTH]; b++) {
            int64_t pixel = pixel_at(g, image, r, c, a, b);
            if (pixel < 0) { continue; }
            const real *in = x + pixel + first;
            const real *w = weights + weight_at(g, a, b, 0) + filter;
            for (int64_t k = 0; k < g->group_channels; k++) {
                sum += (double)in[k] * (double)w[k * g->filters];
            }
        }
    }
    return sum;
}

/* One result of conv2d_add_relu_max_pool, and its place: each value in the bits of the parts. */
static real greatest_of(const struct geometry *g, const struct kernel_call *call, int64_t image,
                        int64_t r, int64_t c, int64_t f, uint8_t *which)
{
    const int64_t side = g->window[WINDOW_POOL_SIDE];
    real best = 0;
    for (int64_t place = 0; place < side * side; place++) {
        int64_t row = r * side + place / side, column = c * side + place % side;
        real value =
            (real)result_of(g, real_input(call, 0), real_input(call, 1), image, row, column, f);
        value += real_input(call, 2)[f];
        if (value < 0) { value = 0; }
        if (place > 0 && !(value > best) && !isnan(value)) { continue; }
        best = value;
        *which = (uint8_t)place;
    }
    return best;
}

void REAL(reference_pooled_convolution)(const struct kernel_call *call)
{
    struct geometry g = geometry_of(call, &call->in[0].shape, &call->out[0].shape);
    real *out = real_output(call, 0);
    uint8_t *which = call->out[1].data;
    for (int64_t i = 0; i < output_elements(call); i++) {
        int64_t f = i % g.filters, c = i / g.filters % g.columns;
        int64_t r = i / g.filters / g.columns % g.rows;
        int64_t image = i / g.filters / g.columns / g.rows;
        out[i] = greatest_of(&g, call, image, r, c, f, &which[i]);
    }
}

void REAL(reference_convolution)(const struct kernel_call *call)
{
    struct geometry g = geometry_of(call, &call->in[0].shape, &call->out[0].shape);
    const real *x = real_input(call, 0), *weights = real_input(call, 1);
    real *out = real_output(call, 0);
    for (int64_t image = 0; image < g.batch; image++) {
        for (int64_t r = 0; r < g.rows; r++) {
            for (int64_t c = 0; c < g.columns; c++) {
                for (int64_t f = 0; f < g.filters; f++) {
                    *out++ = (real)result_of(&g, x, weights, image, r, c, f);
                }
            }
        }
    }
}

/* The gradients of the results: as they are, or with `place` where the maxima of squares were. */
struct slopes {
    const real *dy;
    const uint8_t *place; /* NULL: not pooled. */
    int64_t side;
};

static real slope_at(const struct geometry *g, const struct slopes *slopes, int64_t image,
                     int64_t r, int64_t c, int64_t filter)
{
    if (slopes->place == NULL) { return slopes->dy[result_at(g, image, r, c) + filter]; }
    const int64_t rows = g->rows / slopes->side, columns = g->columns / slopes->side;
    const int64_t row = r / slopes->side, column = c / slopes->side;
    if (row >= rows || column >= columns) { return 0; }
    const int64_t at = ((image * rows + row) * columns + column) * g->filters + filter;
    const int64_t here = r % slopes->side * slopes->side + c % slopes->side;
    return slopes->place[at] == here ? slopes->dy[at] : (real)0;
}

/* The gradient of one weight: over all results in ascending order. */
static double weight_gradient(const struct geometry *g, const real *x, const struct slopes *slopes,
                              int64_t a, int64_t b, int64_t channel, int64_t filter)
{
    int64_t first = filter / g->group_filters * g->group_channels;
    double sum = 0;
    for (int64_t image = 0; image < g->batch; image++) {
        for (int64_t r = 0; r < g->rows; r++) {
            for (int64_t c = 0; c < g->columns; c++) {
                int64_t pixel = pixel_at(g, image, r, c, a, b);
                if (pixel < 0) { continue; }
                sum += (double)x[pixel + first + channel] *
                       (double)slope_at(g, slopes, image, r, c, filter);
            }
        }
    }
    return sum;
}

static void weights_gradient(const struct geometry *g, const real *x, const struct slopes *slopes,
                             real *out)
{
    for (int64_t a = 0; a < g->window[WINDOW_HEIGHT]; a++) {
        for (int64_t b = 0; b < g->window[WINDOW_WIDTH]; b++) {
            for (int64_t k = 0; k < g->group_channels; k++) {
                for (int64_t f = 0; f < g->filters; f++) {
                    *out++ = (real)weight_gradient(g, x, slopes, a, b, k, f);
                }
            }
        }
    }
}

static void conv2d_weights_gradient(const struct kernel_call *call)
{
    struct geometry g = geometry_of(call, &call->in[0].shape, &call->in[1].shape);
    const struct slopes slopes = {.dy = real_input(call, 1)};
    weights_gradient(&g, real_input(call, 0), &slopes, real_output(call, 0));
}

/* Add the gradient of one result to the pixels under its window. */
static void spread(const struct geometry *g, const real *weights, const struct slopes *slopes,
                   int64_t image, int64_t r, int64_t c, real *out)
{
    for (int64_t a = 0; a < g->window[WINDOW_HEIGHT]; a++) {
        for (int64_t b = 0; b < g->window[WINDOW_WIDTH]; b++) {
            int64_t pixel = pixel_at(g, image, r, c, a, b);
            if (pixel < 0) { continue; }
            for (int64_t channel = 0; channel < g->channels; channel++) {
                int64_t group = channel / g->group_channels, k = channel % g->group_channels;
                const real *w = weights + weight_at(g, a, b, k) + group * g->group_filters;
                double sum = 0;
                for (int64_t f = 0; f < g->group_filters; f++) {
                    int64_t filter = group * g->group_filters + f;
                    sum += (double)w[f] * (double)slope_at(g, slopes, image, r, c, filter);
                }
                out[pixel + channel] += (real)sum;
            }
        }
    }
}

static void input_gradient(const struct geometry *g, const real *weights,
                           const struct slopes *slopes, real *out)
{
    memset(out, 0, (size_t)(g->batch * g->height * g->width * g->channels) * sizeof(real));
    for (int64_t image = 0; image < g->batch; image++) {
        for (int64_t r = 0; r < g->rows; r++) {
            for (int64_t c = 0; c < g->columns; c++) {
                spread(g, weights, slopes, image, r, c, out);
            }
        }
    }
}

static void conv2d_input_gradient(const struct kernel_call *call)
{
    struct geometry g = geometry_of(call, &call->out[0].shape, &call->in[1].shape);
    const struct slopes slopes = {.dy = real_input(call, 1)};
    input_gradient(&g, real_input(call, 0), &slopes, real_output(call, 0));
}

/* The results before pooling are known by their number alone. */
static void pool_gradients(const struct kernel_call *call)
{
    const struct tn_shape *x = &call->in[0].shape, *weights = &call->out[0].shape;
    const int64_t *window = call->node->attributes.integers;
    const struct tn_shape results = {
        .rank = 4,
        .dims = {x->dims[0], window_results(x, window, true), window_results(x, window, false),
                 weights->dims[3]},
    };
    const struct slopes slopes = {real_input(call, 2), call->in[1].data, window[WINDOW_POOL_SIDE]};
    struct geometry g = geometry_of(call, x, &results);
    real *bias = real_output(call, 1);
    weights_gradient(&g, real_input(call, 0), &slopes, real_output(call, 0));
    memset(bias, 0, (size_t)g.filters * sizeof *bias);
    for (int64_t i = 0; i < shape_elements(&results); i++) {
        int64_t f = i % g.filters, c = i / g.filters % g.columns;
        int64_t r = i / g.filters / g.columns % g.rows;
        bias[f] += slope_at(&g, &slopes, i / g.filters / g.columns / g.rows, r, c, f);
    }
    if (call->node->op->outputs > 2) {
        input_gradient(&g, real_input(call, 3), &slopes, real_output(call, 2));
    }
}

const struct kernel_row REAL(reference_conv)[] = {
    {&op_conv2d, REAL(reference_convolution)},
    {&op_conv2d_input_gradient, conv2d_input_gradient},
    {&op_conv2d_weights_gradient, conv2d_weights_gradient},
    {&op_conv2d_pool_gradients, pool_gradients},
    {&op_conv2d_pool_all_gradients, pool_gradients},
    {NULL, NULL},
};
