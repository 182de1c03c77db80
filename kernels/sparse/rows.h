/*
 * kernels/sparse/rows.h: gradients of rows: sums of which only the touched rows exist (rule A12).
 *
 * Within a slice the rows of equal keys are added in the order of positions; across slices along
 * the tree of common/cluster/slices.h. A row that only one side has is copied, bit for bit: an
 * absent key adds nothing, not 0.0, which would turn -0.0 into 0.0. So a sum does not depend on
 * which node computed which slice.
 *
 * Pure: no state, no allocation. Threads: any, each on its own arrays.
 */
#ifndef KERNELS_SPARSE_ROWS_H
#define KERNELS_SPARSE_ROWS_H

#include <stdint.h>

/* Fills bags of keys up to their length; it has no row. All other keys are below 2^63. */
#define SPARSE_KEY_NONE UINT64_MAX
#define SPARSE_KEY_MOST (UINT64_MAX >> 1)

/* Rows with ascending keys, none twice. */
struct sparse_rows {
    uint64_t count;
    const uint64_t *keys;
    const float *values; /* [count][width] */
};

/* The place of a key: its position in a slice, or another number. */
struct sparse_place {
    uint64_t key;
    uint32_t position;
};

/* sum = sum + row, column by column. */
static inline void sparse_add_row(uint32_t width, const float *restrict row, float *restrict sum)
{
    for (uint32_t c = 0; c < width; c++) { sum[c] += row[c]; }
}

/* Sort by key; equal keys keep their order. `room` has `count` elements, too. Returns the sorted
 * array, one of the two. */
struct sparse_place *sparse_sort(uint64_t count, struct sparse_place *places,
                                 struct sparse_place *room);

/* The sums of a slice: a place has the row gradients[position]. `sorted` is that of sparse_sort(),
 * without SPARSE_KEY_NONE; `out_keys` and `out` have `count` rows. Returns the number of sums. */
uint64_t sparse_sum(const struct sparse_place *sorted, uint64_t count, const float *gradients,
                    uint32_t width, uint64_t *out_keys, float *out);

/* left + right into arrays that have room for both and overlap neither. Returns the number of
 * sums. */
uint64_t sparse_merge(struct sparse_rows left, struct sparse_rows right, uint32_t width,
                      uint64_t *out_keys, float *out);

#endif
