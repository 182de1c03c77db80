/*
 * kernels/portable/softmax.h: softmax by rows, masked or not, and the cross entropy of its result.
 *
 * The bits: with m the greatest of the scaled elements, e[c] = exp(x[c] * scale - m) (one fma), s
 * their sum in the order of reduce.h, and y[c] = e[c] * (1 / s).
 */
#ifndef KERNELS_PORTABLE_SOFTMAX_H
#define KERNELS_PORTABLE_SOFTMAX_H

#include <stddef.h>
#include <stdint.h>

/* Rows of `columns` floats, `stride` floats apart. Row r sees its first visible + r * more columns,
 * at least 1 and at most all; the others get 0. All visible: visible = columns. Causal: visible =
 * 1, more = 1. */
struct softmax_rows {
    size_t rows, columns, stride, visible, more;
    float scale; /* Positive. */
};

struct softmax_kernels {
    /* y = softmax(scale * x). `y` may be `x`. */
    void (*forward)(const struct softmax_rows *task, const float *x, float *y);
    /* dx = scale * y * (dy - sum(y dy)). `dx` may be `y` or `dy`. */
    void (*backward)(const struct softmax_rows *task, const float *y, const float *dy, float *dx);
    /* losses[r] = -log softmax(logits[r])[labels[r]], and the probabilities, which may be written
     * over the logits. Labels are at least 0 and less than `columns`. */
    void (*cross_entropy)(size_t rows, size_t columns, const float *logits, const int32_t *labels,
                          float *losses, float *probabilities);
    /* dlogits[r] = (probabilities[r] - onehot(labels[r])) * dlosses[r]; may be written over the
     * probabilities. */
    void (*cross_entropy_backward)(size_t rows, size_t columns, const float *probabilities,
                                   const int32_t *labels, const float *dlosses, float *dlogits);
};

#endif
