/* graph/cuda/backend.h: each case of each operation runs on the device alone, with the bits of the
 * backend "portable"; so do joined slices. */
#include "graph/cuda/backend.h"

#include "graph/joined_slices.h"
#include "kernels/cuda/library.h"
#include "tests/portable/networks.h"
#include "tests/unit/graph/ops/cases_activation.h"
#include "tests/unit/graph/ops/cases_arrange.h"
#include "tests/unit/graph/ops/cases_attention.h"
#include "tests/unit/graph/ops/cases_classify.h"
#include "tests/unit/graph/ops/cases_conv.h"
#include "tests/unit/graph/ops/cases_custom.h"
#include "tests/unit/graph/ops/cases_dropout.h"
#include "tests/unit/graph/ops/cases_elementwise.h"
#include "tests/unit/graph/ops/cases_fused.h"
#include "tests/unit/graph/ops/cases_gather.h"
#include "tests/unit/graph/ops/cases_leaves.h"
#include "tests/unit/graph/ops/cases_lookup.h"
#include "tests/unit/graph/ops/cases_matmul.h"
#include "tests/unit/graph/ops/cases_normalize.h"
#include "tests/unit/graph/ops/cases_pool.h"
#include "tests/unit/graph/ops/cases_reduce.h"
#include "tests/unit/graph/ops/cases_regress.h"
#include "tests/unit/graph/ops/cases_reshape.h"
#include "tests/unit/graph/ops/cases_retrieval.h"
#include "tests/unit/graph/ops/cases_softmax.h"
#include "tests/unit/graph/ops/cases_unary.h"

static const struct op_case *const families[] = {
    cases_activation, cases_arrange, cases_attention,   cases_classify,  cases_conv,
    cases_custom,     cases_dropout, cases_elementwise, cases_fused,     cases_gather,
    cases_leaves,     cases_lookup,  cases_matmul,      cases_normalize, cases_pool,
    cases_reduce,     cases_regress, cases_reshape,     cases_retrieval, cases_softmax,
    cases_unary,
};

#define COUNT(cases) (sizeof(cases) / sizeof(cases)[0])

static const size_t sizes[] = {
    COUNT(cases_activation), COUNT(cases_arrange),     COUNT(cases_attention),
    COUNT(cases_classify),   COUNT(cases_conv),        COUNT(cases_custom),
    COUNT(cases_dropout),    COUNT(cases_elementwise), COUNT(cases_fused),
    COUNT(cases_gather),     COUNT(cases_leaves),      COUNT(cases_lookup),
    COUNT(cases_matmul),     COUNT(cases_normalize),   COUNT(cases_pool),
    COUNT(cases_reduce),     COUNT(cases_regress),     COUNT(cases_reshape),
    COUNT(cases_retrieval),  COUNT(cases_softmax),     COUNT(cases_unary),
};

static struct backend cuda;
static const struct backend *portable;
static bool ran_on_device[OPERATIONS_MAX]; /* By number in the registry. */

/* TANIST_TEST_GPU=1: the GPU's, through its driver, which may be the emulated one. */
static int open_backends(void **state)
{
    (void)state;
    struct error error = {.status = TN_OK};
    const struct cuda_library *library = cuda_emulated();
    const char *gpu = getenv("TANIST_TEST_GPU");
    enum tn_status status = backend_portable(NULL, &portable, &error);
    if (status == TN_OK && gpu != NULL && strcmp(gpu, "1") == 0) {
        status = cuda_library_open(0, &library, &error);
    }
    if (status == TN_OK) { status = backend_cuda_over(library, &cuda, &error); }
    if (status == TN_OK) { return 0; }
    print_error("%s\n", error.text);
    return -1;
}

static bool is_custom(const struct op_type *op)
{
    return op == &op_custom || op == &op_custom_gradient;
}

static void note(const struct op_type *op)
{
    uint32_t count;
    const struct op_type *const *all = op_all(&count);
    for (uint32_t i = 0; i < count; i++) { ran_on_device[i] |= all[i] == op; }
}

/* Where each instruction has run: an operation of Tanist on the device. */
static void check_places(const struct op_case *test, const struct tn_program *program)
{
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        const struct instruction *instruction = &program->instructions[i];
        const struct op_type *op = instruction->call.node->op;
        const bool is_here = instruction->backend == &cuda;
        if (is_here == is_custom(op)) {
            fail_msg("%s: %s runs on the %s", test->name, op->name, is_here ? "device" : "CPU");
        }
        if (is_here) { note(op); }
    }
}

static size_t results_compared;

static void check_bits(const struct op_case *test, const char *what, const double *found,
                       const double *expected, size_t count)
{
    results_compared += count;
    for (size_t i = 0; i < count; i++) {
        const bool both_nan = isnan(found[i]) && isnan(expected[i]);
        if (both_nan || memcmp(&found[i], &expected[i], sizeof found[i]) == 0) { continue; }
        fail_msg("%s: %s[%zu] is %a on the device and %a on the CPU", test->name, what, i, found[i],
                 expected[i]);
    }
}

