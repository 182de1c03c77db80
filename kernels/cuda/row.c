/*
 * kernels/cuda/row.c: sums, softmax and its cross entropy, row by row.
 *
 * The bits are those of kernels/portable/reduce.h and softmax.h. LANES threads work on a row:
 * thread l takes the elements l, l + 16, l + 32, ...; then lanes are added over the tree of 8, 4, 2
 * and 1. A warp has two rows, and its threads shuffle together also behind the last row.
 */
#include "kernels/cuda/families.h"
#include "kernels/portable/isa/math.h"

enum { LANES = 16, ROW_THREADS = 128, BLOCK_ROWS = ROW_THREADS / LANES };

/* Row and lane of a thread; the row may be behind the last one. */
#define ROW  ((size_t)BLOCK * BLOCK_ROWS + THREAD / LANES)
#define LANE (THREAD % LANES)

static inline size_t row_blocks(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

/* The sum of the lanes, in all of them. Addition commutes, so both partners have equal bits. */
DEVICE_INLINE float lanes_sum(float x)
{
    for (uint32_t half = LANES / 2; half >= 1; half /= 2) { x = x + SHUFFLE_XOR(x, half); }
    return x;
}

/* The sum of x; `count` is 0 behind the last row. In the last vector, lanes behind the end of the
 * row take part as zeros. */
DEVICE_INLINE float sum_of(size_t count, const float *x)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) { sum = sum + (i < count ? x[i] : 0.0F); }
    return lanes_sum(sum);
}

DEVICE_INLINE float dot_of(size_t count, const float *x, const float *y)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) {
        const bool is_inside = i < count;
        sum = FMA(is_inside ? x[i] : 0.0F, is_inside ? y[i] : 0.0F, sum);
    }
    return lanes_sum(sum);
}

/* The greatest element, in the order of row_greatest() in kernels/portable/isa/row.h, which matters
 * for NaN and -0: lanes over whole vectors, then the lanes, then the rest. */
DEVICE_INLINE float greatest_of(size_t count, const float *x)
{
    const size_t whole = count - count % LANES;
    float best = count > 0 ? x[0] : 0.0F;
    for (size_t i = LANE; i < whole; i += LANES) { best = wide_greater(x[i], best); }
    float greatest = SHUFFLE(best, THREAD % WARP - LANE);
    for (uint32_t lane = 1; lane < LANES; lane++) {
        const float other = SHUFFLE(best, THREAD % WARP - LANE + lane);
        if (other > greatest) { greatest = other; }
    }
    for (size_t i = whole; i < count; i++) {
        if (x[i] > greatest) { greatest = x[i]; }
    }
    return greatest;
}

/* y = exp(x - greatest); returns the sum. */
DEVICE_INLINE float exponentials(size_t count, float greatest, const float *x, float *y)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) {
        float e = 0.0F;
        if (i < count) {
            e = math_exp(FMA(x[i], 1.0F, -greatest));
            y[i] = e;
        }
        sum = sum + e;
    }
    return lanes_sum(sum);
}

struct row_task {
    size_t rows, columns;
    const float *x, *dy;
    float *out;
};

KERNEL(row_sum, struct row_task)
{
    const bool is_row = ROW < a.rows;
    const float sum = sum_of(is_row ? a.columns : 0, a.x + ROW * a.columns);
    if (is_row && LANE == 0) { a.out[ROW] = sum; }
}

KERNEL(softmax, struct row_task)
{
    const size_t count = ROW < a.rows ? a.columns : 0;
    const float *x = a.x + ROW * a.columns;
    float *y = a.out + ROW * a.columns;
    const float factor = 1.0F / exponentials(count, greatest_of(count, x), x, y);
    for (size_t i = LANE; i < count; i += LANES) { y[i] = y[i] * factor; }
}

/* dx = y (dy - sum(y dy)); the factor 1 of the scale changes no bit. */
KERNEL(softmax_gradient, struct row_task)
{
    const size_t count = ROW < a.rows ? a.columns : 0;
    const float *y = a.x + ROW * a.columns, *dy = a.dy + ROW * a.columns;
    float *dx = a.out + ROW * a.columns;
    const float dot = dot_of(count, y, dy);
    for (size_t i = LANE; i < count; i += LANES) { dx[i] = (dy[i] - dot) * y[i]; }
}

struct entropy_task {
    size_t rows, columns;
    const float *x, *dlosses; /* Logits, or probabilities. */
    const void *labels;
    uint32_t label_bytes;
    float smoothing;
    float *losses, *out;
};

/* False: the label is out of range, and is 0 instead. */
DEVICE_INLINE bool label_of(const struct entropy_task *a, size_t row, size_t *label)
{
    int64_t found = 0;
    switch (a->label_bytes) {
    case 1: found = ((const uint8_t *)a->labels)[row]; break;
    case 4: found = ((const int32_t *)a->labels)[row]; break;
    default: found = ((const int64_t *)a->labels)[row]; break;
    }
    const bool is_valid = found >= 0 && (uint64_t)found < a->columns;
    *label = is_valid ? (size_t)found : 0;
    return is_valid;
}

