/* graph/passes/share.c: equal nodes are computed once; others are not merged. */
#include "graph/passes/passes.h"

#include "graph/ops/ops.h"
#include "graph/reference/backend.h"
#include "tests/unit/support/graphs.h"

static uint32_t shared_in(struct tn_graph *graph, tn_tensor *root)
{
    uint32_t shared = 0;
    struct pass pass = {graph, backend_reference(), root, 1};
    assert_int_equal(pass_share(&pass, &shared, NULL), TN_OK);
    return shared;
}

static void equal_trees_are_shared(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = weights_of(graph, "x", TN_SHAPE(3));
    tn_tensor a = tn_exp(graph, tn_scale(graph, x, 2)), b = tn_exp(graph, tn_scale(graph, x, 2));
    tn_tensor root = tn_add(graph, a, b);
    assert_int_equal(shared_in(graph, &root), 2);
    assert_int_equal(input_of(graph, root, 0).v, a.v);
    assert_int_equal(input_of(graph, root, 1).v, a.v);
    tn_tensor again = b;
    shared_in(graph, &again);
    assert_int_equal(again.v, a.v);
    tn_graph_destroy(graph);
}

static void different_nodes_are_not_shared(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = weights_of(graph, "x", TN_SHAPE(2, 2)),
              y = weights_of(graph, "y", TN_SHAPE(2, 2));
    tn_scale(graph, x, 2);
    tn_scale(graph, x, 3);
    tn_scale(graph, y, 2);
    tn_tensor product = tn_matmul(graph, x, y, false, false);
    tn_matmul(graph, x, y, true, false);
    tn_matmul(graph, y, x, false, false);
    tn_reshape(graph, x, TN_SHAPE(4));
    tn_reshape(graph, x, TN_SHAPE(1, 4));
    tn_scalar(graph, 1);
    tn_scalar(graph, 2);
    tn_sqrt(graph, x);
    tn_exp(graph, x);
    assert_int_equal(shared_in(graph, &product), 0);
    tn_scalar(graph, 2);
    assert_int_equal(shared_in(graph, &product), 1);
    tn_graph_destroy(graph);
}

/* Values that depend on more than their inputs stay apart. */
static void varying_nodes_are_not_shared(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = weights_of(graph, "x", TN_SHAPE(2));
    tn_tensor root = graph_add1(graph, &op_loss_seed, x);
    graph_add1(graph, &op_loss_seed, x);
    assert_int_equal(shared_in(graph, &root), 0);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_trees_are_shared),
        cmocka_unit_test(different_nodes_are_not_shared),
        cmocka_unit_test(varying_nodes_are_not_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
