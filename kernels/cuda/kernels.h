/*
 * kernels/cuda/kernels.h: kernels for GPUs that have the bits of the CPU's: those of
 * kernels/portable/ and of the optimizers. The same source is compiled for GPUs and as emulation
 * (device.h); each build fills one table.
 *
 * All arrays are the device's memory. Functions start kernels and return; the owner of the device
 * waits (library.h). Sizes of 0 do nothing. Results do not depend on the number of
 * multiprocessors: work is divided by shapes alone, and each sum has one order.
 *
 * Equal bits: the contracts of the headers named here, except for the sign and payload of a NaN.
 *
 * This header is C and CUDA C++. Threads: one at a time per device.
 */
#ifndef KERNELS_CUDA_KERNELS_H
#define KERNELS_CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/portable/elementwise.h"

enum { CUDA_RANK_MAX = 6, CUDA_ARRAYS_MAX = 3 };

/* An array that is read by strides, in elements: repeated, permuted or cut. out[index] =
 * x[first + sum of index[i] * stride[i]]. */
struct cuda_strides {
    size_t stride[CUDA_RANK_MAX], first;
};

/* The shape of a result, row-major. */
struct cuda_shape {
    uint32_t rank;
    size_t dims[CUDA_RANK_MAX];
};

/* As struct optimizer_constants of kernels/optimizer/update.h. */
struct cuda_constants {
    float rate, scale, limit, decay, momentum;
    float beta1, one_minus_beta1, beta2, one_minus_beta2, root, epsilon, correction;
};

/* The optimizers of kernels/optimizer/update.h: X(name, arrays). */
#define CUDA_UPDATES(X)                                                                            \
    X(sgd, 1)                                                                                      \
    X(momentum, 2)                                                                                 \
    X(nesterov, 2)                                                                                 \
    X(adagrad, 2)                                                                                  \
    X(rmsprop, 2)                                                                                  \
    X(adam, 3)                                                                                     \
    X(adamw, 3)                                                                                    \
    X(lars, 2)                                                                                     \
    X(lamb, 3)                                                                                     \
    X(average, 1)

/* Arrays as in update.h: 0 is the values. All may be updated in place, the values, too: owners that
 * send them copy them first. */
struct cuda_update {
    size_t count;
    struct cuda_constants constants;
    const float *gradient;
    const float *in[CUDA_ARRAYS_MAX];
    float *out[CUDA_ARRAYS_MAX];
};

/* As kernels/tree_sum.h. */
struct cuda_sum_term {
    const float *left, *right;
};

/* out[b] = a[b] b[b] (+ bias) for `batch` pairs, m x k by k x n, in the order of
 * kernels/portable/product.h. Element (i, j) of matrix p is at p * batch + i * row + j * column. */
struct cuda_operand {
    const float *data;
    size_t batch, row, column;
};

/* The format to which cuBLAS or kernels round the operands of products; sums are in float32. */
enum cuda_precision { CUDA_FLOAT32, CUDA_TF32, CUDA_BF16, CUDA_PRECISIONS };

/* For products by cuBLAS; Tanist's own kernels ignore it. */
struct cuda_rounding {
    enum cuda_precision precision;
    /* CUDA_BF16: memory of the device for the rounded operands of a product, aligned to 64 bytes,
     * of cuda_rounded_bytes(). */
    void *operands;
};

struct cuda_matmul {
    size_t batch, m, n, k;
    struct cuda_operand a, b;
    float *out; /* Row-major, pairs one behind another. */
    bool accumulate;
    const float *bias; /* [n]. NULL: none. */
    bool relu;
    struct cuda_rounding rounding;
};

/* As struct conv2d of kernels/portable/conv.h. */
struct cuda_conv {
    size_t batch, height, width, channels;
    size_t kernel_height, kernel_width, filters, groups;
    size_t stride_height, stride_width, top, left;
    size_t out_height, out_width;
    struct cuda_rounding rounding;
};

