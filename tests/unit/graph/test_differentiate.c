/* graph/differentiate.h: which gradients exist, and in which order they are added. */
#include "graph/differentiate.h"

#include "graph/canonical.h"
#include "graph/ops/ops.h"
#include "tests/unit/support/graphs.h"

static struct tn_graph *canonical_of(struct tn_graph *graph)
{
    struct tn_graph *copy = NULL;
    assert_int_equal(graph_canonical(graph, false, &copy, NULL), TN_OK);
    tn_graph_destroy(graph);
    return copy;
}

/* A value with three readers: the gradient of the last reader comes first (rule A9). */
static void gradients_meet_in_descending_order_of_consumers(void **state)
{
    (void)state;
    static tn_tensor gradients[TN_VARIABLES_MAX];
    struct tn_graph *graph = new_graph();
    tn_tensor w = weights_of(graph, "w", TN_SHAPE(1));
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_tensor y = tn_multiply(graph, x, w);
    tn_tensor sum = tn_add(graph, tn_scale(graph, y, 2), tn_scale(graph, y, 3));
    tn_loss(graph, tn_add(graph, sum, tn_scale(graph, y, 4)), 1);
    graph = canonical_of(graph);
    assert_int_equal(graph_differentiate(graph, gradients, NULL, NULL), TN_OK);
    /* ((dy * 4) + (dy * 3)) + (dy * 2) */
    static const double expected[] = {4, 3, 2};
    uint32_t found = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op != &op_add || node_of(graph, node->inputs[1])->op != &op_scale) { continue; }
        const struct node *left = node_of(graph, node->inputs[0]);
        const struct node *right = node_of(graph, node->inputs[1]);
        if (node_of(graph, right->inputs[0])->op != &op_loss_seed) { continue; }
        if (found == 0) { assert_true(left->attributes.numbers[0] == expected[0]); }
        assert_true(right->attributes.numbers[0] == expected[++found]);
    }
    assert_int_equal(found, 2);
    tn_graph_destroy(graph);
}

static void frozen_and_unread_variables_have_no_gradient(void **state)
{
    (void)state;
    static tn_tensor gradients[TN_VARIABLES_MAX];
    struct tn_graph *graph = new_graph();
    struct tn_variable_options frozen = {.update = TN_UPDATE_NEVER};
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_tensor a = weights_of(graph, "a", TN_SHAPE(1));
    tn_tensor b = tn_variable(graph, "b", TN_SHAPE(1), &frozen);
    tn_tensor c = weights_of(graph, "c", TN_SHAPE(1));
    tn_tensor product = tn_multiply(graph, tn_multiply(graph, x, a), b);
    tn_loss(graph, tn_multiply(graph, product, tn_stop_gradient(graph, c)), 1);
    graph = canonical_of(graph);
    assert_int_equal(graph_differentiate(graph, gradients, NULL, NULL), TN_OK);
    assert_int_not_equal(gradients[0].v, 0);
    assert_int_equal(gradients[1].v, 0);
    assert_int_equal(gradients[2].v, 0);
    tn_graph_destroy(graph);
}

/* The gradient of a gradient kernel is not defined; the error names it. */
static void an_operation_without_a_gradient_is_refused(void **state)
{
    (void)state;
    static tn_tensor gradients[TN_VARIABLES_MAX];
    struct error error;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_tensor y = tn_multiply(graph, x, weights_of(graph, "w", TN_SHAPE(1)));
    tn_scope_begin(graph, "deep");
    tn_loss(graph, graph_add2(graph, &op_clip_gradient, y, y), 1);
    tn_scope_end(graph);
    graph = canonical_of(graph);
    assert_int_equal(graph_differentiate(graph, gradients, NULL, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "scope 'deep': clip_gradient has no gradient"));
    tn_graph_destroy(graph);
}

static void a_graph_without_a_loss_is_refused(void **state)
{
    (void)state;
    static tn_tensor gradients[TN_VARIABLES_MAX];
    struct error error;
    struct tn_graph *graph = new_graph();
    tn_output(graph, "w", weights_of(graph, "w", TN_SHAPE(1)));
    graph = canonical_of(graph);
    assert_int_equal(graph_differentiate(graph, gradients, NULL, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "call tn_loss()"));
    tn_graph_destroy(graph);
}

/* Gradients carry the scope of the operation that they belong to. */
static void gradients_have_the_scope_of_their_operation(void **state)
{
    (void)state;
    static tn_tensor gradients[TN_VARIABLES_MAX];
    struct tn_graph *graph = canonical_of(layered_graph(2));
    assert_int_equal(graph_differentiate(graph, gradients, NULL, NULL), TN_OK);
    for (uint32_t i = 0; i < graph->variable_count; i++) {
        const char *scope = node_of(graph, gradients[i])->scope;
        assert_string_equal(scope, i < 2 ? "layer0" : "layer1");
    }
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_meet_in_descending_order_of_consumers),
        cmocka_unit_test(frozen_and_unread_variables_have_no_gradient),
        cmocka_unit_test(an_operation_without_a_gradient_is_refused),
        cmocka_unit_test(a_graph_without_a_loss_is_refused),
        cmocka_unit_test(gradients_have_the_scope_of_their_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
