/* graph/core/build.h: errors stick, and name scope, operation, shapes and remedy. */
#include "graph/core/build.h"

#include "tests/unit/support/graphs.h"

static void expect_error(struct tn_graph *graph, enum tn_status status, const char *part)
{
    struct tn_error error = {.text = ""};
    assert_int_equal(tn_graph_status(graph, &error), status);
    if (strstr(error.text, part) == NULL) { fail_msg("'%s' lacks '%s'", error.text, part); }
    assert_int_equal(tn_graph_hash(graph), 0);
    tn_graph_destroy(graph);
}

/* Later calls do nothing, and the first error stays. */
static void the_first_error_sticks(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_scope_begin(graph, "block2");
    tn_scope_begin(graph, "dense");
    tn_tensor x = tn_placeholder(graph, "image", TN_FLOAT32, TN_SHAPE(TN_BATCH, 784));
    tn_tensor w = weights_of(graph, "weights", TN_SHAPE(100, 10));
    tn_tensor y = tn_matmul(graph, x, w, false, false);
    assert_int_equal(y.v, 0);
    uint32_t count = graph->count;
    assert_int_equal(tn_add(graph, y, x).v, 0);
    assert_int_equal(tn_exp(graph, x).v, 0);
    tn_scope_end(graph);
    tn_loss(graph, y, 1);
    assert_int_equal(tn_graph_fail(graph, "another error").v, 0);
    assert_int_equal(graph->count, count);
    assert_int_equal(graph->mark_count, 0);
    expect_error(graph, TN_EINVAL,
                 "scope 'block2/dense': matmul(float32 [batch, 784], float32 [100, 10]): the inner "
                 "dimensions are 784 and 100: make them equal");
}

static void a_value_of_no_graph_is_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_exp(graph, TN_NONE);
    expect_error(graph, TN_EINVAL, "exp: input 0 is TN_NONE");
    graph = new_graph();
    tn_exp(graph, (tn_tensor){77});
    expect_error(graph, TN_EINVAL, "is not a value of this graph");
    graph = new_graph();
    tn_tensor x = weights_of(graph, "x", TN_SHAPE(2));
    tn_exp(graph, (tn_tensor){x.v + 1}); /* A variable has one output. */
    expect_error(graph, TN_EINVAL, "is not a value of this graph");
}

static void marks_are_checked(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_loss(graph, weights_of(graph, "x", TN_SHAPE(2)), 1);
    expect_error(graph, TN_EINVAL,
                 "tn_loss: the value is float32 [2]: give one number per example");
    graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_output(graph, "x", x);
    tn_metric(graph, "x", x);
    expect_error(graph, TN_EEXIST, "name 'x' exists twice");
    graph = new_graph();
    tn_output(graph, "x", TN_NONE);
    expect_error(graph, TN_EINVAL, "tn_output: the value is TN_NONE");
    graph = new_graph();
    tn_loss(graph, tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH)), 1.0F / 0.0F);
    expect_error(graph, TN_EINVAL, "the weight is inf");
}

static void options_of_variables_are_checked(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    struct tn_variable_options options = {.init = TN_INIT_NORMAL};
    tn_variable(graph, "w", TN_SHAPE(2), &options);
    expect_error(graph, TN_EINVAL, "give a scale above 0");
    graph = new_graph();
    options = (struct tn_variable_options){.update = TN_UPDATE_AVERAGE, .momentum = 1};
    tn_variable(graph, "w", TN_SHAPE(2), &options);
    expect_error(graph, TN_EINVAL, "a momentum of 1");
}

/* Shape and type of a value, also of no value. */
static void values_have_shapes_and_types(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_UINT8, TN_SHAPE(TN_BATCH, 3));
    assert_int_equal(tn_type_of(graph, x), TN_UINT8);
    assert_int_equal(tn_shape_of(graph, x).dims[1], 3);
    assert_int_equal(tn_type_of(graph, TN_NONE), 0);
    assert_int_equal(tn_shape_of(graph, TN_NONE).rank, 0);
    tn_graph_destroy(graph);
    tn_graph_destroy(NULL);
}

/* Constants of many sizes stay as they were given, in memory that is aligned. */
static void constants_are_copied(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor constants[40];
    for (uint32_t i = 0; i < 40; i++) {
        size_t count = 1 + (size_t)i * 211;
        float *values = calloc(count, sizeof *values);
        values[count - 1] = (float)i;
        struct tn_view view = {TN_FLOAT32, TN_SHAPE((int64_t)count), values};
        constants[i] = tn_constant(graph, view);
        free(values);
    }
    for (uint32_t i = 0; i < 40; i++) {
        const float *data = node_of(graph, constants[i])->attributes.data;
        assert_true(data[(size_t)i * 211] == (float)i);
        assert_int_equal((uintptr_t)data % 64, 0);
    }
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_sticks),
        cmocka_unit_test(a_value_of_no_graph_is_refused),
        cmocka_unit_test(marks_are_checked),
        cmocka_unit_test(options_of_variables_are_checked),
        cmocka_unit_test(values_have_shapes_and_types),
        cmocka_unit_test(constants_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
