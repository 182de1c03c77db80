/*
 * session/server_plan.h: the body of the message PLAN: the parts of a plan that one server
 * computes, and the edges that it exchanges. A plan is a partition of a graph
 * (graph/passes/partition.h) for a number of examples.
 *
 * The bytes are not trusted: they are checked. Threads: the owner's. Nothing blocks.
 */
#ifndef SESSION_SERVER_PLAN_H
#define SESSION_SERVER_PLAN_H

#include "common/base/error.h"
#include "tanist/graph.h"

struct partition;

enum { SERVER_PLAN_EDGES_MAX = 1 << 16, SERVER_PLAN_PARTS_MAX = 1 << 12 };

/* In place of the number of a server: the client. */
#define SERVER_PLAN_CLIENT UINT32_MAX

struct server_plan_edge {
    uint32_t number;   /* In the whole plan. */
    uint32_t from, to; /* Servers, or SERVER_PLAN_CLIENT. */
    enum tn_type type;
    struct tn_shape shape; /* With the number of examples in place of TN_BATCH. */
    uint64_t bytes;
};

/* Where a variable lies in the values of its server, in floats. */
struct server_plan_variable {
    char name[TN_NAME_MAX];
    uint64_t offset, count;
};

struct server_plan {
    uint32_t examples;
    struct server_plan_edge *edges; /* The edges that begin or end at this server, by number. */
    uint32_t edge_count;
    struct server_plan_variable *variables;
    uint32_t variable_count;
    struct tn_graph **graphs; /* The parts, in their order. */
    uint32_t part_count;
    uint64_t bytes; /* The memory of the graphs, and of their programs without values. */
};

/*
 * Encode the parts that `server` computes. `variables` contains all variables that they read.
 * `*out` belongs to the caller, which calls free(). TN_EINVAL: a part cannot be encoded; the error
 * names the operation. TN_ENOMEM.
 */
MUST_CHECK enum tn_status server_plan_encode(const struct partition *partition, uint32_t server,
                                             uint32_t examples,
                                             const struct server_plan_variable *variables,
                                             uint32_t variable_count, uint8_t **out, size_t *size,
                                             struct error *error);

/*
 * Read a plan for `server`, one of `servers`. `value_max`: the largest value in bytes. `out` is
 * released by server_plan_free(), also after an error.
 *
 *   TN_EINVAL  the bytes are not a plan, or break a rule: the error names the field
 *   TN_ENOMEM  a value, or the graphs, are larger than `value_max`, or out of memory
 */
MUST_CHECK enum tn_status server_plan_decode(const uint8_t *bytes, size_t size, uint32_t server,
                                             uint32_t servers, uint64_t value_max,
                                             struct server_plan *out, struct error *error);
void server_plan_free(struct server_plan *plan);

/* The edge of this number. NULL: none begins or ends here. */
const struct server_plan_edge *server_plan_find_edge(const struct server_plan *plan,
                                                     uint32_t number);

/* The size in bytes of a value with this number of examples; UINT64_MAX: more than 2^62. */
uint64_t server_plan_value_bytes(enum tn_type type, const struct tn_shape *shape,
                                 uint32_t examples);

#endif
