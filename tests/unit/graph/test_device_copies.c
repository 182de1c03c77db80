/* graph/device_memory.h, graph/device_copies.c: copies beside the kernels, through the port to an
 * emulated driver that does work as early and as late as events allow: the bits are those of the
 * CPU, and without any one of the waits they differ in some order. LD_LIBRARY_PATH names the folder
 * of the emulated driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/cuda/backend.h"
#include "graph/next_fields.h"
#include "graph/portable/backend.h"
#include "graph/program.h"
#include "kernels/cuda/library.h"
#include "tests/portable/networks.h"
#include "tests/unit/kernels/gpu/emulated_skip.h"

enum {
    STEPS = 2,
    SLICES = 2,
    GPU_FAILED = 719,
    EXTREMES = 3 /* The first orders. */
};

static const char *const orders[] = {
    "order=late",          "order=copies",        "order=kernels",
    "order=random,seed=1", "order=random,seed=2", "order=random,seed=3",
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const struct backend *portable;
static struct backend cuda;

/* ------------------------------------------------------ waits that can be left out */

static const struct gpu_queues *real;
static struct gpu_queues counted;
static uint32_t waits, left_out; /* Since count_waits(); the number of one that is left out. */

static void count_waits(uint32_t leave_out)
{
    waits = 0;
    left_out = leave_out;
}

static enum tn_status follow(enum gpu_queue queue, struct gpu_event *event, struct error *error)
{
    return ++waits == left_out ? TN_OK : real->follow(queue, event, error);
}

static enum tn_status await(struct gpu_event *event, struct error *error)
{
    return ++waits == left_out ? TN_OK : real->await(event, error);
}

/* ------------------------------------------------------ training */

struct training {
    struct tn_program *program;
    float *values, *gradient, *reported; /* As the gradient was when it was reported. */
    uint64_t count, final_from, digest;
    uint32_t parts; /* The reported parts of the gradient. */
    int filled;     /* The run whose examples are in the fields. */
    int fills;      /* While another run was computed. */
};

static void fill_field(const struct tn_program *program, const char *name, int run)
{
    struct tn_view field = tn_program_field(program, name);
    network_fill(program, name, 10);
    size_t count = 1;
    for (uint32_t i = 0; i < field.shape.rank; i++) { count *= (size_t)field.shape.dims[i]; }
    for (size_t i = 0; field.data != NULL && i < count; i++) {
        if (field.type == TN_FLOAT32) { ((float *)field.data)[i] += (float)run; }
        if (field.type == TN_UINT8) {
            uint8_t *label = (uint8_t *)field.data + i;
            *label = (uint8_t)((*label + run) % 10);
        }
    }
}

/* Each run has other examples. */
static void fill(struct training *training, int run)
{
    fill_field(training->program, "x", run);
    fill_field(training->program, "y", run);
    fill_field(training->program, "image", run);
    fill_field(training->program, "label", run);
    network_fill(training->program, "token", 30);
    network_fill(training->program, "next", 30);
    training->filled = run;
}

static bool fill_next(void *user)
{
    struct training *training = user;
    fill(training, training->filled + 1);
    training->fills++;
    return true;
}

static void became_final(void *user, uint64_t first)
{
    struct training *training = user;
    assert_true(first < training->final_from);
    memcpy(training->reported + first, training->gradient + first,
           (size_t)(training->final_from - first) * sizeof(float));
    training->final_from = first;
    training->parts++;
}

static void run_slice(struct training *training, int number)
{
    struct error error = {.text = ""};
    struct tn_run run = {.struct_size = sizeof run,
                         .values = training->values,
                         .gradient = training->gradient,
                         .seed = 9,
                         .step = (uint64_t)(number / SLICES),
                         .scale = 0.1F,
                         .version = (uint64_t)(number / SLICES + 1),
                         .became_final = became_final,
                         .user = training};
    if (training->filled == number) {
        next_fields_use(training->program);
    } else {
        fill(training, number);
    }
    if (number % SLICES == 0) { next_fields_fill(training->program, fill_next, training); }
    training->final_from = training->count;
    if (program_run(training->program, &run, run.values, run.gradient, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    training->digest = network_hash(training->digest, &run.loss_sum, sizeof run.loss_sum);
    training->digest =
        network_hash(training->digest, training->gradient, (size_t)training->count * sizeof(float));
    assert_int_equal(training->final_from, 0);
    training->digest =
        network_hash(training->digest, training->reported, (size_t)training->count * sizeof(float));
    const struct tn_view out = tn_program_output(training->program, "out");
    if (out.data != NULL) {
        training->digest = network_hash(training->digest, out.data,
                                        (size_t)shape_elements(&out.shape) * sizeof(float));
    }
    if (number % SLICES < SLICES - 1) { return; } /* All slices of a step have the same values. */
    for (uint64_t i = 0; i < training->count; i++) {
        training->values[i] -= 0.05F * training->gradient[i];
    }
}

static struct training begin_training(const struct network *network, const struct backend *backend)
{
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_TRAIN,
                                               .examples = NETWORK_EXAMPLES,
                                               .keep_outputs = true};
    struct tn_graph *graph = network_graph(network);
    struct training training = {.digest = 1, .filled = -1};
    struct error error = {.text = ""};
    if (program_create(graph, &options, backend, &training.program, &error) != TN_OK) {
        fail_msg("%s: %s", network->name, error.text);
    }
    tn_graph_destroy(graph);
    training.count = tn_program_parameters(training.program);
    training.values = malloc(3 * (size_t)training.count * sizeof(float));
    training.gradient = training.values + training.count;
    training.reported = training.gradient + training.count;
    tn_program_initialize(training.program, 5, training.values);
    return training;
}

static void end_training(struct training *training)
{
    tn_program_destroy(training->program);
    free(training->values);
}

static uint64_t digest_on(const struct network *network, const struct backend *backend, int steps)
{
    struct training training = begin_training(network, backend);
    for (int i = 0; i < steps * SLICES; i++) { run_slice(&training, i); }
    assert_true(training.parts > (uint32_t)(steps * SLICES)); /* More than one for each slice. */
    assert_int_equal(training.fills, backend_has_device(backend) ? steps : 0);
    end_training(&training);
    return training.digest;
}

static void set_order(const char *settings)
{
    assert_int_equal(setenv("TANIST_EMULATED_GPU", settings, 1), 0);
}

/* ------------------------------------------------------ networks */

/* As network_mlp(), with an output, which is computed beside the gradient. */
static void with_output(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 13));
    x = network_dense(g, "one", x, 11, TN_RELU);
    x = network_dense(g, "two", x, 9, TN_TANH);
    x = network_dense(g, "three", x, 10, TN_LINEAR);
    tn_output(g, "out", tn_softmax(g, x));
    tn_loss(g, tn_softmax_cross_entropy(g, x, network_labels(g)), 1);
}