/* In training, if there is a gradient, and in evaluation. */
static void compare_case(const struct op_case *test, bool without_passes)
{
    struct tn_graph *graph = NULL;
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    const tn_tensor y = test->build(graph);
    tn_output(graph, "y", y);
    if (!test->without_gradient) { add_loss(graph, y); }
    struct case_result found = run_program(graph, test, &cuda, without_passes);
    struct case_result expected = run_program(graph, test, portable, without_passes);
    check_places(test, found.program);
    check_bits(test, "y", found.y, expected.y, expected.y_count);
    check_bits(test, "gradient", found.gradient, expected.gradient, expected.gradient_count);
    check_bits(test, "loss", &found.loss, &expected.loss, 1);
    free_result(&found);
    free_result(&expected);
    tn_graph_destroy(graph);
}

static void all_cases_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t f = 0; f < COUNT(families); f++) {
        for (size_t i = 0; i < sizes[f]; i++) {
            if (families[f][i].error != NULL) { continue; }
            compare_case(&families[f][i], false);
            compare_case(&families[f][i], true);
        }
    }
    print_message("cuda: %zu results compared, 0 differ\n", results_compared);
}

/* A new operation without a kernel for GPUs, or without a case that runs there, fails by name. */
static void every_operation_runs_on_the_device(void **state)
{
    (void)state;
    uint32_t count, missing = 0;
    const struct op_type *const *all = op_all(&count);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_computed = !all[i]->traits.leaf && !all[i]->traits.view;
        const bool is_expected = is_computed && !is_custom(all[i]);
        if ((cuda.find(all[i]) != NULL) == is_expected && ran_on_device[i] == is_expected) {
            continue;
        }
        print_error("operation %s: %s\n", all[i]->name,
                    cuda.find(all[i]) != NULL ? "no case has run it on the device"
                                              : "it has no kernel in graph/cuda/");
        missing++;
    }
    assert_int_equal(missing, 0);
}

/* ------------------------------------------------------ joined slices */

enum { SLICES_MOST = 7 };

/* One output, so that the gradient of a bias has one element; and dropout. */
static void regression(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 61));
    tn_tensor wanted = tn_placeholder(g, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    x = tn_dropout(g, "drop", network_dense(g, "one", x, 19, TN_GELU), 0.2F);
    tn_loss(g, tn_squared_error(g, network_dense(g, "two", x, 1, TN_LINEAR), wanted), 1);
}

/* The gradient and the losses of the slices. */
static float *run_joined(void (*build)(struct tn_graph *g), const struct backend *backend,
                         uint32_t slices, size_t *count, double *losses)
{
    const struct network network = {"joined", build};
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .examples = slices * NETWORK_EXAMPLES};
    struct tn_graph *graph = network_graph(&network);
    struct tn_program *program = NULL;
    struct error error = {.text = ""};
    if (program_create_joined(graph, &options, slices, backend, &program, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    *count = (size_t)tn_program_parameters(program);
    float *values = calloc(*count, sizeof *values), *gradient = calloc(*count, sizeof *gradient);
    tn_program_initialize(program, 5, values);
    network_fill(program, "x", 1);
    network_fill(program, "y", 1);
    network_fill(program, "label", 10);
    struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .seed = 9,
                         .step = 2,  .first = 35,      .scale = 0.03F};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    for (uint32_t s = 0; s < slices; s++) { losses[s] = joined_slices_loss(program, s); }
    losses[slices] = run.loss_sum;
    tn_program_destroy(program);
    tn_graph_destroy(graph);
    free(values);
    return gradient;
}

/* The CPU's are those of one run for each slice (tests/unit/graph/test_joined_slices.c). */
static void joined_slices_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static void (*const models[])(struct tn_graph *) = {network_mlp, regression};
    for (size_t m = 0; m < COUNT(models); m++) {
        for (uint32_t slices = 1; slices <= SLICES_MOST; slices++) {
            double losses[SLICES_MOST + 1], expected_losses[SLICES_MOST + 1];
            size_t count = 0;
            float *found = run_joined(models[m], &cuda, slices, &count, losses);
            float *expected = run_joined(models[m], portable, slices, &count, expected_losses);
            assert_memory_equal(found, expected, count * sizeof *found);
            assert_memory_equal(losses, expected_losses, (slices + 1) * sizeof *losses);
            free(found);
            free(expected);
        }
    }
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
    print_message("skipped: one thread with fibers, which take minutes under ThreadSanitizer\n");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases_have_the_bits_of_the_cpu),
        cmocka_unit_test(every_operation_runs_on_the_device),
        cmocka_unit_test(joined_slices_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_backends, NULL);
}
