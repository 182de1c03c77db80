/*
 * graph/plan.h: the memory of a program: a place for each value, within one arena. Computed from
 * the lifetimes of the values before anything runs.
 *
 * Views are where their input is. An operation that allows it writes its result over an input that
 * no later instruction reads. The other values are placed by size at the lowest free offset, with
 * which the arena is at or near its lower bound: the largest sum of sizes alive at one instruction.
 * The workspace of an instruction is placed like a value that nothing reads.
 *
 * Pure except for its temporary memory. Threads: any.
 */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "graph/core/build.h"

enum { PLAN_LINE = 64 /* Bytes; places in the arena are multiples of it. */ };

enum space {
    SPACE_NONE,      /* The value is not computed. */
    SPACE_ARENA,     /* */
    SPACE_VALUES,    /* The variables, given at each run. */
    SPACE_GRADIENT,  /* Their gradient, given at each run. */
    SPACE_FIELDS,    /* The program's input memory. */
    SPACE_CONSTANTS, /* The data of a node; `offset` is its number. */
    SPACES,
};

struct place {
    enum space space;
    uint64_t offset; /* Bytes. */
};

/* `fixed` and `kept` are by value: tensor.v - 1. */
struct plan_request {
    const struct tn_graph *graph; /* Specialised. */
    const uint32_t *order;        /* Nodes in the order of their execution. */
    uint32_t count;
    const struct place *fixed; /* SPACE_NONE: the planner places it. */
    const bool *kept;          /* Results: they stay until the end of the run. */
    const uint64_t *workspace; /* By position in `order`: bytes, a multiple of PLAN_LINE. */
    bool wide;
};

struct plan {
    struct place *places; /* By value; owned. */
    uint64_t *workspaces; /* By position in `order`: offset in the arena; owned. */
    uint64_t arena_bytes, lower_bound_bytes, without_reuse_bytes;
};

/* TN_ENOMEM: out of memory. */
MUST_CHECK enum tn_status plan_create(const struct plan_request *request, struct plan *out,
                                      struct error *error);
void plan_destroy(struct plan *plan);

/* Bytes of a value, rounded up to lines. */
uint64_t plan_bytes(const struct tn_graph *graph, tn_tensor value, bool wide);

/*
 * Check a plan by another method than the one that made it: execute the instructions with the
 * owner of each line in place of data, and compare at each read. TN_EINTERNAL: some value is
 * overwritten before its last reader; the text names both. TN_ENOMEM: out of memory.
 */
MUST_CHECK enum tn_status plan_check(const struct plan_request *request, const struct plan *plan,
                                     struct error *error);

#endif
