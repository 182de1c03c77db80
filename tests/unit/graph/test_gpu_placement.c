/* graph/gpu_placement.h: which devices of a graph count, and its copy for tasks. */
#include "graph/gpu_placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/core/node.h"
#include "tests/portable/networks.h"

static struct gpu_placement placement_of(const struct tn_graph *graph)
{
    struct gpu_placement placement;
    assert_int_equal(gpu_placement_of(graph, &placement, NULL), TN_OK);
    return placement;
}

static void devices_are_counted(void **state)
{
    static const struct {
        const char *first, *second;
        uint32_t gpus;
        bool has_cpu;
    } cases[] = {
        {"", "", 0, false},
        {"/job:worker/task:3", "/job:ps", 0, false},
        {"/cpu:0", "", 0, false},
        {"/gpu:0", "", 1, false},
        {"/gpu:0", "/cpu:0", 1, true},
        {"/job:worker/task:1/gpu:6", "/gpu:2", 7, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tn_graph *graph = network_graph(&networks[0]);
        uint32_t first = 0;
        while (graph->nodes[first].op->traits.leaf || graph->nodes[first].op->traits.view) {
            first++;
        }
        graph->nodes[first].device = cases[i].first;
        graph->nodes[graph->count - 1].device = cases[i].second;
        const struct gpu_placement placement = placement_of(graph);
        assert_int_equal(placement.gpus, cases[i].gpus);
        assert_int_equal(placement.has_cpu, cases[i].has_cpu);
        assert_int_equal(gpu_placement_tasks(placement), cases[i].gpus + cases[i].has_cpu);
        tn_graph_destroy(graph);
    }
}

/* Its operations are on "/gpu:0", its fields and what depends only on them on the CPU. */
static struct tn_graph *graph_of_one_gpu(bool with_table)
{
    struct tn_graph *g = NULL;
    assert_int_equal(tn_graph_create(&g, NULL), TN_OK);
    tn_device_begin(g, "/cpu:0");
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 5, 2));
    x = tn_reshape(g, x, TN_SHAPE(TN_BATCH, 10));
    tn_tensor one = tn_scalar(g, 1);
    if (with_table) {
        tn_tensor keys = tn_placeholder(g, "keys", TN_INT64, TN_SHAPE(TN_BATCH, 1));
        tn_tensor rows =
            tn_lookup(g, tn_table_create(g, "rows", 10, NULL), keys, 0, 1, TN_POOL_NONE);
        x = tn_add(g, x, tn_reshape(g, rows, TN_SHAPE(TN_BATCH, 10)));
    }
    tn_device_end(g);
    tn_device_begin(g, "/gpu:0");
    x = network_dense(g, "one", tn_add(g, x, one), 10, TN_TANH);
    tn_loss(g, tn_softmax_cross_entropy(g, x, network_labels(g)), 1);
    tn_device_end(g);
    return g;
}

/* Placeholders, constants, other shapes and operations that nothing needs do not count. */
static void only_what_runs_is_counted(void **state)
{
    (void)state;
    struct tn_graph *graph = graph_of_one_gpu(false);
    tn_device_begin(graph, "/gpu:5");
    (void)tn_activate(graph, tn_placeholder(graph, "dead", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3)),
                      TN_TANH);
    tn_device_end(graph);
    tn_device_begin(graph, "/cpu:1");
    tn_tensor last = tn_placeholder(graph, "z", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3));
    tn_device_end(graph);
    struct gpu_placement placement = placement_of(graph);
    assert_true(placement.gpus == 1 && !placement.has_cpu && placement.table == NULL);
    tn_output(graph, "z", last);
    tn_device_begin(graph, "/gpu:1");
    tn_output(graph, "tanh", tn_activate(graph, last, TN_TANH));
    tn_device_end(graph);
    placement = placement_of(graph);
    assert_true(placement.gpus == 2 && !placement.has_cpu);
    /* The devices that do not count are not tasks either. */
    struct tn_graph *tasks = NULL;
    assert_int_equal(gpu_placement_as_tasks(graph, &tasks, NULL), TN_OK);
    for (uint32_t i = 0; i < tasks->count; i++) {
        if (tasks->nodes[i].op->traits.leaf || tasks->nodes[i].op->traits.view) { continue; }
        assert_true(strcmp(tasks->nodes[i].device, "/job:worker/task:0") == 0 ||
                    strcmp(tasks->nodes[i].device, "/job:worker/task:1") == 0);
    }
    tn_graph_destroy(tasks);
    tn_graph_destroy(graph);
}

/* A model with tables is on its only GPU, also the operations on the CPU. */
static void tables_are_beside_one_gpu(void **state)
{
    (void)state;
    struct tn_graph *graph = graph_of_one_gpu(true);
    struct gpu_placement placement = placement_of(graph);
    assert_true(placement.gpus == 1 && gpu_placement_tasks(placement) == 1);
    assert_string_equal(placement.table, "rows");
    tn_device_begin(graph, "/gpu:1");
    tn_output(graph, "two", tn_activate(graph, network_weights(graph, "v", TN_SHAPE(3)), TN_TANH));
    tn_device_end(graph);
    assert_int_equal(gpu_placement_tasks(placement_of(graph)), 3);
    tn_graph_destroy(graph);
}

/* A worker has one CPU. Fields may be anywhere. */
static void another_cpu_is_refused(void **state)
{
    (void)state;
    struct tn_graph *graph = graph_of_one_gpu(false), *tasks = NULL;
    struct error error = {.text = ""};
    tn_device_begin(graph, "/cpu:1");
    tn_tensor z = tn_placeholder(graph, "z", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3));
    tn_output(graph, "z", z);
    assert_int_equal(gpu_placement_as_tasks(graph, &tasks, NULL), TN_OK);
    tn_graph_destroy(tasks);
    tn_output(graph, "tanh", tn_activate(graph, z, TN_TANH));
    tn_device_end(graph);
    assert_true(placement_of(graph).has_cpu);
    assert_int_equal(gpu_placement_as_tasks(graph, &tasks, &error), TN_EINVAL);
    assert_null(tasks);
    assert_non_null(
        strstr(error.text, "is placed on '/cpu:1', but a worker has one CPU: give /cpu:0"));
    tn_graph_destroy(graph);
}

/* The graph's own error. */
static void an_error_of_the_graph_is_kept(void **state)
{
    (void)state;
    struct tn_graph *graph = graph_of_one_gpu(false);
    struct gpu_placement placement;
    struct error error = {.text = ""};
    tn_device_begin(graph, "/gpu");
    assert_int_equal(gpu_placement_of(graph, &placement, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "/gpu"));
    assert_int_equal(placement.gpus, 0);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_counted),
        cmocka_unit_test(only_what_runs_is_counted),
        cmocka_unit_test(tables_are_beside_one_gpu),
        cmocka_unit_test(another_cpu_is_refused),
        cmocka_unit_test(an_error_of_the_graph_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
