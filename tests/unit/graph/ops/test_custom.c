/* graph/ops/custom.c: what a description must have, its place in the hash, and its checks. */
#include "tests/unit/graph/ops/cases_custom.h"

static void cases_pass(void **state)
{
    (void)state;
    RUN_CASES(cases_custom)
}

static void expect_refusal(const struct tn_operation *operation, const char *expected)
{
    struct tn_graph *graph = NULL;
    struct tn_error error = {.text = ""};
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    tn_tensor y = squares_of(graph, 4, operation);
    assert_int_equal(y.v, 0);
    assert_int_equal(tn_graph_status(graph, &error), TN_EINVAL);
    if (strstr(error.text, expected) == NULL) { fail_msg("%s: %s", expected, error.text); }
    tn_graph_destroy(graph);
}

static bool without_batch(const struct tn_value *inputs, const struct tn_constants *constants,
                          struct tn_value *output, char *why)
{
    (void)inputs, (void)constants, (void)why;
    *output = (struct tn_value){TN_FLOAT32, TN_SHAPE(4)};
    return true;
}

static bool of_no_type(const struct tn_value *inputs, const struct tn_constants *constants,
                       struct tn_value *output, char *why)
{
    (void)inputs, (void)constants, (void)why;
    output->type = (enum tn_type)9;
    return true;
}

#define CHANGED(name, member, new_value)                                                           \
    struct tn_operation name = squares;                                                            \
    name.member = new_value;

static void incomplete_descriptions_are_refused(void **state)
{
    (void)state;
    CHANGED(older, struct_size, 8)
    CHANGED(unnamed, name, NULL)
    CHANGED(with_path, name, "a/b")
    CHANGED(unversioned, version, 0)
    CHANGED(without_inputs, inputs, 0)
    CHANGED(with_seven, inputs, 7)
    CHANGED(without_forward, forward, NULL)
    CHANGED(without_double, forward_double, NULL)
    CHANGED(half_a_gradient, backward_double, NULL)
    CHANGED(mixing, infer, without_batch)
    CHANGED(untyped, infer, of_no_type)
    expect_refusal(&older, "custom operation 'squares': struct_size");
    expect_refusal(&unnamed, "its name is not valid");
    expect_refusal(&with_path, "its name is not valid");
    expect_refusal(&unversioned, "its version is 0");
    expect_refusal(&without_inputs, "1 to 6 inputs");
    expect_refusal(&with_seven, "1 to 6 inputs");
    expect_refusal(&without_forward, "set forward and forward_double");
    expect_refusal(&without_double, "set forward and forward_double");
    expect_refusal(&half_a_gradient, "set backward and backward_double, or neither");
    expect_refusal(&mixing, "drops the batch");
    expect_refusal(&untyped, "gives type 9");
}

/* A second operation of one name is refused; the same one may be used again. */
static void names_are_unique_in_a_graph(void **state)
{
    (void)state;
    const struct tn_operation twin = squares;
    struct tn_graph *graph = NULL;
    struct tn_error error = {.text = ""};
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    assert_int_not_equal(squares_of(graph, 4, &squares).v, 0);
    assert_int_not_equal(squares_of(graph, 4, &squares).v, 0);
    assert_int_equal(squares_of(graph, 4, &twin).v, 0);
    assert_int_equal(tn_graph_status(graph, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "another one has this name"));
    tn_graph_destroy(graph);
}

static uint64_t hash_with(const struct tn_operation *operation, double number)
{
    struct tn_graph *graph = NULL;
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    const struct tn_constants constants = {.numbers = {number}};
    const tn_tensor inputs[] = {batch_value(graph, "a", TN_SHAPE(TN_BATCH, 4)),
                                variable(graph, "b", TN_SHAPE(4))};
    add_loss(graph, tn_custom(graph, operation, inputs, &constants));
    uint64_t hash = tn_graph_hash(graph);
    tn_graph_destroy(graph);
    return hash;
}

static void hash_has_name_version_and_constants(void **state)
{
    (void)state;
    CHANGED(renamed, name, "cubes")
    CHANGED(newer, version, 2)
    const uint64_t hash = hash_with(&squares, 0.5);
    const struct tn_operation copy = squares;
    assert_int_not_equal(hash, 0);
    assert_int_equal(hash_with(&copy, 0.5), hash);
    assert_int_not_equal(hash_with(&renamed, 0.5), hash);
    assert_int_not_equal(hash_with(&newer, 0.5), hash);
    assert_int_not_equal(hash_with(&squares, 0.25), hash);
}

static enum tn_status check_gradients(const struct tn_operation *operation, double *worst,
                                      struct tn_error *error)
{
    struct tn_graph *graph = NULL;
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    add_loss(graph, squares_of(graph, 4, operation));
    enum tn_status status = tn_check_gradients(graph, 3, 3, 16, worst, error);
    tn_graph_destroy(graph);
    return status;
}

/* Forgets the factor 2. */
static void half_of_the_gradient(const struct tn_kernel_call *call)
{
    squares_backward_double(call);
    double *dx = call->input_gradient.data;
    for (int64_t i = 0; i < shape_elements(&call->input_gradient.shape); i++) { dx[i] *= 0.5; }
}

/* Leaves the other examples out of the sum for the weights. */
static void of_the_first_example_only(const struct tn_kernel_call *call)
{
    struct tn_kernel_call one = *call;
    if (call->input == 1) { one.output.shape.dims[0] = 1; }
    squares_backward_double(&one);
}

static void wrong_gradients_are_found(void **state)
{
    (void)state;
    CHANGED(halved, backward_double, half_of_the_gradient)
    CHANGED(first_only, backward_double, of_the_first_example_only)
    struct tn_error error = {.text = ""};
    double worst = 1;
    assert_int_equal(check_gradients(&squares, &worst, &error), TN_OK);
    assert_true(worst < 1e-7);
    assert_int_equal(check_gradients(&halved, &worst, &error), TN_OK);
    assert_true(worst > 0.1);
    assert_int_equal(check_gradients(&first_only, &worst, &error), TN_OK);
    assert_true(worst > 0.01);
}

static void a_loss_through_an_operation_without_gradient_is_refused(void **state)
{
    (void)state;
    struct tn_operation constant = squares;
    struct tn_error error = {.text = ""};
    double worst = 1;
    constant.backward = constant.backward_double = NULL;
    assert_int_equal(check_gradients(&constant, &worst, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "'squares' has no gradient"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_pass),
        cmocka_unit_test(incomplete_descriptions_are_refused),
        cmocka_unit_test(names_are_unique_in_a_graph),
        cmocka_unit_test(hash_has_name_version_and_constants),
        cmocka_unit_test(wrong_gradients_are_found),
        cmocka_unit_test(a_loss_through_an_operation_without_gradient_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
