/*
 * kernels/cuda/product.c: matrix products, and convolutions as matrix products whose operands are
 * read in place.
 *
 * The bits are those of kernels/portable/product.h: each output has one accumulator, which takes
 * fma(a, b, accumulator) for k ascending. A block computes TILE x TILE outputs; strips of STRIP
 * places of k pass through shared memory. Places of padding take part as zeros.
 */
#include "kernels/cuda/product.h"

enum {
    TILE = PRODUCT_TILE,
    STRIP = 16,
    PRODUCT_THREADS = 256,
    EACH = TILE * TILE / PRODUCT_THREADS
};

/* The sizes of a product of `batch` pairs, m x k by k x n. */
struct sizes {
    size_t batch, m, n, k;
    enum product_places places;
};

static inline size_t tiles_of(size_t size)
{
    return (size + TILE - 1) / TILE;
}

static inline size_t blocks_of(const struct sizes *sizes)
{
    return sizes->batch * tiles_of(sizes->m) * tiles_of(sizes->n);
}

/*
 * A kernel for tasks of struct `type`, which begins with `sizes`: LEFT(a, pair, i, k) and
 * RIGHT(a, pair, k, j) read an element of an operand, OUT(a, pair, i, j) is an offset in a.out.
 */
#define PRODUCT(name, type, LEFT, RIGHT, OUT)                                                      \
    KERNEL(name, struct type)                                                                      \
    {                                                                                              \
        SHARED_FLOATS(left, STRIP *TILE);                                                          \
        SHARED_FLOATS(right, STRIP *TILE);                                                         \
        const size_t across = (a.sizes.n + TILE - 1) / TILE, down = (a.sizes.m + TILE - 1) / TILE; \
        const size_t pair = BLOCK / across / down, row = BLOCK / across % down * TILE;             \
        const size_t column = BLOCK % across * TILE, j = column + THREAD % TILE;                   \
        const uint32_t lane = THREAD % TILE, first = THREAD / TILE;                                \
        float sum[EACH] = {0};                                                                     \
        for (uint32_t r = 0; r < EACH; r++) {                                                      \
            const size_t i = row + first + r * (TILE / EACH);                                      \
            const bool is_inside = i < a.sizes.m && j < a.sizes.n;                                 \
            if (a.accumulate && is_inside) { sum[r] = a.out[OUT(&a, pair, i, j)]; }                \
        }                                                                                          \
        size_t k = a.sizes.places == PRODUCT_FROM_ROW ? row : 0, end = a.sizes.k;                  \
        if (a.sizes.places == PRODUCT_TO_ROW && row + TILE < end) { end = row + TILE; }            \
        for (; k < end; k += STRIP) {                                                              \
            const size_t left_over = end - k;                                                      \
            const uint32_t depth = left_over < STRIP ? (uint32_t)left_over : STRIP;                \
            for (uint32_t e = THREAD; e < depth * TILE; e += PRODUCT_THREADS) {                    \
                const size_t p = k + e / TILE, i = row + e % TILE, c = column + e % TILE;          \
                SHARED_STORE(left, e, i < a.sizes.m ? LEFT(&a, pair, i, p) : 0.0F);                \
                SHARED_STORE(right, e, c < a.sizes.n ? RIGHT(&a, pair, p, c) : 0.0F);              \
            }                                                                                      \
            BARRIER();                                                                             \
            for (uint32_t p = 0; p < depth; p++) {                                                 \
                const float y = SHARED_LOAD(right, p * TILE + lane);                               \
                for (uint32_t r = 0; r < EACH; r++) {                                              \
                    const uint32_t i = first + r * (TILE / EACH);                                  \
                    sum[r] = FMA(SHARED_LOAD(left, p * TILE + i), y, sum[r]);                      \
                }                                                                                  \
            }                                                                                      \
            BARRIER();                                                                             \
        }                                                                                          \
        for (uint32_t r = 0; r < EACH; r++) {                                                      \
            const size_t i = row + first + r * (TILE / EACH);                                      \
            if (i >= a.sizes.m || j >= a.sizes.n) { continue; }                                    \
            if (a.bias != NULL) { sum[r] = sum[r] + a.bias[pair * a.bias_step + j]; }              \
            if (a.relu) { sum[r] = wide_relu(sum[r]); }                                            \
            a.out[OUT(&a, pair, i, j)] = sum[r];                                                   \
        }                                                                                          \
    }