/* As struct pool2d of kernels/portable/pool.h. */
struct cuda_pool {
    size_t batch, height, width, channels;
    size_t window_height, window_width, stride_height, stride_width, top, left;
    size_t out_height, out_width;
};

/* As struct softmax_rows of kernels/portable/softmax.h, without gaps: row r sees its first visible
 * + (r % period) * more columns, at most all; the others become 0. All: visible = columns. */
struct cuda_softmax {
    size_t rows, columns, period, visible, more;
    float scale;
};

/* As struct attention of kernels/portable/attention.h; all arrays are [batch][heads][queries or
 * keys][width], without gaps. */
struct cuda_attention {
    size_t batch, heads, queries, keys;
    size_t width, value_width;
    bool causal;
    float scale;
    struct cuda_rounding rounding;
};

/* The arrays of its gradient. `ds` is a workspace as large as p, the probabilities
 * [batch][heads][queries][keys]. */
struct cuda_attention_gradient {
    const float *q, *k, *v, *p, *dout;
    float *ds, *dq, *dk, *dv;
};

/* Layer norm over the columns of each row, and batch norm over the rows of each column; rows
 * without gaps. Both keep two moments of each row or column: the mean, and layer norm 1 / standard
 * deviation, batch norm the variance. */
struct cuda_norm {
    size_t rows, columns;
    double epsilon; /* Layer norm rounds it to float. */
    const float *x, *gain, *bias;
    float *y, *mean, *second;
};
/* `epsilon` and the moments are those of the norm. The gradients of gain and bias are set, not
 * added to. `dx` may be `dy`. */
struct cuda_norm_gradient {
    size_t rows, columns;
    double epsilon;
    const float *x, *gain, *mean, *second, *dy;
    float *dx, *dgain, *dbias;
};

/* As struct dropout_stream of kernels/portable/dropout.h, for `examples` from `example`. */
struct cuda_dropout {
    uint64_t key, step;
    uint32_t example;
    size_t examples, count; /* Elements of an example. */
    float rate;
};

/* Types of elements. */
enum cuda_type { CUDA_FLOAT, CUDA_BYTE, CUDA_INT, CUDA_LONG };

/* The losses of graph/ops/regress.c: X(NAME, name). */
#define CUDA_ERRORS_OF(X)                                                                          \
    X(SQUARED, squared_error)                                                                      \
    X(ABSOLUTE, absolute_error)                                                                    \
    X(HUBER, huber_error)                                                                          \
    X(SIGMOID, sigmoid_cross_entropy)

enum cuda_error {
#define X(NAME, name) CUDA_##NAME,
    CUDA_ERRORS_OF(X)
#undef X
        CUDA_ERRORS
};

struct cuda_kernels {
    /* kernels/portable/elementwise.h */
    void (*unary[ELEMENTWISE_UNARIES])(size_t count, const float *x, float *out);
    void (*gradient[ELEMENTWISE_UNARIES])(size_t count, const float *x_or_y, const float *dy,
                                          float *dx);
    void (*binary[ELEMENTWISE_BINARIES])(const struct cuda_shape *shape, const float *x,
                                         const struct cuda_strides *x_strides, const float *y,
                                         const struct cuda_strides *y_strides, float *out);
    void (*leaky_relu)(size_t count, float slope, const float *x, const float *dy, float *dx);
    void (*scale)(size_t count, float factor, const float *x, float *out);
    void (*clip)(size_t count, float low, float high, const float *x, float *out);
    void (*fill)(size_t count, float value, float *out);
    /* x to the power c, as kernels/portable/power.h has it. */
    void (*power)(size_t count, float c, const float *x, float *out);
    /* out = dy where low <= x <= high, else +0. */
    void (*clip_gradient)(size_t count, float low, float high, const float *x, const float *dy,
                          float *out);

