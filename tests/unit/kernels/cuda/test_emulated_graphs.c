/* kernels/cuda/emulated_graphs.c: graphs of the emulated driver run their kernels in the order of
 * the dependencies, with the arguments of their launch, and refuse handles that were destroyed. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/emulated_driver.h"
#include "tests/unit/kernels/gpu/machine.h"

enum { COUNT = 32 };

static const struct gpu_driver *driver;

struct step_task {
    float factor, term;
    float *x;
};

KERNEL(stepped, struct step_task)
{
    EACH_ELEMENT(i, COUNT)
    {
        a.x[i] = a.x[i] * a.factor + a.term;
    }
}

/* A graph of two steps over memory that is zero: (0 * 1 + 3) * 2 + 1 = 7, and 4 in the wrong
 * order. */
struct pair {
    gpu_address memory;
    struct step_task tasks[2];
    struct gpu_graph *graph;
    struct gpu_node *nodes[2];
};

static struct gpu_kernel_node node_of(struct step_task *task, void **arguments)
{
    struct gpu_module *module = NULL;
    struct gpu_kernel_node node = {.blocks_x = 1,
                                   .blocks_y = 1,
                                   .blocks_z = 1,
                                   .threads_x = COUNT,
                                   .threads_y = 1,
                                   .threads_z = 1,
                                   .arguments = arguments};
    *arguments = task;
    assert_int_equal(driver->module_load(&module, EMULATED_IMAGE), GPU_SUCCESS);
    assert_int_equal(driver->module_function(&node.function, module, "stepped"), GPU_SUCCESS);
    assert_int_equal(driver->module_unload(module), GPU_SUCCESS);
    return node;
}

static struct pair make_pair(const char *settings, bool with_order)
{
    struct pair pair = {.memory = 0};
    driver = emulated_driver();
    assert_int_equal(machine(settings, NULL), GPU_SUCCESS);
    use_device(0);
    assert_int_equal(driver->allocate(&pair.memory, COUNT * sizeof(float)), GPU_SUCCESS);
    assert_int_equal(driver->fill(pair.memory, 0, COUNT * sizeof(float), NULL), GPU_SUCCESS);
    assert_int_equal(driver->graph_create(&pair.graph, 0), GPU_SUCCESS);
    float *x = (float *)(uintptr_t)pair.memory;
    pair.tasks[0] = (struct step_task){.factor = 1, .term = 3, .x = x};
    pair.tasks[1] = (struct step_task){.factor = 2, .term = 1, .x = x};
    for (size_t i = 0; i < 2; i++) {
        void *arguments = NULL;
        const struct gpu_kernel_node node = node_of(&pair.tasks[i], &arguments);
        const size_t count = with_order ? i : 0;
        assert_int_equal(
            driver->graph_add_kernel(&pair.nodes[i], pair.graph, pair.nodes, count, &node),
            GPU_SUCCESS);
        pair.tasks[i].term = 99; /* The arguments were copied. */
    }
    return pair;
}

static float result_of(const struct pair *pair)
{
    float out[COUNT] = {0};
    assert_int_equal(driver->download(out, pair->memory, sizeof out, NULL), GPU_SUCCESS);
    assert_int_equal(driver->stream_wait(NULL), GPU_SUCCESS);
    return out[COUNT - 1];
}

static void kernels_run_in_the_order_of_dependencies(void **state)
{
    (void)state;
    static const char *const orders[] = {"", "order=copies", "order=kernels",
                                         "order=random,seed=3"};
    for (size_t i = 0; i < 2 * sizeof orders / sizeof orders[0]; i++) {
        const struct pair pair = make_pair(orders[i / 2], i % 2 == 0);
        struct gpu_graph_exec *exec = NULL;
        assert_int_equal(driver->graph_instantiate(&exec, pair.graph, 0), GPU_SUCCESS);
        assert_int_equal(driver->graph_launch(exec, NULL), GPU_SUCCESS);
        assert_true(result_of(&pair) == (i % 2 == 0 ? 7.0F : 4.0F));
        assert_int_equal(driver->graph_exec_destroy(exec), GPU_SUCCESS);
        assert_int_equal(driver->graph_destroy(pair.graph), GPU_SUCCESS);
    }
}

