/* kernels/gpu/graphs.h, kernels/cuda/launch_graphs.c: kernels that are started as graphs have the
 * bits of kernels that are started one by one. Each graph is made once, and changes only in
 * arguments. Through the port to the emulated driver, whose folder LD_LIBRARY_PATH names. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/library_function.h"
#include "graph/cuda/backend.h"
#include "graph/device_sums.h"
#include "graph/program.h"
#include "kernels/cuda/emulated_driver.h"
#include "kernels/cuda/library.h"
#include "tests/portable/networks.h"
#include "tests/unit/kernels/gpu/emulated_skip.h"

enum { STEPS = 2, SLICES = 2, RUNS = STEPS * SLICES, FLOATS = 64 };

static const struct cuda_library *library;
static const struct backend *cuda;
static struct emulated_graph_counts (*counts)(void); /* In the loaded library. */

static void set(const char *variable, const char *value)
{
    assert_int_equal(setenv(variable, value, 1), 0);
}

/* ------------------------------------------------------ programs */

static struct tn_program *program_of(const struct network *network, uint32_t examples,
                                     bool with_graphs)
{
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_TRAIN, .examples = examples};
    struct tn_graph *graph = network_graph(network);
    struct tn_program *program = NULL;
    struct error error = {.text = ""};
    set("TANIST_GPU_GRAPHS", with_graphs ? "1" : "0");
    if (program_create(graph, &options, cuda, &program, &error) != TN_OK) {
        fail_msg("%s: %s", network->name, error.text);
    }
    tn_graph_destroy(graph);
    return program;
}

/* Slice `number` of a training: the digest with its losses and gradients. The values change with
 * each step; step, position and examples are others in each run. */
