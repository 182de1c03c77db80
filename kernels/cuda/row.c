/*
 * kernels/cuda/row.c: sums, softmax and its cross entropy, row by row.
 *
 * The bits are those of kernels/portable/reduce.h and softmax.h.
 */
#include "kernels/cuda/row.h"
#include "kernels/portable/isa/math.h"

/* y = exp(x * scale - greatest); returns the sum. */
DEVICE_INLINE float exponentials(size_t count, float scale, float greatest, const float *x,
                                 float *y)
{
    float sum = 0.0F;
    for (size_t i = LANE; i - LANE < count; i += LANES) {
        float e = 0.0F;
        if (i < count) {
            e = math_exp(FMA(x[i], scale, -greatest));
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

struct softmax_task {
    struct cuda_softmax rows;
    const float *x, *dy;
    float *out;
};

/* The columns that a row sees; 0 behind the last row. */
DEVICE_INLINE size_t visible_columns(const struct cuda_softmax *rows, size_t row)
{
    const size_t count = rows->visible + row % rows->period * rows->more;
    if (row >= rows->rows) { return 0; }
    if (count > rows->columns) { return rows->columns; }
    return count;
}

KERNEL(softmax, struct softmax_task)
{
    const size_t columns = a.rows.columns, count = visible_columns(&a.rows, ROW);
    const float *x = a.x + ROW * columns;
    float *y = a.out + ROW * columns;
    const float greatest = greatest_of(count, x) * a.rows.scale;
    WARP_FENCE(); /* All have read x[0], which y may replace. */
    const float factor = 1.0F / exponentials(count, a.rows.scale, greatest, x, y);
    for (size_t i = LANE; i < columns && ROW < a.rows.rows; i += LANES) {
        y[i] = i < count ? y[i] * factor : 0.0F;
    }
}

/* dx = scale y (dy - sum(y dy)) */
KERNEL(softmax_gradient, struct softmax_task)
{
    const size_t columns = a.rows.columns, count = visible_columns(&a.rows, ROW);
    const float *y = a.x + ROW * columns, *dy = a.dy + ROW * columns;
    float *dx = a.out + ROW * columns;
    const float dot = dot_of(count, y, dy);
    for (size_t i = LANE; i < columns && ROW < a.rows.rows; i += LANES) {
        dx[i] = i < count ? (dy[i] - dot) * y[i] * a.rows.scale : 0.0F;
    }
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
    const int64_t found =
        a->labels == NULL ? (int64_t)row : integer_of(a->labels, a->label_bytes, row);
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
    WARP_FENCE(); /* All have read x[0] and x[label], which p may replace. */
    const float sum = exponentials(count, 1.0F, greatest, x, p), factor = 1.0F / sum;
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

/* The greatest of a lane's elements, and of lanes the one that comes first: `at` passes as the bits
 * of a float. A NaN is the greatest only in front, as nothing is greater. */
KERNEL(is_correct, struct entropy_task)
{
    const size_t count = ROW < a.rows ? a.columns : 0;
    const float *x = a.x + ROW * a.columns;
    const float front = count > 0 ? x[0] : 0.0F;
    float best = front;
    uint32_t at = 0;
    for (size_t i = LANE; i < count; i += LANES) {
        if (x[i] > best) {
            best = x[i];
            at = (uint32_t)i;
        }
    }
    for (uint32_t half = LANES / 2; half >= 1; half /= 2) {
        const float other = SHUFFLE_XOR(best, half);
        const uint32_t other_at = ints_of_bits(SHUFFLE_XOR(wide_of_bits(at), half));
        if (other > best || (other == best && other_at < at)) {
            best = other;
            at = other_at;
        }
    }
    if (count == 0 || LANE != 0) { return; }
    size_t label;
    a.out[ROW] = label_of(&a, ROW, &label) && label == at ? 1.0F : 0.0F;
}

static void run_is_correct(size_t rows, size_t columns, const float *logits, const void *labels,
                           uint32_t label_bytes, float *out)
{
    struct entropy_task task = {rows, columns, logits, NULL, labels, label_bytes, 0, NULL, out};
    if (rows > 0) { LAUNCH(is_correct, row_blocks(rows), ROW_THREADS, task); }
}

static void run_sum_columns(size_t rows, size_t columns, const float *matrix, float *out)
{
    struct row_task task = {rows, columns, matrix, NULL, out};
    if (rows > 0) { LAUNCH(row_sum, row_blocks(rows), ROW_THREADS, task); }
}

CUDA_EXPORT void softmax_run(const struct cuda_softmax *rows, const float *x, float *y)
{
    struct softmax_task task = {*rows, x, NULL, y};
    if (rows->rows > 0) { LAUNCH(softmax, row_blocks(rows->rows), ROW_THREADS, task); }
}

CUDA_EXPORT void softmax_run_gradient(const struct cuda_softmax *rows, const float *y,
                                      const float *dy, float *dx)
{
    struct softmax_task task = {*rows, y, dy, dx};
    if (rows->rows > 0) { LAUNCH(softmax_gradient, row_blocks(rows->rows), ROW_THREADS, task); }
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

CUDA_EXPORT void CUDA_FILL(row)(struct cuda_kernels *table)
{
    table->sum_columns = run_sum_columns;
    table->sum = run_sum;
    table->softmax = softmax_run;
    table->softmax_gradient = softmax_run_gradient;
    table->cross_entropy = run_cross_entropy;
    table->is_correct = run_is_correct;
    table->cross_entropy_gradient = run_cross_entropy_gradient;
}