/* New arguments are those of later launches only; a graph that was launched may be destroyed. */
static void arguments_change_between_launches(void **state)
{
    (void)state;
    struct pair pair = make_pair("order=late", true);
    struct gpu_graph_exec *exec = NULL;
    void *arguments = NULL;
    assert_int_equal(driver->graph_instantiate(&exec, pair.graph, 0), GPU_SUCCESS);
    assert_int_equal(driver->graph_launch(exec, NULL), GPU_SUCCESS); /* 7 */
    pair.tasks[0].term = 5;
    struct gpu_kernel_node node = node_of(&pair.tasks[0], &arguments);
    assert_int_equal(driver->graph_set_kernel(exec, pair.nodes[0], &node), GPU_SUCCESS);
    assert_int_equal(driver->graph_launch(exec, NULL), GPU_SUCCESS); /* (7 + 5) * 2 + 1 */
    assert_int_equal(driver->graph_destroy(pair.graph), GPU_SUCCESS);
    assert_int_equal(driver->graph_set_kernel(exec, pair.nodes[0], &node), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_exec_destroy(exec), GPU_SUCCESS);
    assert_true(result_of(&pair) == 25.0F);
    const struct emulated_graph_counts counts = emulated_graph_counts();
    assert_int_equal(counts.graphs, 0);
    assert_int_equal(counts.execs, 0);
}

static void wrong_handles_and_arguments_are_refused(void **state)
{
    (void)state;
    struct pair pair = make_pair("", true);
    struct gpu_graph_exec *exec = NULL;
    struct gpu_graph *other = NULL;
    struct gpu_node *more = NULL;
    void *arguments = NULL;
    struct gpu_kernel_node node = node_of(&pair.tasks[0], &arguments);
    assert_int_equal(driver->graph_create(&other, 1), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_create(&other, 0), GPU_SUCCESS);
    assert_int_equal(driver->graph_add_kernel(&more, other, pair.nodes, 1, &node),
                     GPU_INVALID_VALUE); /* A dependency of another graph. */
    node.threads_x = 0;
    assert_int_equal(driver->graph_add_kernel(&more, other, NULL, 0, &node), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_instantiate(&exec, other, 7), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_destroy(other), GPU_SUCCESS);
    assert_int_equal(driver->graph_destroy(other), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_instantiate(&exec, other, 0), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_instantiate(&exec, pair.graph, 0), GPU_SUCCESS);
    assert_int_equal(driver->graph_exec_destroy(exec), GPU_SUCCESS);
    assert_int_equal(driver->graph_launch(exec, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_exec_destroy(exec), GPU_INVALID_VALUE);
    assert_int_equal(driver->graph_destroy(pair.graph), GPU_SUCCESS);
}

/* The device has failed, or graphs cannot be made. */
static void failures_are_reported(void **state)
{
    (void)state;
    struct pair pair = make_pair("graphs=801", true);
    struct gpu_graph_exec *exec = NULL;
    assert_int_equal(driver->graph_instantiate(&exec, pair.graph, 0), GPU_NOT_SUPPORTED);
    assert_int_equal(driver->graph_destroy(pair.graph), GPU_SUCCESS);
    pair = make_pair("operations=2,error=719", true); /* A fill and the first kernel. */
    assert_int_equal(driver->graph_instantiate(&exec, pair.graph, 0), GPU_SUCCESS);
    assert_int_equal(driver->graph_launch(exec, NULL), GPU_SUCCESS);
    assert_int_equal(driver->stream_wait(NULL), GPU_LAUNCH_FAILED);
    assert_int_equal(driver->graph_launch(exec, NULL), GPU_LAUNCH_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_run_in_the_order_of_dependencies),
        cmocka_unit_test(arguments_change_between_launches),
        cmocka_unit_test(wrong_handles_and_arguments_are_refused),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
