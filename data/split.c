#include "data/split.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

#define STREAM_SPLIT UINT64_C(0x73706c6974000000)

enum { BLOCK_ROWS = 256 };

static bool is_member(const struct split *split, uint64_t row)
{
    const float hash = random_unit_at(split->seed, STREAM_SPLIT, row);
    return hash >= split->low && hash < split->high;
}

enum tn_status split_open(struct split *split, uint64_t rows, uint64_t seed, double low,
                          double high, struct error *error)
{
    assert(rows >= 1 && low <= high);
    *split = (struct split){
        .rows = rows,
        .count = rows,
        .seed = seed,
        .low = (float)low,
        .high = (float)high,
    };
    if (low <= 0 && high >= 1) { return TN_OK; }
    split->count = 0;
    for (uint64_t row = 0; row < rows; row++) {
        enum tn_status status =
            row % BLOCK_ROWS == 0 ? offsets_add(&split->blocks, split->count, error) : TN_OK;
        if (status != TN_OK) {
            split_close(split);
            return status;
        }
        split->count += is_member(split, row);
    }
    return TN_OK;
}

void split_close(struct split *split)
{
    offsets_free(&split->blocks);
}

/* The last block with at most `k` rows of the part before it. */
static uint64_t block_of(const struct split *split, uint64_t k)
{
    uint64_t low = 0, high = split->blocks.count;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (split->blocks.at[middle] <= k) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

uint64_t split_row(const struct split *split, uint64_t k)
{
    assert(k < split->count);
    if (split->blocks.count == 0) { return k; }
    const uint64_t block = block_of(split, k);
    uint64_t before = split->blocks.at[block], row = block * BLOCK_ROWS;
    const uint64_t end = u64_min(split->rows, row + BLOCK_ROWS);
    for (; row < end; row++) {
        if (is_member(split, row) && before++ == k) { return row; }
    }
    assert(row < end && "the block has the row");
    return 0;
}
