/* kernels/cuda/library.h: networks whose operations run on the library's kernels train to the same
 * digests as with the backend "portable". */
#include "graph/cuda/backend.h"
#include "graph/portable/backend.h"
#include "graph/program.h"
#include "tests/portable/networks.h"
#include "tests/unit/kernels/cuda/device.h"

/* Operations of the last program. */
static uint32_t on_device, on_host;

static void count_operations(const struct tn_program *program)
{
    on_device = on_host = 0;
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        const struct instruction *instruction = &program->instructions[i];
        const bool is_here = instruction->backend == program->backend;
        *(is_here ? &on_device : &on_host) += 1;
        if (!is_here) { print_message("cuda: on the CPU: %s\n", instruction->call.node->op->name); }
    }
}

static struct network_digests digests_on(const struct network *network,
                                         const struct backend *backend)
{
    const struct tn_program_options options = {
        .struct_size = sizeof options,
        .mode = TN_TRAIN,
        .examples = NETWORK_EXAMPLES,
    };
    struct tn_graph *graph = network_graph(network);
    struct tn_program *program = NULL;
    struct error error = {.text = ""};
    if (program_create(graph, &options, backend, &program, &error) != TN_OK) {
        fail_msg("%s: %s", network->name, error.text);
    }
    count_operations(program);
    const struct network_digests digests = network_train(program);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
    return digests;
}

/* Three steps of two slices each; all operations run on the device. */
static void networks_have_the_digests_of_the_cpu(void **state)
{
    (void)state;
    struct error error = {.status = TN_OK};
    const struct backend *portable = NULL;
    struct backend cuda;
    assert_int_equal(backend_portable(NULL, &portable, &error), TN_OK);
    assert_int_equal(backend_cuda_over(library, &cuda, &error), TN_OK);
    for (size_t i = 0; i < NETWORKS; i++) {
        const struct network_digests expected = digests_on(&networks[i], portable);
        const struct network_digests found = digests_on(&networks[i], &cuda);
        print_message("%s: %s: %u operations on the device, %u on the CPU\n", library->name,
                      networks[i].name, on_device, on_host);
        assert_int_equal(found.loss, expected.loss);
        assert_int_equal(found.gradient, expected.gradient);
        assert_int_equal(found.values, expected.values);
        assert_true(on_device > 0);
        assert_int_equal(on_host, 0);
    }
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
    print_message("skipped: one thread with fibers, which take minutes under ThreadSanitizer\n");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_have_the_digests_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
