/* kernels/reference.c: every kernel in plain C. The tests compare the other backends with it. */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "kernels/kernels.h"
#include "kernels/overlap.h"

static void reference_fingerprint(char *text, size_t size)
{
    if (snprintf(text, size, "reference: plain C") < 0 && size > 0) { text[0] = '\0'; }
}

static void reference_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k,
                               const float *a, const float *b, float *out)
{
    assert(are_disjoint(out, m * n, a, m * k));
    assert(are_disjoint(out, m * n, b, k * n));
    for (size_t row = 0; row < m; row++) {
        for (size_t column = 0; column < n; column++) {
            double sum = 0;
            for (size_t i = 0; i < k; i++) {
                float left = transpose_a ? a[i * m + row] : a[row * k + i];
                float right = transpose_b ? b[column * k + i] : b[i * n + column];
                sum += (double)left * (double)right;
            }
            out[row * n + column] = (float)sum;
        }
    }
}

static void reference_add(size_t count, const float *from, float *into)
{
    for (size_t i = 0; i < count; i++) { into[i] += from[i]; }
}

static void reference_sum_tree(size_t at, size_t count, uint32_t term_count,
                               const struct sum_term *terms, float *out)
{
    for (size_t i = 0; i < count; i++) {
        float sums[SUM_WAITING_MAX];
        uint32_t depth = 0;
        for (uint32_t t = 0; t < term_count; t++) {
            const struct sum_term *term = &terms[t];
            assert(depth >= (uint32_t)(term->left == NULL) + (term->right == NULL));
            float right = term->right != NULL ? term->right[at + i] : sums[--depth];
            float left = term->left != NULL ? term->left[at + i] : sums[--depth];
            assert(depth < SUM_WAITING_MAX);
            sums[depth++] = left + right;
        }
        assert(depth == 1);
        out[i] = sums[0];
    }
}

static void reference_stream(size_t count, const float *values, float *out)
{
    for (size_t i = 0; i < count; i++) { out[i] = values[i]; }
}

/* Ordinary stores need none. */
static void reference_stream_fence(void)
{
}

static bool reference_all_finite(size_t count, const float *values)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) { return false; }
    }
    return true;
}

static void reference_divide_bytes(size_t count, const uint8_t *bytes, float *out)
{
    for (size_t i = 0; i < count; i++) { out[i] = (float)bytes[i] / 255.0F; }
}

static void reference_scale(size_t count, float factor, float *values)
{
    for (size_t i = 0; i < count; i++) { values[i] *= factor; }
}

static void reference_add_bias(size_t rows, size_t columns, const float *bias, float *matrix)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++) { matrix[r * columns + c] += bias[c]; }
    }
}

static void reference_sum_rows(size_t rows, size_t columns, const float *matrix, float *out)
{
    assert(are_disjoint(matrix, rows * columns, out, columns));
    for (size_t c = 0; c < columns; c++) {
        float sum = 0;
        for (size_t r = 0; r < rows; r++) { sum += matrix[r * columns + c]; }
        out[c] = sum;
    }
}

static void reference_relu(size_t count, float *values)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0) { values[i] = 0; }
    }
}

static void reference_relu_backward(size_t count, const float *activations, float *gradient)
{
    for (size_t i = 0; i < count; i++) {
        if (activations[i] == 0) { gradient[i] = 0; }
    }
}

static double reference_cross_entropy(size_t columns, float *logits, size_t label)
{
    assert(label < columns);
    double most = (double)logits[0], at_label = (double)logits[label], sum = 0;
    for (size_t c = 1; c < columns; c++) {
        if ((double)logits[c] > most) { most = (double)logits[c]; }
    }
    for (size_t c = 0; c < columns; c++) {
        double exponential = exp((double)logits[c] - most);
        logits[c] = (float)exponential;
        sum += exponential;
    }
    return log(sum) - (at_label - most);
}

static void reference_cross_entropy_backward(size_t columns, float *exponentials, size_t label,
                                             float scale)
{
    double sum = 0;
    assert(label < columns);
    for (size_t c = 0; c < columns; c++) { sum += (double)exponentials[c]; }
    for (size_t c = 0; c < columns; c++) {
        double p = (double)exponentials[c] / sum;
        exponentials[c] = (float)((p - (c == label ? 1.0 : 0.0)) * (double)scale);
    }
}

static double reference_squared_error(size_t rows, size_t columns, float *outputs,
                                      const float *targets, float scale)
{
    assert(columns >= 1);
    double loss_sum = 0;
    float factor = 2.0F * scale / (float)columns;
    for (size_t r = 0; r < rows; r++) {
        double squares = 0;
        for (size_t c = 0; c < columns; c++) {
            float difference = outputs[r * columns + c] - targets[r * columns + c];
            squares += (double)difference * (double)difference;
            outputs[r * columns + c] = factor * difference;
        }
        loss_sum += squares / (double)columns;
    }
    return loss_sum;
}

static size_t reference_count_correct(size_t rows, size_t columns, const float *logits,
                                      const uint8_t *labels)
{
    assert(columns >= 1);
    size_t correct = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t best = 0;
        for (size_t c = 1; c < columns; c++) {
            if (logits[r * columns + c] > logits[r * columns + best]) { best = c; }
        }
        correct += best == labels[r];
    }
    return correct;
}

const struct kernels *kernels_reference(void)
{
    static const struct kernels table = {
        .name = "reference",
        .fingerprint = reference_fingerprint,
        .multiply = reference_multiply,
        .add = reference_add,
        .sum_tree = reference_sum_tree,
        .stream = reference_stream,
        .stream_fence = reference_stream_fence,
        .all_finite = reference_all_finite,
        .divide_bytes = reference_divide_bytes,
        .scale = reference_scale,
        .add_bias = reference_add_bias,
        .sum_rows = reference_sum_rows,
        .relu = reference_relu,
        .relu_backward = reference_relu_backward,
        .cross_entropy = reference_cross_entropy,
        .cross_entropy_backward = reference_cross_entropy_backward,
        .squared_error = reference_squared_error,
        .count_correct = reference_count_correct,
        .optimizers = &optimizer_reference,
    };
    return &table;
}
