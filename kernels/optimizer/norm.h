/*
 * kernels/optimizer/norm.h: the Euclidean norm of a gradient, with the same bits however the flat
 * vector is cut into shards.
 *
 * The vector is cut into leaves of NORM_LEAF elements, from its beginning; the last leaf may be
 * shorter. A leaf is the sum of its squares, which are exact in double precision, in order. Node
 * (level, index) of a binary tree is the sum of nodes (level - 1, 2 index) and (level - 1,
 * 2 index + 1); leaves are level 0. The squared norm is the sum of the whole vector's maximal
 * nodes, from the last, which is the smallest, to the first.
 *
 * A part of the vector that begins and ends at leaves is reduced to its maximal nodes, at most two
 * of each level. Parts that adjoin are appended to each other; the result does not depend on where
 * they were cut.
 *
 * Threads: no state.
 */
#ifndef KERNELS_OPTIMIZER_NORM_H
#define KERNELS_OPTIMIZER_NORM_H

#include <stdint.h>

enum { NORM_LEAF = 16, NORM_NODES_MAX = 2 * 40 };

struct norm_node {
    uint64_t index;
    uint32_t level;
    double sum;
};

/* The maximal nodes of leaves [first, end), in their order. */
struct norm_part {
    uint64_t first, end;
    uint32_t count;
    struct norm_node nodes[NORM_NODES_MAX];
};

/* An empty part that begins at element `first`, a multiple of NORM_LEAF. */
struct norm_part norm_begin(uint64_t first);

/* Add the next `count` elements: a multiple of NORM_LEAF, except at the end of the vector. */
void norm_add(struct norm_part *part, uint64_t count, const float *elements);

/* The maximal nodes of elements [first, first + count), all sums 0. `first` is a multiple of
 * NORM_LEAF; `count` is not 0. */
struct norm_part norm_nodes(uint64_t first, uint64_t count);

/* Add a part that begins where `part` ends. */
void norm_append(struct norm_part *part, const struct norm_part *next);

/* The norm of the elements of a part. */
double norm_of(const struct norm_part *part);

#endif
