/* graph/passes/place.c: which task computes each node. */
#include "graph/passes/place.h"

#include "graph/canonical.h"
#include "tests/unit/support/graphs.h"

static tn_tensor input_field(struct tn_graph *graph)
{
    return tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 4));
}

static void place(const struct tn_graph *graph, uint32_t count, uint32_t *tasks)
{
    struct error error = {.text = ""};
    if (pass_place(graph, count, tasks, &error) != TN_OK) { fail_msg("%s", error.text); }
}

static void assert_refused(const struct tn_graph *graph, uint32_t count, const char *text)
{
    uint32_t tasks[32];
    struct error error = {.text = ""};
    assert_int_equal(pass_place(graph, count, tasks, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
}

/* A device names the task; an operation before it follows, and one without a device near it is task
 * 0's. */
static void devices_name_tasks(void **state)
{
    (void)state;
    uint32_t tasks[32];
    struct tn_graph *graph = new_graph();
    tn_tensor x = input_field(graph);
    tn_tensor first = tn_exp(graph, x);
    tn_device_begin(graph, "/job:worker/task:2");
    tn_tensor second = tn_exp(graph, first);
    tn_device_end(graph);
    tn_tensor lone = tn_exp(graph, tn_exp(graph, x));
    place(graph, 3, tasks);
    assert_int_equal(tasks[tensor_node(x)], PLACE_ANY);
    assert_int_equal(tasks[tensor_node(first)], 2);
    assert_int_equal(tasks[tensor_node(lone)], 0);
    assert_int_equal(tasks[tensor_node(lone) - 1], 0);
    assert_int_equal(tasks[tensor_node(second)], 2);
    tn_graph_destroy(graph);
}

/* An operation follows its first input with a task, a variable its first reader. */
static void nodes_without_a_task_follow(void **state)
{
    (void)state;
    uint32_t tasks[32];
    struct tn_graph *graph = new_graph();
    tn_tensor x = input_field(graph);
    tn_tensor free = weights_of(graph, "free", TN_SHAPE(4, 4));
    tn_device_begin(graph, "/job:worker/task:1");
    tn_tensor held = weights_of(graph, "held", TN_SHAPE(4));
    tn_device_end(graph);
    tn_device_begin(graph, "/job:ps/task:3");
    tn_tensor of_ps = weights_of(graph, "of_ps", TN_SHAPE(4));
    tn_device_end(graph);
    tn_tensor sum = tn_add(graph, x, held);
    tn_tensor product = tn_matmul(graph, sum, free, false, false);
    tn_device_begin(graph, "/job:worker/task:0");
    tn_tensor other = tn_matmul(graph, x, free, false, false);
    tn_device_end(graph);
    tn_tensor last = tn_add(graph, other, of_ps);
    place(graph, 2, tasks);
    assert_int_equal(tasks[tensor_node(held)], 1);
    assert_int_equal(tasks[tensor_node(sum)], 1);
    assert_int_equal(tasks[tensor_node(product)], 1);
    assert_int_equal(tasks[tensor_node(free)], 1);
    assert_int_equal(tasks[tensor_node(last)], 0);
    assert_int_equal(tasks[tensor_node(of_ps)], 0);
    tn_graph_destroy(graph);
}

/* The error of a device that cannot be used names the node and the device. */
static void impossible_devices_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"/job:worker/task:2",
         "exp 'tower' cannot be placed on '/job:worker/task:2': the tasks are "
         "0 to 1"},
        {"/job:ps/task:0", "exp 'tower' cannot be placed on '/job:ps/task:0': operations"},
        {"/gpu:0", "exp 'tower' cannot be placed on '/gpu:0': the tasks compute on CPUs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tn_graph *graph = new_graph();
        tn_tensor x = input_field(graph);
        tn_scope_begin(graph, "tower");
        tn_device_begin(graph, cases[i][0]);
        tn_exp(graph, x);
        tn_device_end(graph);
        tn_scope_end(graph);
        assert_refused(graph, 2, cases[i][1]);
        tn_graph_destroy(graph);
    }
}

/* With one task the error names it; a variable is named by its path. */
static void a_lone_task_is_named(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_device_begin(graph, "/job:worker/task:1");
    weights_of(graph, "w", TN_SHAPE(4));
    tn_device_end(graph);
    assert_refused(graph, 1,
                   "variable 'w' cannot be placed on '/job:worker/task:1': there is only "
                   "one task");
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_name_tasks),
        cmocka_unit_test(nodes_without_a_task_follow),
        cmocka_unit_test(impossible_devices_are_refused),
        cmocka_unit_test(a_lone_task_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