/* ------------------------------------------------------ matrices */

struct matmul_task {
    struct sizes sizes;
    struct cuda_operand left, right;
    float *out;
    const float *bias;
    size_t bias_step;
    bool accumulate, relu;
};

DEVICE_INLINE float operand_at(const struct cuda_operand *x, size_t pair, size_t i, size_t j)
{
    return x->data[pair * x->batch + i * x->row + j * x->column];
}

DEVICE_INLINE float left_of(const struct matmul_task *a, size_t pair, size_t i, size_t k)
{
    return operand_at(&a->left, pair, i, k);
}

DEVICE_INLINE float right_of(const struct matmul_task *a, size_t pair, size_t k, size_t j)
{
    return operand_at(&a->right, pair, k, j);
}

DEVICE_INLINE size_t out_of(const struct matmul_task *a, size_t pair, size_t i, size_t j)
{
    return (pair * a->sizes.m + i) * a->sizes.n + j;
}

PRODUCT(matmul, matmul_task, left_of, right_of, out_of)

CUDA_EXPORT void product_run(const struct cuda_matmul *task, enum product_places places)
{
    struct matmul_task all = {{task->batch, task->m, task->n, task->k, places},
                              task->a,
                              task->b,
                              task->out,
                              task->bias,
                              0,
                              task->accumulate,
                              task->relu};
    const size_t blocks = blocks_of(&all.sizes);
    if (blocks > 0) { LAUNCH(matmul, blocks, PRODUCT_THREADS, all); }
}

static void run_matmul(const struct cuda_matmul *task)
{
    product_run(task, PRODUCT_ALL);
}

/* ------------------------------------------------------ convolutions: pairs are groups */

struct conv_task {
    struct sizes sizes;
    struct cuda_conv conv;
    const float *x, *weights, *dy;
    float *out;
    const float *bias;
    size_t bias_step;
    bool accumulate, relu;
    size_t channels, filters; /* In a group. */
};

/* x at place `tap` of the window of output `pixel`, which counts through all images; 0 outside. */
DEVICE_INLINE float image_at(const struct conv_task *a, size_t group, size_t pixel, size_t tap,
                             size_t channel)
{
    const struct cuda_conv *c = &a->conv;
    const size_t column = pixel % c->out_width, row = pixel / c->out_width % c->out_height;
    const size_t image = pixel / c->out_width / c->out_height;
    const size_t y = row * c->stride_height + tap / c->kernel_width;
    const size_t x = column * c->stride_width + tap % c->kernel_width;
    if (y < c->top || y - c->top >= c->height || x < c->left || x - c->left >= c->width) {
        return 0.0F;
    }
    const size_t at = (image * c->height + y - c->top) * c->width + x - c->left;
    return a->x[at * c->channels + group * a->channels + channel];
}

DEVICE_INLINE float weight_at(const struct conv_task *a, size_t group, size_t tap, size_t channel,
                              size_t filter)
{
    const size_t at = (tap * a->channels + channel) * a->conv.filters;
    return a->weights[at + group * a->filters + filter];
}

DEVICE_INLINE float forward_left(const struct conv_task *a, size_t group, size_t i, size_t k)
{
    return image_at(a, group, i, k / a->channels, k % a->channels);
}

DEVICE_INLINE float forward_right(const struct conv_task *a, size_t group, size_t k, size_t j)
{
    return weight_at(a, group, k / a->channels, k % a->channels, j);
}

DEVICE_INLINE size_t forward_out(const struct conv_task *a, size_t group, size_t i, size_t j)
{
    return i * a->conv.filters + group * a->filters + j;
}

PRODUCT(conv_forward, conv_task, forward_left, forward_right, forward_out)

/* dy where the turned kernel's place `tap` lies on it for pixel i of dx; 0 in the gaps between
 * strided gradients and outside. */