static uint64_t run_slice(struct tn_program *program, uint64_t digest, uint32_t number)
{
    const size_t count = (size_t)tn_program_parameters(program);
    const uint32_t step = number / SLICES;
    float *values = malloc(2 * count * sizeof *values), *gradient = values + count;
    struct error error = {.text = ""};
    struct tn_run run = {.struct_size = sizeof run,
                         .seed = 9,
                         .step = step,
                         .first = number % SLICES * program->options.examples,
                         .scale = 0.1F,
                         .version = step + 1};
    assert_non_null(values);
    tn_program_initialize(program, 5 + step, values);
    network_fill(program, "x", 10);
    network_fill(program, "y", 10);
    network_fill(program, "image", 200 + number);
    network_fill(program, "label", 3 + number);
    network_fill(program, "token", 20 + number);
    network_fill(program, "next", 20 + number);
    if (program_run(program, &run, values, gradient, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    digest = network_hash(digest, &run.loss_sum, sizeof run.loss_sum);
    digest = network_hash(digest, gradient, count * sizeof *gradient);
    free(values);
    return digest;
}

static uint64_t train(struct tn_program *program)
{
    uint64_t digest = 1;
    for (uint32_t i = 0; i < RUNS; i++) { digest = run_slice(program, digest, i); }
    return digest;
}

/* Whether values are copied, as in the first slice of a step, or not. */
static void graphs_have_the_bits_of_kernels(void **state)
{
    (void)state;
    for (size_t n = 0; n < NETWORKS; n++) {
        struct tn_program *single = program_of(&networks[n], NETWORK_EXAMPLES, false);
        struct tn_program *together = program_of(&networks[n], NETWORK_EXAMPLES, true);
        const struct emulated_graph_counts begin = counts();
        const uint64_t expected = train(single);
        assert_int_equal(counts().launched, begin.launched);
        assert_true(train(together) == expected);
        const struct emulated_graph_counts end = counts();
        const uint64_t made = end.made - begin.made;
        assert_true(made > 0 && made < together->instruction_count);
        assert_int_equal(end.launched - begin.launched, made * RUNS);
        assert_int_equal(end.execs - begin.execs, made);
        print_message("%s: %u kernels, %u graphs, %u launches, %u changes of arguments\n",
                      networks[n].name, (unsigned)together->instruction_count, (unsigned)made,
                      (unsigned)(end.launched - begin.launched),
                      (unsigned)(end.changed - begin.changed));
        tn_program_destroy(single);
        tn_program_destroy(together);
        assert_int_equal(counts().graphs, 0);
        assert_int_equal(counts().execs, 0);
    }
}

/* Programs of several numbers of examples, whose runs alternate, have graphs of their own. */
static void graphs_of_programs_do_not_meet(void **state)
{
    (void)state;
    const uint32_t examples[] = {3, 2, 1};
    struct tn_program *single[3], *together[3];
    for (uint32_t i = 0; i < 3; i++) {
        single[i] = program_of(&networks[2], examples[i], false);
        together[i] = program_of(&networks[2], examples[i], true);
    }
    for (uint32_t number = 0; number < RUNS; number++) {
        for (uint32_t i = 0; i < 3; i++) {
            assert_true(run_slice(together[i], 1, number) == run_slice(single[i], 1, number));
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        tn_program_destroy(single[i]);
        tn_program_destroy(together[i]);
    }
    assert_int_equal(counts().execs, 0);
}

/* The gradient stays on the device in every other run: the graphs are the same. */
static void kept_gradients_need_no_other_graphs(void **state)
{
    (void)state;
    struct tn_program *program = program_of(&networks[0], NETWORK_EXAMPLES, true);
    (void)train(program);
    const uint64_t made = counts().made;
    for (uint32_t i = 0; i < RUNS; i++) {
        device_sums_keep(program, i % 2 == 0);
        (void)run_slice(program, 1, i);
    }
    assert_int_equal(counts().made, made);
    tn_program_destroy(program);
}

/* ------------------------------------------------------ sequences that change */

struct sequence {
    struct gpu_graphs *graphs;
    float *a, *b; /* On the device. */
};

static struct sequence begin_sequence(void)
{
    struct sequence sequence = {.graphs = NULL};
    void *a = NULL, *b = NULL;
    set("TANIST_GPU_GRAPHS", "1");
    assert_int_equal(library->graphs->create(&sequence.graphs, NULL), TN_OK);
    assert_int_equal(library->allocate(FLOATS * sizeof(float), &a, NULL), TN_OK);
    assert_int_equal(library->allocate(FLOATS * sizeof(float), &b, NULL), TN_OK);
    sequence.a = a;
    sequence.b = b;
    return sequence;
}

static void end_sequence(struct sequence *sequence)
{
    library->graphs->destroy(sequence->graphs);
    library->release(sequence->a);
    library->release(sequence->b);
    assert_int_equal(counts().execs, 0);
}

/* a = value, then `additions` times a += a, in one graph. Returns a. */
static float run_sequence(const struct sequence *sequence, float value, uint32_t additions)
{
    float out[FLOATS] = {0};
    library->graphs->begin(sequence->graphs);
    library->kernels->fill(FLOATS, value, sequence->a);
    for (uint32_t i = 0; i < additions; i++) {
        library->kernels->scale(FLOATS, 2, sequence->a, sequence->b);
        library->kernels->scale(FLOATS, 1, sequence->b, sequence->a);
    }
    assert_int_equal(library->graphs->end(NULL), TN_OK);
    assert_int_equal(library->download(out, sequence->a, sizeof out, NULL), TN_OK);
    return out[FLOATS - 1];
}

/* The sequence gets longer and shorter; a kernel alone is not made a graph. */
static void other_kernels_make_other_graphs(void **state)
{
    (void)state;
    struct sequence sequence = begin_sequence();
    const uint32_t lengths[] = {1, 1, 3, 3, 2, 0, 2, 2, 0, 0, 4};
    const uint64_t new_graphs[] = {1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint64_t made = counts().made;
        const float expected = (float)(i + 1) * (float)(1U << lengths[i]);
        assert_true(run_sequence(&sequence, (float)(i + 1), lengths[i]) == expected);
        assert_int_equal(counts().made - made, new_graphs[i]);
    }
    end_sequence(&sequence);
}

/* Copies, and waits, come behind the kernels before them. */
static void other_calls_cut_kernels(void **state)
{
    (void)state;
    struct sequence sequence = begin_sequence();
    for (int run = 0; run < 3; run++) {
        float out[FLOATS] = {0};
        library->graphs->begin(sequence.graphs);
        library->kernels->fill(FLOATS, 3, sequence.a);
        library->kernels->scale(FLOATS, 2, sequence.a, sequence.b);
        assert_int_equal(library->download(out, sequence.b, sizeof out, NULL), TN_OK);
        assert_true(out[0] == 6);
        out[0] = (float)run;
        assert_int_equal(library->upload(sequence.a, out, sizeof out, NULL), TN_OK);
        library->kernels->scale(FLOATS, 5, sequence.a, sequence.b);
        library->kernels->scale(FLOATS, 2, sequence.b, sequence.a);
        assert_int_equal(library->graphs->end(NULL), TN_OK);
        assert_int_equal(library->download(out, sequence.a, sizeof out, NULL), TN_OK);
        assert_true(out[0] == 10.0F * (float)run);
    }
    end_sequence(&sequence);
}

/* ------------------------------------------------------ drivers without graphs */

/* From then on no program of the process has graphs: the last test. */
static void a_driver_that_fails_has_the_same_bits(void **state)
{
    (void)state;
    struct tn_program *single = program_of(&networks[0], NETWORK_EXAMPLES, false);
    struct tn_program *together = program_of(&networks[0], NETWORK_EXAMPLES, true);
    const uint64_t expected = train(single);
    const struct emulated_graph_counts begin = counts();
    set("TANIST_EMULATED_GPU", "graphs=801" /* GPU_NOT_SUPPORTED */);
    assert_true(train(together) == expected);
    set("TANIST_EMULATED_GPU", "");
    assert_true(train(together) == expected);
    assert_int_equal(counts().made, begin.made);
    assert_int_equal(counts().graphs, 0);
    tn_program_destroy(single);
    tn_program_destroy(together);
}

static int open_library(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    void *driver = dlopen(GPU_DRIVER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    enum tn_status status = cuda_library_open(0, &library, &error);
    if (status == TN_OK) { status = backend_cuda(0, &cuda, &error); }
    if (driver == NULL || !library_function(driver, "emulated_graph_counts", &counts)) {
        print_error("the emulated driver is not found\n");
        return -1;
    }
    if (status != TN_OK) { print_error("%s\n", error.text); }
    return status == TN_OK ? 0 : -1;
}

int main(void)
{
    if (is_skipped(false)) { return SKIPPED; }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_kernels_make_other_graphs),
        cmocka_unit_test(other_calls_cut_kernels),
        cmocka_unit_test(graphs_have_the_bits_of_kernels),
        cmocka_unit_test(graphs_of_programs_do_not_meet),
        cmocka_unit_test(kept_gradients_need_no_other_graphs),
        cmocka_unit_test(a_driver_that_fails_has_the_same_bits),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