KERNEL(cross_entropy, struct entropy_task)
{
    const size_t count = ROW < a.rows ? a.columns : 0;
    const float *x = a.x + ROW * a.columns;
    float *p = a.out + ROW * a.columns;
    size_t label = 0;
    const bool is_valid = count > 0 && label_of(&a, ROW, &label);
    const float at_label = count > 0 ? x[label] : 0.0F, all = sum_of(count, x);
    const float greatest = greatest_of(count, x), distance = greatest - at_label;
    const float sum = exponentials(count, greatest, x, p), factor = 1.0F / sum;
    for (size_t i = LANE; i < count; i += LANES) { p[i] = p[i] * factor; }
    if (count == 0 || LANE != 0) { return; }
    float loss = math_log(sum) + distance;
    if (a.smoothing != 0.0F) { loss = loss + a.smoothing * (at_label - all / (float)count); }
    a.losses[ROW] = is_valid ? loss : wide_of_bits(0x7fc00000U);
}

KERNEL(cross_entropy_gradient, struct entropy_task)
{
    const size_t count = ROW < a.rows ? a.columns : 0;
    const float *p = a.x + ROW * a.columns;
    float *out = a.out + ROW * a.columns;
    size_t label = 0;
    const bool is_valid = count > 0 && label_of(&a, ROW, &label);
    const float dy = count > 0 ? a.dlosses[ROW] : 0.0F, share = a.smoothing / (float)a.columns;
    for (size_t i = LANE; i < count; i += LANES) {
        const float wanted = a.smoothing != 0.0F ? 1 - a.smoothing : 1.0F;
        float rest = i == label ? p[i] - wanted : p[i];
        if (a.smoothing != 0.0F) { rest = rest - share; }
        out[i] = is_valid ? rest * dy : wide_of_bits(0x7fc00000U);
    }
}

static void run_sum_columns(size_t rows, size_t columns, const float *matrix, float *out)
{
    struct row_task task = {rows, columns, matrix, NULL, out};
    if (rows > 0) { LAUNCH(row_sum, row_blocks(rows), ROW_THREADS, task); }
}

static void run_softmax(size_t rows, size_t columns, const float *x, float *y)
{
    struct row_task task = {rows, columns, x, NULL, y};
    if (rows > 0) { LAUNCH(softmax, row_blocks(rows), ROW_THREADS, task); }
}

static void run_softmax_gradient(size_t rows, size_t columns, const float *y, const float *dy,
                                 float *dx)
{
    struct row_task task = {rows, columns, y, dy, dx};
    if (rows > 0) { LAUNCH(softmax_gradient, row_blocks(rows), ROW_THREADS, task); }
}

static void run_cross_entropy(size_t rows, size_t columns, const float *logits, const void *labels,
                              uint32_t label_bytes, float smoothing, float *losses,
                              float *probabilities)
{
    struct entropy_task task = {rows,        columns,   logits, NULL,         labels,
                                label_bytes, smoothing, losses, probabilities};
    if (rows > 0) { LAUNCH(cross_entropy, row_blocks(rows), ROW_THREADS, task); }
}

static void run_cross_entropy_gradient(size_t rows, size_t columns, const float *probabilities,
                                       const void *labels, uint32_t label_bytes, float smoothing,
                                       const float *dlosses, float *dlogits)
{
    struct entropy_task task = {rows,        columns,   probabilities, dlosses, labels,
                                label_bytes, smoothing, NULL,          dlogits};
    if (rows > 0) { LAUNCH(cross_entropy_gradient, row_blocks(rows), ROW_THREADS, task); }
}

/* ------------------------------------------------------ sums over any dimensions */

struct sum_task {
    struct cuda_shape kept, added;
    struct cuda_strides kept_strides, added_strides;
    size_t count, terms;
    const float *x;
    float *out;
};

KERNEL(strided_sum, struct sum_task)
{
    EACH_ELEMENT(i, a.count)
    {
        const float *x = a.x + strided(&a.kept, &a.kept_strides, i);
        float sum = 0.0F;
        for (size_t k = 0; k < a.terms; k++) {
            sum = sum + x[strided(&a.added, &a.added_strides, k)];
        }
        a.out[i] = sum;
    }
}

static void run_sum(const struct cuda_shape *kept, const struct cuda_strides *kept_strides,
                    const struct cuda_shape *added, const struct cuda_strides *added_strides,
                    const float *x, float *out)
{
    const size_t count = shape_count(kept);
    struct sum_task task = {*kept, *added, *kept_strides, *added_strides, count, shape_count(added),
                            x,     out};
    if (count > 0) { LAUNCH(strided_sum, blocks_for(count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void cuda_fill_row(struct cuda_kernels *table)
{
    table->sum_columns = run_sum_columns;
    table->sum = run_sum;
    table->softmax = run_softmax;
    table->softmax_gradient = run_softmax_gradient;
    table->cross_entropy = run_cross_entropy;
    table->cross_entropy_gradient = run_cross_entropy_gradient;
}