DEVICE_INLINE float data_left(const struct conv_task *a, size_t group, size_t i, size_t k)
{
    const struct cuda_conv *c = &a->conv;
    const size_t tap = k / a->filters, filter = k % a->filters;
    const size_t image = i / c->width / c->height;
    const size_t row = i / c->width % c->height + tap / c->kernel_width + c->top;
    const size_t column = i % c->width + tap % c->kernel_width + c->left;
    if (row + 1 < c->kernel_height || column + 1 < c->kernel_width) { return 0.0F; }
    const size_t y = row + 1 - c->kernel_height, x = column + 1 - c->kernel_width;
    if (y % c->stride_height != 0 || x % c->stride_width != 0) { return 0.0F; }
    const size_t out_row = y / c->stride_height, out_column = x / c->stride_width;
    if (out_row >= c->out_height || out_column >= c->out_width) { return 0.0F; }
    const size_t at = (image * c->out_height + out_row) * c->out_width + out_column;
    return a->dy[at * c->filters + group * a->filters + filter];
}

DEVICE_INLINE float data_right(const struct conv_task *a, size_t group, size_t k, size_t j)
{
    const size_t taps = a->conv.kernel_height * a->conv.kernel_width;
    return weight_at(a, group, taps - 1 - k / a->filters, j, k % a->filters);
}

DEVICE_INLINE size_t data_out(const struct conv_task *a, size_t group, size_t i, size_t j)
{
    return i * a->conv.channels + group * a->channels + j;
}

PRODUCT(conv_backward_data, conv_task, data_left, data_right, data_out)

DEVICE_INLINE float weights_left(const struct conv_task *a, size_t group, size_t i, size_t k)
{
    return image_at(a, group, k, i / a->channels, i % a->channels);
}

DEVICE_INLINE float weights_right(const struct conv_task *a, size_t group, size_t k, size_t j)
{
    return a->dy[k * a->conv.filters + group * a->filters + j];
}

DEVICE_INLINE size_t weights_out(const struct conv_task *a, size_t group, size_t i, size_t j)
{
    return i * a->conv.filters + group * a->filters + j;
}

PRODUCT(conv_backward_weights, conv_task, weights_left, weights_right, weights_out)

static struct conv_task task_of(const struct cuda_conv *conv, const float *x, const float *weights,
                                const float *dy, float *out)
{
    struct conv_task task = {{conv->groups, 0, 0, 0, PRODUCT_ALL},
                             *conv,
                             x,
                             weights,
                             dy,
                             out,
                             NULL,
                             0,
                             false,
                             false,
                             0,
                             0};
    task.channels = conv->channels / conv->groups;
    task.filters = conv->filters / conv->groups;
    return task;
}

static void run_forward(const struct cuda_conv *conv, const float *x, const float *weights,
                        const float *bias, bool relu, float *y)
{
    struct conv_task task = task_of(conv, x, weights, NULL, y);
    task.sizes.m = conv->batch * conv->out_height * conv->out_width;
    task.sizes.n = task.filters;
    task.sizes.k = conv->kernel_height * conv->kernel_width * task.channels;
    task.bias = bias;
    task.bias_step = task.filters;
    task.relu = relu;
    LAUNCH(conv_forward, blocks_of(&task.sizes), PRODUCT_THREADS, task);
}

static void run_backward_data(const struct cuda_conv *conv, const float *dy, const float *weights,
                              float *dx)
{
    struct conv_task task = task_of(conv, NULL, weights, dy, dx);
    task.sizes.m = conv->batch * conv->height * conv->width;
    task.sizes.n = task.channels;
    task.sizes.k = conv->kernel_height * conv->kernel_width * task.filters;
    LAUNCH(conv_backward_data, blocks_of(&task.sizes), PRODUCT_THREADS, task);
}

static void run_backward_weights(const struct cuda_conv *conv, const float *x, const float *dy,
                                 float *dw)
{
    struct conv_task task = task_of(conv, x, NULL, dy, dw);
    task.sizes.m = conv->kernel_height * conv->kernel_width * task.channels;
    task.sizes.n = task.filters;
    task.sizes.k = conv->batch * conv->out_height * conv->out_width;
    LAUNCH(conv_backward_weights, blocks_of(&task.sizes), PRODUCT_THREADS, task);
}

CUDA_EXPORT void CUDA_FILL(product)(struct cuda_kernels *table)
{
    table->matmul = run_matmul;
    table->conv_forward = run_forward;
    table->conv_backward_data = run_backward_data;
    table->conv_backward_weights = run_backward_weights;
}
