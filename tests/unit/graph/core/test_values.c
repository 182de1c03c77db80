/* Given initial values: copied once, shared by all graphs that are made from a graph. */
#include "graph/core/values.h"

#include <math.h>

#include "graph/canonical.h"
#include "tests/unit/support/graphs.h"

/* x times a variable with these values. */
static struct tn_graph *graph_with(const float *values)
{
    struct tn_graph *graph = new_graph();
    const struct tn_variable_options options = {.init = TN_INIT_VALUES, .values = values};
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3));
    x = tn_multiply(graph, x, tn_variable(graph, "w", TN_SHAPE(3), &options));
    tn_loss(graph, tn_mean(graph, x, (uint32_t[]){1}, 1), 1);
    return graph;
}

static const struct shared_values *values_of(const struct tn_graph *graph)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].attributes.initial != NULL) {
            return graph->nodes[i].attributes.initial;
        }
    }
    return NULL;
}

static void copies_of_a_graph_share_the_values(void **state)
{
    (void)state;
    float given[] = {1, -2, 0.5F}, read[3] = {0};
    struct tn_graph *graph = graph_with(given), *copy = NULL;
    const float expected[] = {1, -2, 0.5F};
    given[0] = 9; /* They were copied. */
    assert_int_equal(graph_canonical(graph, false, &copy, NULL), TN_OK);
    assert_ptr_equal(values_of(graph), values_of(copy));
    struct tn_program *program = new_program(graph, (struct tn_program_options){.mode = TN_TRAIN});
    tn_graph_destroy(graph);
    assert_memory_equal(values_of(copy)->values, expected, sizeof expected);
    tn_graph_destroy(copy);
    tn_program_initialize(program, 1, read);
    assert_memory_equal(read, expected, sizeof expected);
    tn_program_destroy(program);
}

static void other_values_have_another_hash(void **state)
{
    (void)state;
    struct tn_graph *graphs[] = {graph_with((float[]){1, 2, 3}), graph_with((float[]){1, 2, 4}),
                                 graph_with((float[]){1, 2, 3})};
    assert_true(tn_graph_hash(graphs[0]) != tn_graph_hash(graphs[1]));
    assert_true(tn_graph_hash(graphs[0]) == tn_graph_hash(graphs[2]));
    for (int i = 0; i < 3; i++) { tn_graph_destroy(graphs[i]); }
}

static void expect_refusal(const float *values, const char *text)
{
    struct tn_error error = {.text = ""};
    struct tn_graph *graph = graph_with(values);
    assert_int_equal(tn_graph_status(graph, &error), TN_EINVAL);
    assert_string_equal(error.text, text);
    tn_graph_destroy(graph);
}

static void missing_and_infinite_values_are_refused(void **state)
{
    (void)state;
    expect_refusal(NULL, "variable 'w': its init is TN_INIT_VALUES: give `values`");
    expect_refusal((float[]){1, 2, INFINITY},
                   "variable 'w': initial value 2 is inf: give finite numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_graph_share_the_values),
        cmocka_unit_test(other_values_have_another_hash),
        cmocka_unit_test(missing_and_infinite_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
