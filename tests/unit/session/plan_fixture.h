/* tests/unit/session/plan_fixture.h: a graph on two servers, x -> exp on 0 -> times w on 1, and the
 * plans of its servers as bytes. */
#ifndef TESTS_UNIT_SESSION_PLAN_FIXTURE_H
#define TESTS_UNIT_SESSION_PLAN_FIXTURE_H

#include "session/client_plan.h"
#include "session/message.h"
#include "tests/unit/support/graphs.h"

enum { EXAMPLES = 2, WIDTH = 3, MEMORY = 1 << 20 };

/* The numbers of its edges: in the order in which the cut finds them. */
enum { EDGE_X, EDGE_BETWEEN, EDGE_RESULT, EDGES };

struct plan_fixture {
    struct placed_graph placed;
    struct client_plan plan;
};

static inline struct plan_fixture new_plan(void)
{
    struct plan_fixture fixture;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, WIDTH));
    tn_device_begin(graph, "/job:worker/task:0");
    tn_tensor y = tn_exp(graph, x);
    tn_device_end(graph);
    tn_device_begin(graph, "/job:worker/task:1");
    y = tn_multiply(graph, y, weights_of(graph, "w", TN_SHAPE(WIDTH)));
    tn_device_end(graph);
    tn_output(graph, "y", y);
    assert_int_equal(placed_graph_create(graph, 2, &fixture.placed, NULL), TN_OK);
    const tn_tensor result = placed_graph_find(&fixture.placed, "y");
    assert_int_equal(client_plan_create(&fixture.placed, &result, 1, &fixture.plan, NULL), TN_OK);
    assert_int_equal(fixture.plan.partition.edge_count, EDGES);
    fixture.plan.examples = EXAMPLES;
    tn_graph_destroy(graph);
    return fixture;
}

static inline void free_plan_fixture(struct plan_fixture *fixture)
{
    client_plan_free(&fixture->plan);
    placed_graph_free(&fixture->placed);
}

/* The caller calls free(). */
static inline uint8_t *encoded_server_plan(uint32_t server, size_t *size)
{
    uint8_t *bytes = NULL;
    struct plan_fixture fixture = new_plan();
    assert_int_equal(client_plan_encode(&fixture.plan, &fixture.placed, server, &bytes, size, NULL),
                     TN_OK);
    free_plan_fixture(&fixture);
    return bytes;
}

#endif
