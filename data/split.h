/*
 * data/split.h: a part of the rows of a source, chosen by a hash of each row's number, in the order
 * of the rows. Which part a row belongs to depends on its number and the seed alone.
 *
 * Rows are counted in blocks, so that row k of a part is found without a list of all rows.
 *
 * Threads: read-only once it is open.
 */
#ifndef DATA_SPLIT_H
#define DATA_SPLIT_H

#include <stdint.h>

#include "common/base/error.h"
#include "data/source/offsets.h"

struct split {
    uint64_t rows;         /* All rows of the source. */
    uint64_t count;        /* Rows of the part. */
    uint64_t seed;         /* This and all below: private. */
    float low, high;       /* The part of [0, 1) that the hashes fall into. */
    struct offsets blocks; /* The rows of the part before each block; empty: all rows. */
};

/* The part with hashes in [low, high). TN_ENOMEM, TN_ENOSPC, TN_EIO. */
MUST_CHECK enum tn_status split_open(struct split *split, uint64_t rows, uint64_t seed, double low,
                                     double high, struct error *error);
void split_close(struct split *split);

/* The source's row that is row `k` of the part; k is below count. */
uint64_t split_row(const struct split *split, uint64_t k);

#endif
