/*
 * common/cluster/slices.h: the fixed binary tree over the slices 0..V-1 of a step's global batch.
 *
 * Float addition is not associative, so whoever sums gradients must add them in one order, whatever
 * the grouping of slices by worker. That order is this tree: the node [first, first+count) is the
 * sum of its two children, split at the largest power of two below `count`; the root is [0, V). A
 * worker that owns all slices of a node sends that node's sum; a ps goes on from there to the root.
 * The result has the same bits as if one process had done it all.
 *
 * Pure: no state, no allocation. Threads: any.
 */
#ifndef COMMON_CLUSTER_SLICES_H
#define COMMON_CLUSTER_SLICES_H

#include <stdbool.h>
#include <stdint.h>

enum { SLICES_MAX = 256, SLICES_WORDS = SLICES_MAX / 64 };

/* The slices [first, first+count). */
struct slice_node {
    uint32_t first, count;
};

/* A set of slices: bit v % 64 of words[v / 64]. All zero is the empty set. */
struct slice_set {
    uint64_t words[SLICES_WORDS];
};

void slice_set_add(struct slice_set *set, struct slice_node node);
void slice_set_remove(struct slice_set *set, struct slice_node node);
bool slice_set_has_all(const struct slice_set *set, struct slice_node node);
bool slice_set_has_any(const struct slice_set *set, struct slice_node node);
uint32_t slice_set_count(const struct slice_set *set);

/* Is [first, first+count) a node of the tree over `slices`? Safe for any numbers, also a peer's. */
bool slices_is_node(uint32_t slices, uint32_t first, uint32_t count);

/* The two halves of a node of at least two slices; left.first == node.first. */
void slices_children(struct slice_node node, struct slice_node *left, struct slice_node *right);

/* The node above `node` and the other child of that one. False for the root. */
bool slices_parent(uint32_t slices, struct slice_node node, struct slice_node *parent,
                   struct slice_node *sibling);

/* The fewest nodes of the tree that make up `owned` (members from `slices` on are ignored), in
 * ascending order, into out[0..SLICES_MAX). Returns their number. */
uint32_t slices_cover(uint32_t slices, const struct slice_set *owned,
                      struct slice_node out[static SLICES_MAX]);

/* One addition: the value of a node is kept in the slot of its first slice; do slot[into] +=
 * slot[from], element by element. */
struct slice_sum {
    uint32_t into, from;
};

/*
 * The additions that make the value of `node`, in postorder, out of `parts`: nodes of the tree
 * whose values lie in the slots of their first slices. Together the parts must be exactly the
 * slices of `node`, none twice, in any order. Afterwards slot[node.first] holds the sum. Returns
 * the number of additions, part_count - 1. A worker passes its single slices, a ps what came.
 */
uint32_t slices_plan(uint32_t slices, struct slice_node node, const struct slice_node *parts,
                     uint32_t part_count, struct slice_sum out[static SLICES_MAX]);

/* Positions of the global batch: [first, first+count). */
struct slice_range {
    uint32_t first, count;
};

/* The part of a batch of `batch` positions that is slice `slice` of `slices`: equal but for one
 * position. Empty if batch < slices allows no better. */
struct slice_range slices_positions(uint32_t slices, uint32_t batch, uint32_t slice);

#endif
