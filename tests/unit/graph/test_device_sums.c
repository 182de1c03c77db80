/* graph/device_sums.h: gradients of two emulated GPUs, which are added in their memory, have the
 * bits of the CPU, in all orders that events allow; without the event before a copy from the other
 * GPU they differ in some order. LD_LIBRARY_PATH names the folder of the emulated driver. */
#include "graph/device_sums.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/cuda/backend.h"
#include "graph/portable/backend.h"
#include "graph/program.h"
#include "kernels/cuda/library.h"
#include "tests/portable/networks.h"
#include "tests/unit/kernels/gpu/emulated_skip.h"

enum { GPUS = 2, SLICES = 2, VECTORS = SLICES + 1, GPU_FAILED = 719 };

static const char *const orders[] = {
    "devices=2,order=late",          "devices=2,order=copies",        "devices=2,order=kernels",
    "devices=2,order=random,seed=1", "devices=2,order=random,seed=2",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const struct backend *portable;
static struct backend cuda[GPUS];

/* ------------------------------------------------------ waits for the other GPU */

static const struct gpu_queues *real;
static struct gpu_queues counted;
static bool is_counting, leaves_out;
static uint32_t waits, copies;

static enum tn_status follow(enum gpu_queue queue, struct gpu_event *event, struct error *error)
{
    waits += is_counting;
    return is_counting && leaves_out ? TN_OK : real->follow(queue, event, error);
}

static enum tn_status receive(void *to, uint32_t number, const void *from, size_t bytes,
                              struct error *error)
{
    copies += is_counting;
    return real->receive(to, number, from, bytes, error);
}

/* ------------------------------------------------------ gradients */

static void network(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 13));
    x = network_dense(g, "one", x, 11, TN_RELU);
    x = network_dense(g, "two", x, 1, TN_LINEAR);
    tn_tensor wanted = tn_placeholder(g, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_loss(g, tn_squared_error(g, x, wanted), 1);
}

static struct tn_program *program_on(const struct backend *backend)
{
    static const struct network small = {"small", network};
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_TRAIN, .examples = NETWORK_EXAMPLES};
    struct error error = {.text = ""};
    struct tn_program *program = NULL;
    struct tn_graph *graph = network_graph(&small);
    if (program_create(graph, &options, backend, &program, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    tn_graph_destroy(graph);
    network_fill(program, "x", 1);
    network_fill(program, "y", 1);
    return program;
}

/* Each slice has another scale, and so another gradient; the loss is that of the examples. */
static enum tn_status run(struct tn_program *program, const float *values, uint32_t slice,
                          float *gradient, struct error *error)
{
    struct tn_run run = {.struct_size = sizeof run,
                         .values = values,
                         .gradient = gradient,
                         .scale = 0.1F * (float)(slice + 1)};
    enum tn_status status = program_run(program, &run, values, gradient, error);
    assert_true(status != TN_OK || run.loss_sum > 0);
    return status;
}

/* (0 + 1) + (2 + 3), on the CPU. */
static uint64_t sum_on_cpu(float *sum)
{
    struct tn_program *program = program_on(portable);
    const size_t count = (size_t)tn_program_parameters(program);
    float *values = malloc(6 * count * sizeof *values), *g = values + count;
    tn_program_initialize(program, 5, values);
    for (uint32_t i = 0; i < GPUS * SLICES; i++) {
        assert_int_equal(run(program, values, i, g + i * count, NULL), TN_OK);
    }
    for (size_t i = 0; i < count; i++) {
        sum[i] = (g[i] + g[i + count]) + (g[i + 2 * count] + g[i + 3 * count]);
    }
    free(values);
    tn_program_destroy(program);
    return count;
}

/* The same on two GPUs, a subtree each. */
static enum tn_status add_all(struct tn_program *const *programs, struct device_sums *const *sums,
                              const float *values, float *sum, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < GPUS * SLICES && status == TN_OK; i++) {
        const uint32_t gpu = i / SLICES;
        status = run(programs[gpu], values, i, NULL, error);
        if (status != TN_OK) { break; }
        status = device_sums_take(sums[gpu], i % SLICES, programs[gpu], error);
        if (status != TN_OK || i % SLICES == 0) { continue; }
        status = device_sums_add(sums[gpu], 0, sums[gpu], 1, error);
    }
    is_counting = true;
    if (status == TN_OK) { status = device_sums_add(sums[0], 0, sums[1], 0, error); }
    is_counting = false;
    if (status == TN_OK) { status = device_sums_fetch(sums[0], 0, sum, error); }
    for (uint32_t i = 0; i < GPUS && status == TN_OK; i++) {
        status = device_sums_wait(sums[i], error);
    }
    return status;
}

