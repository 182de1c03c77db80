/*
 * common/cluster/variable_moves.h: where the parameters of one flat vector lie in another one that
 * has the same variables in another order.
 *
 * Pure. Threads: any.
 */
#ifndef COMMON_CLUSTER_VARIABLE_MOVES_H
#define COMMON_CLUSTER_VARIABLE_MOVES_H

#include "common/cluster/variables.h"

/* Floats [from, from + count) of the one vector are [to, to + count) of the other one. */
struct variable_move {
    uint64_t from, to, count;
};

/* By `from`, which do not overlap. */
struct variable_moves {
    const struct variable_move *list;
    uint32_t count;
};

/* From the order of `from` to that of `to`, which have the same variables. Returns how many. */
uint32_t variable_moves_between(const struct variable_table *from, const struct variable_table *to,
                                struct variable_move out[static VARIABLES_MAX]);

/* The parts of `moves` that end in [first, first + count) of the other vector; `to` of a part
 * counts from `first`. `out` has room for as many as `moves`. Returns how many. */
uint32_t variable_moves_clip(const struct variable_moves *moves, uint64_t first, uint64_t count,
                             struct variable_move *out);

/* The index of the first move that ends behind `from`; the count: none does. */
uint32_t variable_moves_find(const struct variable_moves *moves, uint64_t from);

/* The part of `move` that begins in [first, last): false: there is none. */
bool variable_move_cut(const struct variable_move *move, uint64_t first, uint64_t last,
                       struct variable_move *out);

#endif
