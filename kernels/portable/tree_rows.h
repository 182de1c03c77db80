/*
 * kernels/portable/tree_rows.h: sums over the rows of several slices.
 *
 * Threads: any, each on its own memory. Nothing allocates, blocks or fails.
 */
#ifndef KERNELS_PORTABLE_TREE_ROWS_H
#define KERNELS_PORTABLE_TREE_ROWS_H

#include "kernels/portable/reduce.h"

/* out[c] = the sum over the rows of matrix[rows][columns], which are cut into `runs` equal runs:
 * each is summed by sum_rows(), a single column by sum(), whose order is another; the sums are
 * added over the tree of slices (rule A5). `runs` is below 2^16 and divides `rows`. */
void tree_rows_sum(const struct reduce_kernels *kernels, size_t runs, size_t rows, size_t columns,
                   const float *matrix, float *out);

#endif
