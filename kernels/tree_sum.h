/*
 * kernels/tree_sum.h: a sum of arrays in the order of a tree, as the additions of its inner nodes
 * in postorder: both operands of a term are complete before it.
 *
 * An operand is an array, or NULL: the newest sum of an earlier term that no term has used yet. If
 * both are NULL, the newest is the right one.
 */
#ifndef KERNELS_TREE_SUM_H
#define KERNELS_TREE_SUM_H

struct sum_term {
    const float *left, *right;
};

/* Sums of earlier terms that wait at the same time. A tree of which every left child has at least
 * as many leaves as its sibling needs at most one for each of its levels. */
enum { SUM_WAITING_MAX = 12 };

#endif