static void without_output(struct tn_graph *g)
{
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 13));
    x = network_dense(g, "one", x, 11, TN_RELU);
    x = network_dense(g, "two", x, 1, TN_LINEAR);
    tn_tensor wanted = tn_placeholder(g, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_loss(g, tn_squared_error(g, x, wanted), 1);
}

static const struct network small[] = {{"with output", with_output},
                                       {"without output", without_output}};

static void compare_orders(const struct network *network, size_t count, int steps)
{
    const uint64_t expected = digest_on(network, portable, steps);
    for (size_t i = 0; i < count; i++) {
        set_order(orders[i]);
        if (digest_on(network, &cuda, steps) != expected) {
            fail_msg("%s: %s: the bits differ", network->name, orders[i]);
        }
    }
}

/* Large networks take seconds. */
static void all_orders_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(small); n++) { compare_orders(&small[n], COUNT(orders), STEPS); }
    for (size_t n = 0; n < NETWORKS; n++) { compare_orders(&networks[n], EXTREMES, 1); }
}

/* Whether the bits differ in some order. */
static bool is_found(const struct network *network, uint32_t number, uint64_t expected)
{
    for (size_t i = 0; i < COUNT(orders); i++) {
        set_order(orders[i]);
        count_waits(number);
        if (digest_on(network, &cuda, STEPS) != expected) { return true; }
    }
    return false;
}

static void each_missing_wait_is_found(void **state)
{
    (void)state;
    cuda.device.queues = &counted;
    for (size_t n = 0; n < COUNT(small); n++) {
        const uint64_t expected = digest_on(&small[n], portable, STEPS);
        set_order(orders[0]);
        count_waits(0);
        assert_true(digest_on(&small[n], &cuda, STEPS) == expected);
        const uint32_t count = waits;
        assert_true(count > STEPS * SLICES * 3);
        for (uint32_t number = 1; number <= count; number++) {
            if (is_found(&small[n], number, expected)) { continue; }
            fail_msg("%s: without wait %u of %u the bits are the same in all orders", small[n].name,
                     number, count);
        }
        print_message("%s: %u waits, each missing one is found\n", small[n].name, count);
    }
    cuda.device.queues = real;
}

/* ------------------------------------------------------ errors */

/* The device is unusable afterwards: the last test. Work that fails after its call has succeeded is
 * reported before any of its results is. */
static void a_failure_comes_before_its_results(void **state)
{
    (void)state;
    char settings[64];
    struct error error = {.text = ""};
    struct training training = begin_training(&small[0], &cuda);
    run_slice(&training, 0);
    const uint32_t parts = training.parts;
    (void)snprintf(settings, sizeof settings, "operations=1,error=%d", GPU_FAILED);
    set_order(settings);
    training.final_from = training.count;
    struct tn_run run = {.struct_size = sizeof run,
                         .values = training.values,
                         .gradient = training.gradient,
                         .became_final = became_final,
                         .user = &training};
    assert_int_equal(program_run(training.program, &run, run.values, run.gradient, &error),
                     TN_EDEVICE);
    assert_non_null(strstr(error.text, "CUDA_ERROR_LAUNCH_FAILED"));
    assert_int_equal(training.parts, parts);
    end_training(&training);
}

static int open_backends(void **state)
{
    (void)state;
    struct error error = {.status = TN_OK};
    enum tn_status status = backend_portable(NULL, &portable, &error);
    const struct cuda_library *library = NULL;
    if (status == TN_OK) { status = cuda_library_open(0, &library, &error); }
    if (status == TN_OK) { status = backend_cuda_over(library, &cuda, &error); }
    if (status != TN_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    real = cuda.device.queues;
    counted = *real;
    counted.follow = follow;
    counted.await = await;
    return 0;
}

int main(void)
{
    if (is_skipped(false)) { return SKIPPED; }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_orders_have_the_bits_of_the_cpu),
        cmocka_unit_test(each_missing_wait_is_found),
        cmocka_unit_test(a_failure_comes_before_its_results),
    };
    return cmocka_run_group_tests(tests, open_backends, NULL);
}
