/*
 * cli/model/saved_rows_diff.h: how far the rows of a table are apart in two checkpoints. Pure.
 */
#ifndef CLI_MODEL_SAVED_ROWS_DIFF_H
#define CLI_MODEL_SAVED_ROWS_DIFF_H

#include <stdint.h>

/* Rows with ascending keys, none twice. */
struct rows_view {
    const int64_t *keys;
    const float *values; /* [count][width] */
    uint64_t count;
};

struct rows_diff {
    /* Rows that only the second has, that only the first has, and that differ in a bit. */
    uint64_t added, removed, changed;
    double most;     /* Greatest absolute difference of a number, of rows in both; NaN: of a NaN. */
    double mean;     /* The mean of these differences; 0: no row is in both. */
    double relative; /* The norm of the differences over that of the first, of rows in both. */
};

struct rows_diff rows_diff_of(const struct rows_view *first, const struct rows_view *second,
                              uint32_t width);

#endif
