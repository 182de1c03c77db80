/* graph/passes/fold.c: what depends on constants alone is computed once. */
#include "graph/ops/ops.h"
#include "graph/passes/passes.h"
#include "graph/reference/backend.h"
#include "tests/unit/support/graphs.h"

static uint32_t folded_in(struct tn_graph *graph, const struct backend *backend)
{
    uint32_t folded = 0;
    struct pass pass = {.graph = graph, .backend = backend};
    assert_int_equal(pass_fold(&pass, &folded, NULL), TN_OK);
    return folded;
}

static void constants_are_folded(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor two = tn_scalar(graph, 2);
    tn_tensor sum = tn_add(graph, two, tn_scale(graph, two, 3));
    tn_tensor view = tn_reshape(graph, sum, TN_SHAPE(1, 1));
    tn_tensor x = tn_multiply(graph, view, weights_of(graph, "w", TN_SHAPE(2, 2)));
    assert_int_equal(folded_in(graph, backend_reference()), 3);
    assert_ptr_equal(node_of(graph, view)->op, &op_constant);
    assert_true(*(const float *)node_of(graph, view)->attributes.data == 8);
    assert_int_equal(shape_of(graph, view)->rank, 2);
    assert_ptr_equal(node_of(graph, x)->op, &op_multiply);
    assert_int_equal(folded_in(graph, backend_reference()), 0);
    tn_graph_destroy(graph);
}

/* The seed of the gradient depends on the run. */
static void varying_nodes_are_not_folded(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    graph_add1(graph, &op_loss_seed, tn_scalar(graph, 2));
    assert_int_equal(folded_in(graph, backend_reference()), 0);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(varying_nodes_are_not_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
