/*
 * kernels/portable/product.h: matrix products, and everything that is one: convolutions and
 * attention read their operands in place by strides and runs.
 *
 * The bits: each output has one accumulator. It starts at +0, or at the value in `out`, and takes
 * fma(a, b, accumulator) for k ascending. IEEE 754 defines each fma, so the bits depend on no size
 * of a register, tile or block, and a row does not depend on its neighbours. With `tree`, the bits
 * are those of one product for each run, added over the tree.
 *
 * Threads: any, each on its own memory. Nothing allocates, blocks or fails.
 */
#ifndef KERNELS_PORTABLE_PRODUCT_H
#define KERNELS_PORTABLE_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* Rows of `a` whose distance is described one by one: x86 addresses base + 0, 1 or 2 rows. */
enum { PRODUCT_GROUP = 3 };

/*
 * out[rows][columns] = a b, summed over `runs` runs of `run` places: place p of run r is
 * k = r * run + p. A plain matrix has one run. A convolution in NHWC has one run per row of its
 * kernel, of kernel width times channels floats, and the next run begins one image row later.
 * Distances are counted in floats. `out` overlaps neither `a` nor `b`.
 */
struct product {
    size_t rows, columns, run, runs;
    /* a(i, r, p) = a[(i / 3) * a_group + (i % 3) * a_row + r * a_jump + p * a_step]. Usually
     * a_group is 3 * a_row. */
    const float *a;
    ptrdiff_t a_row, a_group, a_step, a_jump;
    /* b(r, p, j) = b[(j / W) * b_panel + r * b_jump + p * b_step + j % W], W = panel_columns. In
     * place: b_panel = W, b_step = the row stride. Packed: b_panel = k * W, b_step = W. */
    const float *b;
    size_t b_panel, b_step, b_jump;
    float *out;
    size_t out_row;
    /* Start from the values in `out`. */
    bool accumulate;
    /* Sum each run by itself, from +0, and add the sums of the runs over the tree of slices (rule
     * A5), of which they are the leaves. Not with `accumulate`. */
    bool tree;
    /* Epilogue, in this order. Each operation is rounded by itself, so the bits are those of
     * separate passes. */
    const float *bias;   /* [columns]. NULL: none. */
    const float *addend; /* [rows][columns], rows `out_row` apart; may be `out`. NULL: none. */
    bool relu;           /* max(x, 0); a NaN stays. */
};

struct product_kernels {
    /* W: columns of a packed panel. */
    size_t panel_columns;
    /* rows, columns, run and runs are at least 1. */
    void (*run)(const struct product *task);
    /* Pack b(p, j) = b[p * row + j * column], k x columns, into panels of [k][W]; zeros fill the
     * last panel. `panels` has product_packed_size() floats. */
    void (*pack)(size_t k, size_t columns, const float *b, size_t row, size_t column,
                 float *panels);
};

/* The number of floats of a packed matrix of k x columns. */
static inline size_t product_packed_size(const struct product_kernels *kernels, size_t k,
                                         size_t columns)
{
    size_t panels = (columns + kernels->panel_columns - 1) / kernels->panel_columns;
    return panels * kernels->panel_columns * k;
}

/* A matrix as the left operand: element (i, j) is data[i * row + j * column]. */
struct product_matrix {
    const float *data;
    size_t row, column;
};

/* out[m][n] = a b with a m x k; `b` holds k rows, `row` floats apart, of n neighbours. */
struct product product_plain(const struct product_kernels *kernels, size_t m, size_t n, size_t k,
                             struct product_matrix a, const float *b, size_t row, float *out,
                             size_t out_row);
/* The same with `b` packed. */
struct product product_packed(const struct product_kernels *kernels, size_t m, size_t n, size_t k,
                              struct product_matrix a, const float *panels, float *out,
                              size_t out_row);

#endif
