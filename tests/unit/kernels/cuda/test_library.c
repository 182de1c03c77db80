/* kernels/cuda/library.h: networks whose operations run on the library's kernels train to the same
 * digests as with the backend "portable". */
#include "graph/program.h"
#include "tests/portable/networks.h"
#include "tests/unit/kernels/cuda/emulated_backend.h"

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
    const struct network_digests digests = network_train(program);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
    return digests;
}

/* Three steps of two slices each; most operations run in the emulation. */
static void networks_have_the_digests_of_the_cpu(void **state)
{
    (void)state;
    const struct backend *emulated = emulated_backend();
    for (size_t i = 0; i < NETWORKS; i++) {
        emulated_calls = 0;
        portable_calls = 0;
        const struct network_digests expected = digests_on(&networks[i], portable_backend);
        const struct network_digests found = digests_on(&networks[i], emulated);
        print_message("cuda: %s: %zu calls in the emulation, %zu on portable\n", networks[i].name,
                      emulated_calls, portable_calls);
        assert_int_equal(found.loss, expected.loss);
        assert_int_equal(found.gradient, expected.gradient);
        assert_int_equal(found.values, expected.values);
        assert_true(emulated_calls > portable_calls);
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
