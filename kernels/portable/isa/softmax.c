#include "kernels/portable/softmax.h"

#include <assert.h>

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/math.h"
#include "kernels/portable/isa/row.h"

static size_t visible_columns(const struct softmax_rows *task, size_t row)
{
    return size_min(task->visible + row * task->more, task->columns);
}

/* y = exp(x * scale - greatest); returns the sum. A partial vector adds nothing in its other
 * lanes. */
ISA_INLINE float exponentials(size_t count, float scale, float greatest, const float *x, float *y)
{
    const wide factor = wide_set(scale), most = wide_set(-greatest);
    wide sum = wide_zero();
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        wide e = math_exp(wide_fma(wide_load(x + i), factor, most));
        wide_store(y + i, e);
        sum = wide_add(sum, e);
    }
    size_t left = count - i;
    if (left > 0) {
        wide e = math_exp(wide_fma(wide_load_some(x + i, left), factor, most));
        wide_store_some(y + i, e, left);
        sum = wide_add(sum, wide_load_some(y + i, left));
    }
    return wide_sum(sum);
}

ISA_INLINE void multiply_row(size_t count, float factor, float *y)
{
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide product = wide_multiply(wide_load_up_to(y + i, size), wide_set(factor));
        wide_store_up_to(y + i, product, size);
    }
}

static void forward(const struct softmax_rows *task, const float *x, float *y)
{
    assert(task->visible >= 1);
    for (size_t r = 0; r < task->rows; r++, x += task->stride, y += task->stride) {
        size_t count = visible_columns(task, r);
        float greatest = row_greatest(count, x) * task->scale;
        float sum = exponentials(count, task->scale, greatest, x, y);
        multiply_row(count, 1.0F / sum, y);
        memset(y + count, 0, (task->columns - count) * sizeof *y);
    }
}

static void backward(const struct softmax_rows *task, const float *y, const float *dy, float *dx)
{
    const wide scale = wide_set(task->scale);
    for (size_t r = 0; r < task->rows;
         r++, y += task->stride, dy += task->stride, dx += task->stride) {
        size_t count = visible_columns(task, r);
        wide dot = wide_set(row_dot(count, y, dy));
        for (size_t i = 0, size; i < count; i += size) {
            size = size_min(count - i, WIDE);
            wide rest = wide_subtract(wide_load_up_to(dy + i, size), dot);
            wide product = wide_multiply(rest, wide_load_up_to(y + i, size));
            wide_store_up_to(dx + i, wide_multiply(product, scale), size);
        }
        memset(dx + count, 0, (task->columns - count) * sizeof *dx);
    }
}

static float logarithm(float x)
{
    float lane[WIDE];
    wide_store(lane, math_log(wide_set(x)));
    return lane[0];
}

static void cross_entropy(size_t rows, size_t columns, const float *logits, const int32_t *labels,
                          float *losses, float *probabilities)
{
    assert(columns >= 1);
    for (size_t r = 0; r < rows; r++, logits += columns, probabilities += columns) {
        assert(labels[r] >= 0);
        assert((size_t)labels[r] < columns);
        float greatest = row_greatest(columns, logits);
        float distance = greatest - logits[labels[r]];
        float sum = exponentials(columns, 1.0F, greatest, logits, probabilities);
        multiply_row(columns, 1.0F / sum, probabilities);
        losses[r] = logarithm(sum) + distance;
    }
}

static void cross_entropy_backward(size_t rows, size_t columns, const float *probabilities,
                                   const int32_t *labels, const float *dlosses, float *dlogits)
{
    for (size_t r = 0; r < rows; r++, probabilities += columns, dlogits += columns) {
        assert(labels[r] >= 0);
        assert((size_t)labels[r] < columns);
        float at_label = (probabilities[labels[r]] - 1.0F) * dlosses[r];
        if (dlogits != probabilities) { memcpy(dlogits, probabilities, columns * sizeof *dlogits); }
        multiply_row(columns, dlosses[r], dlogits);
        dlogits[labels[r]] = at_label;
    }
}

const struct softmax_kernels ISA(softmax_kernels) = {
    .forward = forward,
    .backward = backward,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
};
