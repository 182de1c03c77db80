/* graph/passes/fuse.c: chains become one operation where nothing else reads their values. */
#include "graph/ops/ops.h"
#include "graph/passes/passes.h"
#include "graph/reference/backend.h"
#include "tests/unit/support/graphs.h"

static uint32_t fused_in(struct tn_graph *graph, tn_tensor *roots, uint32_t count)
{
    uint32_t fused = 0;
    struct pass pass = {graph, backend_reference(), roots, count};
    assert_int_equal(pass_fuse(&pass, &fused, NULL), TN_OK);
    return fused;
}

struct chain {
    struct tn_graph *graph;
    tn_tensor product, sum, relu;
};

static struct chain new_chain(struct tn_shape bias)
{
    struct tn_graph *graph = new_graph();
    tn_tensor a = weights_of(graph, "a", TN_SHAPE(3, 4)),
              b = weights_of(graph, "b", TN_SHAPE(4, 5));
    tn_tensor product = tn_matmul(graph, a, b, false, false);
    tn_tensor sum = tn_add(graph, product, weights_of(graph, "bias", bias));
    return (struct chain){graph, product, sum, tn_activate(graph, sum, TN_RELU)};
}

static void whole_chains_are_fused(void **state)
{
    (void)state;
    struct chain chain = new_chain(TN_SHAPE(5));
    assert_int_equal(fused_in(chain.graph, &chain.relu, 1), 2);
    const struct node *fused = node_of(chain.graph, chain.relu);
    assert_ptr_equal(fused->op, &op_matmul_add_relu);
    assert_int_equal(fused->input_count, 3);
    tn_graph_destroy(chain.graph);
}

static void values_with_other_readers_are_kept(void **state)
{
    (void)state;
    struct chain chain = new_chain(TN_SHAPE(5));
    tn_tensor roots[] = {chain.relu, chain.sum};
    assert_int_equal(fused_in(chain.graph, roots, 2), 1); /* matmul + add only. */
    assert_ptr_equal(node_of(chain.graph, chain.sum)->op, &op_matmul_add);
    assert_ptr_equal(node_of(chain.graph, chain.relu)->op, &op_relu);
    tn_graph_destroy(chain.graph);
    chain = new_chain(TN_SHAPE(5));
    tn_tensor both[] = {tn_exp(chain.graph, chain.product), chain.relu};
    assert_int_equal(fused_in(chain.graph, both, 2), 0);
    tn_graph_destroy(chain.graph);
}

/* A reader that no root depends on does not count. */
static void unneeded_readers_do_not_prevent_it(void **state)
{
    (void)state;
    struct chain chain = new_chain(TN_SHAPE(5));
    tn_exp(chain.graph, chain.product);
    assert_int_equal(fused_in(chain.graph, &chain.relu, 1), 2);
    tn_graph_destroy(chain.graph);
}

static void other_sums_are_not_fused(void **state)
{
    (void)state;
    struct chain chain = new_chain(TN_SHAPE(3, 1)); /* A column, not a bias. */
    assert_int_equal(fused_in(chain.graph, &chain.relu, 1), 0);
    tn_graph_destroy(chain.graph);
    chain = new_chain(TN_SHAPE(2, 3, 5)); /* The result is larger than the product. */
    assert_int_equal(fused_in(chain.graph, &chain.relu, 1), 0);
    tn_graph_destroy(chain.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_chains_are_fused),
        cmocka_unit_test(values_with_other_readers_are_kept),
        cmocka_unit_test(unneeded_readers_do_not_prevent_it),
        cmocka_unit_test(other_sums_are_not_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
