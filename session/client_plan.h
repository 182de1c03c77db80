/*
 * session/client_plan.h: a plan in the client: the partition of its graph for given results, and a
 * number of examples. Pure but for memory. Threads: the owner's.
 */
#ifndef SESSION_CLIENT_PLAN_H
#define SESSION_CLIENT_PLAN_H

#include "common/base/buffer.h"
#include "graph/passes/partition.h"
#include "session/placed_graph.h"
#include "tanist/session.h"

struct client_plan {
    uint32_t number; /* 0: the place is free. */
    uint32_t examples;
    uint64_t used;      /* The last run with it. */
    tn_tensor *results; /* In the order of the fetches. */
    uint32_t result_count;
    struct partition partition;
    uint64_t servers;        /* Set of those that compute something. */
    struct buffer **arrived; /* By edge: results of the current run. */
};

/* Cut `placed` for the results; `examples` is not set. TN_EINVAL as pass_partition(). TN_ENOMEM.
 * client_plan_free() is allowed also after an error. */
MUST_CHECK enum tn_status client_plan_create(const struct placed_graph *placed,
                                             const tn_tensor *results, uint32_t result_count,
                                             struct client_plan *out, struct error *error);
void client_plan_free(struct client_plan *plan);

/* Whether the plan computes these results, in this order. */
bool client_plan_computes(const struct client_plan *plan, const tn_tensor *results,
                          uint32_t result_count);

/* The number of examples of the fields that the plan needs; 1 if it needs none. TN_EINVAL: a field
 * is missing, does not exist, or has another type, shape or number of examples. */
MUST_CHECK enum tn_status client_plan_check_feeds(const struct client_plan *plan,
                                                  const struct placed_graph *placed,
                                                  const struct tn_feed *feeds, uint32_t feed_count,
                                                  uint32_t *examples, struct error *error);

/* The body of PLAN for one server. The caller calls free(). Errors of server_plan_encode(). */
MUST_CHECK enum tn_status client_plan_encode(const struct client_plan *plan,
                                             const struct placed_graph *placed, uint32_t server,
                                             uint8_t **out, size_t *size, struct error *error);

/* The edge that carries result `index`. */
uint32_t client_plan_result_edge(const struct client_plan *plan, uint32_t index);

void client_plan_forget_results(struct client_plan *plan);

#endif
