/* graph/numerics.c: TANIST_CHECK_NUMERICS names the first value that is not finite. */
#include <math.h>

#include "tests/unit/support/graphs.h"

static void expect(const char *variable, float x, float w, const char *expected)
{
    struct tn_error error = {.text = ""};
    struct tn_graph *graph = new_graph();
    tn_scope_begin(graph, "head");
    tn_tensor field = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH));
    tn_tensor y = tn_log(graph, tn_multiply(graph, field, weights_of(graph, "w", TN_SHAPE(1))));
    tn_scope_end(graph);
    tn_loss(graph, y, 1);
    setenv("TANIST_CHECK_NUMERICS", variable, 1);
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 2});
    float gradient = 0;
    float *data = tn_program_field(program, "x").data;
    data[0] = 1;
    data[1] = x;
    struct tn_run run = {sizeof run, .values = &w, .step = 7, .first = 64, .gradient = &gradient};
    enum tn_status status = tn_program_run(program, &run, &error);
    assert_int_equal(status, expected == NULL ? TN_OK : TN_EINVAL);
    if (expected != NULL && strstr(error.text, expected) == NULL) {
        fail_msg("'%s' lacks '%s'", error.text, expected);
    }
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

static void the_first_value_is_named(void **state)
{
    (void)state;
    expect("1", 0, 1, "scope 'head', log, element 1 of float32 [2], step 7, slice from example 64");
    expect("1", NAN, 1, "placeholder x, element 1");
    expect("1", 1, INFINITY, "variable head/w, element 0");
    expect("1", 1, 1, NULL);
}

static void without_the_variable_runs_do_not_fail(void **state)
{
    (void)state;
    expect("0", 0, 1, NULL);
    expect("", NAN, 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_value_is_named),
        cmocka_unit_test(without_the_variable_runs_do_not_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
