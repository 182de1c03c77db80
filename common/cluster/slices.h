/*
 * common/cluster/slices.h: the fixed binary tree over the slices 0..V-1 of a step's global batch.
 *
 * Float addition is not associative, so gradients must be added in the same order however slices
 * are assigned to workers. This tree is that order: the node [first, first+count) is the sum of its
 * two children, split at the largest power of two below `count`; the root is [0, V). A worker that
 * owns all slices of a node sends the sum of that node; a ps continues from there to the root. The
 * result has the same bits as if one process had added everything.
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

/* A set of slices: bit v % 64 of `words[v / 64]`. All zero is the empty set. */
struct slice_set {
    uint64_t words[SLICES_WORDS];
};

void slice_set_add(struct slice_set *set, struct slice_node node);
void slice_set_remove(struct slice_set *set, struct slice_node node);
bool slice_set_has_all(const struct slice_set *set, struct slice_node node);
bool slice_set_has_any(const struct slice_set *set, struct slice_node node);
uint32_t slice_set_count(const struct slice_set *set);
/* Whether each slice of `set` is in `other`. */
bool slice_set_is_within(const struct slice_set *set, const struct slice_set *other);

/* Whether [first, first+count) is a node of the tree over `slices`. Accepts any numbers, also from
 * peers. */
bool slices_is_node(uint32_t slices, uint32_t first, uint32_t count);

/* The two halves of a node of at least two slices; left.first == node.first. */
void slices_children(struct slice_node node, struct slice_node *left, struct slice_node *right);

/* The fewest nodes of the tree whose union is `owned` (slices from `slices` on are ignored), in
 * ascending order, to out[0..SLICES_MAX). Returns their number. */
uint32_t slices_cover(uint32_t slices, const struct slice_set *owned,
                      struct slice_node out[static SLICES_MAX]);

/* One addition: slot[into] += slot[from], element by element. The value of a node is in the slot of
 * its first slice. */
struct slice_sum {
    uint32_t into, from;
};

/*
 * The additions, in postorder, that compute the value of `node` from `parts`: nodes of the tree
 * whose values are in the slots of their first slices. Together the parts must be exactly the
 * slices of `node`, none twice, in any order. Afterwards slot[node.first] is the sum. Returns the
 * number of additions, part_count - 1. A worker passes its single slices, a ps the nodes that it
 * received.
 */
uint32_t slices_plan(uint32_t slices, struct slice_node node, const struct slice_node *parts,
                     uint32_t part_count, struct slice_sum out[static SLICES_MAX]);

/* The node that consists of `parts`, disjoint nodes: the root, or one slice. */
struct slice_node slices_join(const struct slice_node *parts, uint32_t part_count);

/* Positions of the global batch: [first, first+count). */
struct slice_range {
    uint32_t first, count;
};

/* The part of a batch of `batch` positions that is slice `slice` of `slices`. Sizes differ by at
 * most one position; some are empty if batch < slices. */
struct slice_range slices_positions(uint32_t slices, uint32_t batch, uint32_t slice);

#endif