    /* As graph/reference/arrange.c and gather.c have them. Elements have `bytes` bytes: 1, 4 or 8.
     * out[index by out_strides] = x[index by strides]; the elements between are not written. */
    void (*arrange)(const struct cuda_shape *shape, uint32_t bytes, const void *x,
                    const struct cuda_strides *strides, void *out,
                    const struct cuda_strides *out_strides);
    /* out = x as float, times `factor`. `from` is the type of x. */
    void (*cast)(size_t count, enum cuda_type from, const void *x, float factor, float *out);
    /* out = x as an integer of 4 or 8 bytes; floats that are not from 0 to below 2^31 become -1. */
    void (*cast_to_integers)(size_t count, enum cuda_type from, const void *x, uint32_t out_bytes,
                             void *out);
    /* Round to bfloat16, to the nearest and to even; a NaN stays one. The matrices of `count` pairs
     * have `lines` lines of `length` floats, at p * next + line * step; those of `out` follow one
     * another without gaps. */
    void (*round_to_bf16)(size_t count, size_t lines, size_t length, size_t next, size_t step,
                          const float *x, uint16_t *out);
    /* out[i][id of i] = 1, the others 0; NaN where the id is out of range. */
    void (*one_hot)(size_t count, const void *ids, uint32_t id_bytes, size_t depth, float *out);
    /* out[r] = 1 / the number of keys[r][first, first + count) that are not `none`, at least 1;
     * rows of keys have `each` of them. */
    void (*key_share)(size_t rows, const int64_t *keys, size_t each, size_t first, size_t count,
                      int64_t none, float *out);

    /* kernels/optimizer/update.h and kernels/kernels.h */
    struct {
#define X(name, arrays) void (*name)(const struct cuda_update *update);
        CUDA_UPDATES(X)
#undef X
    } update;
    void (*add)(size_t count, const float *from, float *into);
    /* `terms` is in the device's memory, too. */
    void (*sum_tree)(size_t count, uint32_t term_count, const struct cuda_sum_term *terms,
                     float *out);
    /* out = the sum of x[slices][count] over the tree of slices (rule A5), as tree_rows_sum() has
     * it; slices is from 1 to below 2^16. */
    void (*sum_slices)(size_t count, size_t slices, const float *x, float *out);

    /* kernels/portable/matmul.h, conv.h */
    void (*matmul)(const struct cuda_matmul *task);
    void (*conv_forward)(const struct cuda_conv *conv, const float *x, const float *weights,
                         const float *bias, bool relu, float *y);
    void (*conv_backward_data)(const struct cuda_conv *conv, const float *dy, const float *weights,
                               float *dx);
    void (*conv_backward_weights)(const struct cuda_conv *conv, const float *x, const float *dy,
                                  float *dw);

    /* kernels/portable/reduce.h. */
    void (*sum_columns)(size_t rows, size_t columns, const float *matrix, float *out);
    /* out[index] = the sum, from +0, over `added` in row-major order, of x by both strides. */
    void (*sum)(const struct cuda_shape *kept, const struct cuda_strides *kept_strides,
                const struct cuda_shape *added, const struct cuda_strides *added_strides,
                const float *x, float *out);

    /* kernels/portable/softmax.h. `y` may be `x`; `dx` may be `y` or `dy`. */
    void (*softmax)(const struct cuda_softmax *rows, const float *x, float *y);
    void (*softmax_gradient)(const struct cuda_softmax *rows, const float *y, const float *dy,
                             float *dx);
    /* Rows with a label out of range become NaN; labels have `label_bytes` bytes (1, or 4 or 8,
     * signed); labels NULL: row r has label r. With smoothing s, a loss is that of the label plus
     * s (x[label] - mean(x)). */
    void (*cross_entropy)(size_t rows, size_t columns, const float *logits, const void *labels,
                          uint32_t label_bytes, float smoothing, float *losses,
                          float *probabilities);
    void (*cross_entropy_gradient)(size_t rows, size_t columns, const float *probabilities,
                                   const void *labels, uint32_t label_bytes, float smoothing,
                                   const float *dlosses, float *dlogits);

