/* graph/schedule.h: inputs precede readers, and each node runs right before its first reader. */
#include "graph/schedule.h"

#include "tests/unit/support/graphs.h"

static void nodes_run_when_they_are_first_needed(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = weights_of(graph, "x", TN_SHAPE(3));
    tn_tensor late = tn_exp(graph, x); /* Created first, needed last. */
    tn_tensor first = tn_scale(graph, x, 2);
    tn_tensor unused = tn_log(graph, x);
    tn_tensor second = tn_multiply(graph, first, late);
    tn_tensor roots[] = {first, TN_NONE, second};
    uint32_t order[16];
    assert_int_equal(graph_schedule(graph, roots, 3, order), 4);
    assert_int_equal(order[0], tensor_node(x));
    assert_int_equal(order[1], tensor_node(first));
    assert_int_equal(order[2], tensor_node(late));
    assert_int_equal(order[3], tensor_node(second));
    for (uint32_t i = 0; i < 4; i++) { assert_int_not_equal(order[i], tensor_node(unused)); }
    assert_int_equal(graph_schedule(graph, roots, 0, order), 0);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_run_when_they_are_first_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