static enum tn_status sum_on_gpus(float *sum, struct error *error)
{
    struct tn_program *programs[GPUS];
    struct device_sums *sums[GPUS];
    for (uint32_t i = 0; i < GPUS; i++) {
        programs[i] = program_on(&cuda[i]);
        device_sums_keep(programs[i], true);
        assert_int_equal(device_sums_open(programs[i], VECTORS, &sums[i], NULL), TN_OK);
        assert_non_null(sums[i]);
    }
    float *values = malloc((size_t)tn_program_parameters(programs[0]) * sizeof *values);
    tn_program_initialize(programs[0], 5, values);
    enum tn_status status = add_all(programs, sums, values, sum, error);
    for (uint32_t i = 0; i < GPUS; i++) {
        device_sums_close(sums[i]);
        tn_program_destroy(programs[i]);
    }
    free(values);
    return status;
}

static void set_settings(const char *settings)
{
    assert_int_equal(setenv("TANIST_EMULATED_GPU", settings, 1), 0);
}

static bool is_equal(const float *expected, uint64_t count, const char *order)
{
    struct error error = {.text = ""};
    float sum[512] = {0};
    assert_true(count <= COUNT(sum));
    set_settings(order);
    if (sum_on_gpus(sum, &error) != TN_OK) { fail_msg("%s: %s", order, error.text); }
    return memcmp(sum, expected, (size_t)count * sizeof *sum) == 0;
}

/* ------------------------------------------------------ tests */

static void sums_of_two_gpus_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    float expected[512];
    const uint64_t count = sum_on_cpu(expected);
    for (size_t i = 0; i < COUNT(orders); i++) {
        waits = copies = 0;
        if (!is_equal(expected, count, orders[i])) { fail_msg("%s: other bits", orders[i]); }
        assert_int_equal(waits, 1);
        assert_int_equal(copies, 1);
    }
}

static void a_missing_event_before_a_copy_is_found(void **state)
{
    (void)state;
    float expected[512];
    const uint64_t count = sum_on_cpu(expected);
    bool found = false;
    leaves_out = true;
    for (size_t i = 0; i < COUNT(orders); i++) {
        found = !is_equal(expected, count, orders[i]) || found;
    }
    leaves_out = false;
    assert_true(found);
}

static void a_program_on_the_cpu_has_none(void **state)
{
    (void)state;
    struct tn_program *program = program_on(portable);
    struct device_sums *sums = NULL;
    assert_int_equal(device_sums_open(program, 1, &sums, NULL), TN_OK);
    assert_null(sums);
    device_sums_close(sums);
    tn_program_destroy(program);
}

static void a_vector_may_be_zeros(void **state)
{
    (void)state;
    struct tn_program *program = program_on(&cuda[1]);
    struct device_sums *sums = NULL;
    float zeros[512];
    const uint64_t count = tn_program_parameters(program);
    memset(zeros, 0xff, sizeof zeros);
    assert_int_equal(device_sums_open(program, 1, &sums, NULL), TN_OK);
    assert_int_equal(device_sums_clear(sums, 0, NULL), TN_OK);
    assert_int_equal(device_sums_fetch(sums, 0, zeros, NULL), TN_OK);
    for (uint64_t i = 0; i < count; i++) { assert_true(zeros[i] == 0); }
    device_sums_close(sums);
    tn_program_destroy(program);
}

/* The devices are unusable afterwards: the last test. */
static void a_copy_that_fails_is_reported(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    float sum[512];
    char settings[64];
    (void)snprintf(settings, sizeof settings, "devices=2,peer_copy=%d", GPU_FAILED);
    set_settings(settings);
    assert_int_equal(sum_on_gpus(sum, &error), TN_EDEVICE);
    assert_non_null(strstr(error.text, "/gpu:0: cuMemcpyPeerAsync"));
    assert_non_null(strstr(error.text, "CUDA_ERROR_LAUNCH_FAILED"));
}

static int open_backends(void **state)
{
    (void)state;
    struct error error = {.status = TN_OK};
    const struct cuda_library *library = NULL;
    set_settings(orders[0]);
    enum tn_status status = backend_portable(NULL, &portable, &error);
    for (uint32_t i = 0; i < GPUS && status == TN_OK; i++) {
        status = cuda_library_open(i, &library, &error);
        if (status == TN_OK) { status = backend_cuda_over(library, &cuda[i], &error); }
        cuda[i].device.number = i;
        real = cuda[i].device.queues;
        cuda[i].device.queues = &counted;
    }
    if (status != TN_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    counted = *real;
    counted.follow = follow;
    counted.receive = receive;
    return 0;
}

int main(void)
{
    if (is_skipped(false)) { return SKIPPED; }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_two_gpus_have_the_bits_of_the_cpu),
        cmocka_unit_test(a_missing_event_before_a_copy_is_found),
        cmocka_unit_test(a_program_on_the_cpu_has_none),
        cmocka_unit_test(a_vector_may_be_zeros),
        cmocka_unit_test(a_copy_that_fails_is_reported),
    };
    return cmocka_run_group_tests(tests, open_backends, NULL);
}
