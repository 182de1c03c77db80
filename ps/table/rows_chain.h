/*
 * ps/table/rows_chain.h: the files that together have the rows of a checkpoint: a full one and the
 * deltas behind it, in which later rows win; and when the next save continues them.
 *
 * Checkpoints have ascending ids, in blocks of MANIFEST_CHAIN_MAX. A chain has files of one block
 * alone, so that its length is bounded, and a checkpoint of an earlier block shares no file with
 * it: one of these stays when others are collected (rule P8), so that no damaged file makes all
 * checkpoints useless.
 *
 * Pure. Threads: the owner's.
 */
#ifndef PS_TABLE_ROWS_CHAIN_H
#define PS_TABLE_ROWS_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/manifest.h"

struct rows_chain {
    uint32_t count; /* 0: nothing to continue. */
    uint64_t step;  /* The step of the last file. */
    struct manifest_rows files[MANIFEST_CHAIN_MAX];
};

/* Whether checkpoint `id` of `step` is a delta behind this chain: they are of one block, the step
 * is not below the chain's, and the deltas so far are less than half as large as the full file. */
bool rows_chain_continues(const struct rows_chain *chain, uint64_t id, uint64_t step);

/* Append the file of a save of `step`. The chain has fewer than MANIFEST_CHAIN_MAX. */
void rows_chain_append(struct rows_chain *chain, const struct manifest_rows *file, uint64_t step);

#endif
