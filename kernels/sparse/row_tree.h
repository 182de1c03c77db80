/*
 * kernels/sparse/row_tree.h: sums of rows that meet along the tree of slices by rule A12, computed
 * by several members, each for a range of the keys of each table. The sum has the same bits for any
 * number of members, and those of row_sums_add() in the order of the additions.
 *
 * Each member counts the keys of its ranges, one of them gets the memory for all, and then each
 * adds its rows where they belong in the sum.
 *
 * Threads: members count at the same time, and add at the same time; the owner's in between.
 */
#ifndef KERNELS_SPARSE_ROW_TREE_H
#define KERNELS_SPARSE_ROW_TREE_H

#include "common/cluster/slices.h"
#include "kernels/sparse/row_sums.h"

struct row_tree {
    /* [part_count], at most SLICES_MAX. Their values may be overwritten; keys and counts stay. */
    struct row_sums *parts;
    uint32_t part_count;
    /* part[into] += part[from], in this order; all lead to part 0. [part_count - 1] */
    const struct slice_sum *additions;
    uint32_t members;
    struct row_sums *sum; /* Result, for the model of the parts; its memory is separate. */
    uint64_t *counts;     /* [members][tables]; set by row_tree_count(). */
};

/* The memory of `counts`, in numbers. */
uint64_t row_tree_counts(uint32_t members, const struct variable_table *variables);

/* Count the rows of member `member`. */
void row_tree_count(const struct row_tree *tree, uint32_t member);

/* All members have counted: reserve memory for the rows of the sum. TN_ENOMEM: the parts have not
 * changed, the sum is undefined. */
MUST_CHECK enum tn_status row_tree_reserve(const struct row_tree *tree, struct error *error);

/* Memory was reserved: write the rows of member `member` to the sum. */
void row_tree_add(const struct row_tree *tree, uint32_t member);

#endif
