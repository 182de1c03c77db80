/* graph/core/scope.c: scopes, paths and devices. */
#include "graph/core/build.h"
#include "tests/unit/support/graphs.h"

static void expect_error(struct tn_graph *graph, const char *part)
{
    struct tn_error error = {.text = ""};
    assert_int_equal(tn_graph_status(graph, &error), TN_EINVAL);
    if (strstr(error.text, part) == NULL) { fail_msg("'%s' lacks '%s'", error.text, part); }
    tn_graph_destroy(graph);
}

static void names_are_paths(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_scope_begin(graph, "block2");
    tn_scope_begin(graph, "attention");
    tn_tensor w = weights_of(graph, "weights", TN_SHAPE(2));
    tn_scope_end(graph);
    tn_tensor gain = weights_of(graph, "gain", TN_SHAPE(2));
    tn_scope_end(graph);
    tn_tensor top = weights_of(graph, "top", TN_SHAPE(2));
    assert_string_equal(node_of(graph, w)->attributes.name, "block2/attention/weights");
    assert_string_equal(node_of(graph, w)->scope, "block2/attention");
    assert_string_equal(node_of(graph, gain)->attributes.name, "block2/gain");
    assert_string_equal(node_of(graph, top)->attributes.name, "top");
    assert_int_equal(tn_graph_status(graph, NULL), TN_OK);
    tn_graph_destroy(graph);
}

static void wrong_names_and_nesting_are_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    weights_of(graph, "a/b", TN_SHAPE(2));
    expect_error(graph, "name 'a/b' is not valid");
    graph = new_graph();
    tn_scope_begin(graph, "");
    expect_error(graph, "name '' is not valid");
    graph = new_graph();
    tn_scope_end(graph);
    expect_error(graph, "tn_scope_end() without tn_scope_begin()");
    graph = new_graph();
    for (int i = 0; i < 17; i++) { tn_scope_begin(graph, "s"); }
    expect_error(graph, "nested more than 16 deep");
    graph = new_graph();
    char name[TN_NAME_MAX + 1] = "";
    memset(name, 'x', TN_NAME_MAX);
    tn_scope_begin(graph, name);
    expect_error(graph, "more than 127 characters");
}

static void devices_nest(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_device_begin(graph, "/job:ps/task:1");
    tn_tensor a = weights_of(graph, "a", TN_SHAPE(2));
    tn_device_begin(graph, "/gpu:0");
    tn_tensor b = weights_of(graph, "b", TN_SHAPE(2));
    tn_device_end(graph);
    tn_device_end(graph);
    tn_tensor c = weights_of(graph, "c", TN_SHAPE(2));
    assert_string_equal(node_of(graph, a)->device, "/job:ps/task:1");
    assert_string_equal(node_of(graph, b)->device, "/job:ps/task:1/gpu:0");
    assert_string_equal(node_of(graph, c)->device, "");
    tn_device_end(graph);
    expect_error(graph, "tn_device_end() without tn_device_begin()");
    graph = new_graph();
    tn_device_begin(graph, "/job:chief");
    expect_error(graph, "device '/job:chief' is wrong at '/job:chief'");
    graph = new_graph();
    for (int i = 0; i < 16; i++) { tn_device_begin(graph, "/cpu:0"); }
    expect_error(graph, "nested more than 15 deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_paths),
        cmocka_unit_test(wrong_names_and_nesting_are_refused),
        cmocka_unit_test(devices_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