    /* out = 1 where the greatest logit, the first of equal ones, is that of the label, else 0. */
    void (*is_correct)(size_t rows, size_t columns, const float *logits, const void *labels,
                       uint32_t label_bytes, float *out);

    /* The mean loss of each row, and its gradient, as graph/reference/regress.c and
     * graph/portable/regress.c have them. `width` is that of huber. */
    void (*error[CUDA_ERRORS])(size_t rows, size_t columns, double width, const float *x,
                               const float *target, float *out);
    void (*error_gradient[CUDA_ERRORS])(size_t rows, size_t columns, double width, const float *x,
                                        const float *target, const float *dy, float *dx);

    /* kernels/portable/pool.h. Places have `place_bytes` bytes, 1 or 4. */
    void (*max_pool)(const struct cuda_pool *pool, const float *x, float *y, void *which,
                     uint32_t place_bytes);
    void (*max_pool_gradient)(const struct cuda_pool *pool, const float *dy, const void *which,
                              uint32_t place_bytes, float *dx);
    void (*mean_pool)(const struct cuda_pool *pool, const float *x, float *y);
    void (*mean_pool_gradient)(const struct cuda_pool *pool, const float *dy, float *dx);

    /* kernels/portable/normalize.h. */
    void (*layer_norm)(const struct cuda_norm *task);
    void (*layer_norm_gradient)(const struct cuda_norm_gradient *task);
    /* Batch norm as graph/portable/ has it: sums in double, over rows in ascending order. */
    void (*batch_norm)(const struct cuda_norm *task);
    void (*batch_norm_gradient)(const struct cuda_norm_gradient *task);

    /* kernels/portable/dropout.h; the gradient is the same function of the gradient. */
    void (*dropout)(const struct cuda_dropout *task, const float *x, float *y);

    /* kernels/portable/attention.h. `p`: the probabilities. No output overlaps an input. */
    void (*attention)(const struct cuda_attention *task, const float *q, const float *k,
                      const float *v, float *p, float *out);
    void (*attention_gradient)(const struct cuda_attention *task,
                               const struct cuda_attention_gradient *arrays);

    /* Rows of a table of `rows` rows: out[i] = table[ids[i]], NaN where the id is out of range; and
     * the sums of such rows of dy, in the order of positions. Ids have `id_bytes` bytes, as labels
     * have. */
    void (*gather)(size_t count, const void *ids, uint32_t id_bytes, size_t rows, size_t width,
                   const float *table, float *out);
    void (*gather_gradient)(size_t count, const void *ids, uint32_t id_bytes, size_t rows,
                            size_t width, const float *dy, float *dtable);

    enum cuda_precision precision; /* The one of products. */
};

/* Whether each output pixel of a convolution has one input pixel, so that it is a product of pixels
 * and filters. */
static inline bool cuda_conv_is_product(const struct cuda_conv *c)
{
    return c->kernel_height == 1 && c->kernel_width == 1 && c->groups == 1 &&
           c->stride_height == 1 && c->stride_width == 1 && c->top == 0 && c->left == 0 &&
           c->out_height == c->height && c->out_width == c->width;
}

enum { CUDA_ROUNDED_ALIGNMENT = 64 };

/* The bytes of a rounded operand of `count` floats, up to the next one. */
static inline size_t cuda_rounded_operand(size_t count)
{
    const size_t bytes = count * sizeof(uint16_t), line = CUDA_ROUNDED_ALIGNMENT;
    return (bytes + line - 1) / line * line;
}

/* The bytes of struct cuda_rounding for a product of operands of `left` and `right` floats. */
static inline size_t cuda_rounded_bytes(enum cuda_precision precision, size_t left, size_t right)
{
    return precision == CUDA_BF16 ? cuda_rounded_operand(left) + cuda_rounded_operand(right) : 0;
}

#endif
