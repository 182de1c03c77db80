/* graph/placed_program.h: operations that are divided among GPUs, at random, have the gradients,
 * losses and results of the whole program, on the CPU and on emulated GPUs, in all orders of their
 * queues. LD_LIBRARY_PATH names the folder of the emulated driver. */
#include "graph/placed_program.h"

#include <math.h>
#include <stdio.h>

#include "graph/core/node.h"
#include "graph/gpu_placement.h"
#include "graph/variables.h"
#include "tests/portable/networks.h"
#include "tests/unit/kernels/gpu/emulated_skip.h"

enum { PARTS_MAX = 64, DEVICES = 4, STEPS = 3, GPU_FAILED = 719 };

static const char *const on_cpus[] = {"portable", "portable", "portable", "portable"};
static const char *const on_gpus[] = {"cuda:0", "cuda:1", "cuda:2", "portable"};

static const struct limit {
    const char *field;
    uint64_t limit;
} limits[] = {{"x", 1}, {"y", 1}, {"image", 256}, {"label", 10}, {"token", 30}, {"next", 30}};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* ------------------------------------------------------ placement */

/* The first node that is computed. */
static struct node *first_operation(struct tn_graph *graph)
{
    uint32_t i = 0;
    while (graph->nodes[i].op->traits.leaf || graph->nodes[i].op->traits.view) { i++; }
    return &graph->nodes[i];
}

/* A third of the nodes have no device, as where an author gives none. */
static void place_at_random(struct tn_graph *graph, uint64_t seed)
{
    static const char *const devices[] = {"/gpu:0", "/gpu:1", "/job:worker/task:5/gpu:2",
                                          "/cpu:0", "",       "/job:ps"};
    uint64_t state = seed;
    for (uint32_t i = 0; i < graph->count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        graph->nodes[i].device = devices[(state >> 33) % COUNT(devices)];
    }
    first_operation(graph)->device = "/gpu:2";
    graph->nodes[graph->count - 1].device = "/cpu:0";
}

struct layout {
    uint64_t offsets[64], counts[64], all;
    uint32_t count;
};

static enum tn_status add_count(void *to, const struct graph_variable *variable,
                                struct error *error)
{
    struct layout *layout = to;
    uint64_t count = 1;
    (void)error;
    for (uint32_t d = 0; d < variable->shape.rank; d++) {
        count *= (uint64_t)variable->shape.dims[d];
    }
    assert_true(layout->count < COUNT(layout->counts));
    layout->counts[layout->count++] = count;
    layout->all += count;
    return TN_OK;
}

/* The variables in reverse order. */
static struct layout layout_of(const struct tn_graph *graph)
{
    struct layout layout = {.count = 0};
    assert_int_equal(graph_variables(graph, add_count, &layout, NULL), TN_OK);
    uint64_t at = 0;
    for (uint32_t i = layout.count; i-- > 0; at += layout.counts[i]) { layout.offsets[i] = at; }
    return layout;
}

/* ------------------------------------------------------ comparison */

struct pair {
    struct layout layout;
    struct tn_program *whole;
    struct placed_program *placed;
};

static struct pair open_pair(const struct tn_graph *graph, enum tn_mode mode,
                             const char *const *kernels)
{
    struct pair pair = {.layout = layout_of(graph)};
    struct error error = {.text = ""};
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = mode,
                                               .examples = NETWORK_EXAMPLES,
                                               .variable_offsets = pair.layout.offsets};
    assert_int_equal(tn_program_create(graph, &options, &pair.whole, NULL), TN_OK);
    if (placed_program_create(graph, &options, kernels, &pair.placed, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < COUNT(limits); i++) {
        network_fill(pair.whole, limits[i].field, limits[i].limit);
        network_fill_view(placed_program_field(pair.placed, limits[i].field), limits[i].limit);
    }
    return pair;
}

static void close_pair(struct pair *pair)
{
    tn_program_destroy(pair->whole);
    placed_program_destroy(pair->placed);
}

struct seen {
    const struct tn_run *run;
    uint32_t calls;
    double loss;
};

static void became_final(void *user, uint64_t first)
{
    struct seen *seen = user;
    assert_int_equal(first, 0);
    seen->calls++;
    seen->loss = seen->run->loss_sum;
}

/* Two slices of each step have the same values. The second one is another one of the batch. */
static void compare_steps(struct pair *pair, const char *what)
{
    const size_t count = (size_t)pair->layout.all;
    float *values = malloc(3 * count * sizeof *values), *expected = values + count;
    float *found = expected + count;
    assert_non_null(values);
    tn_program_initialize(pair->whole, 5, values);
    for (uint64_t i = 0; i < 2 * STEPS; i++) {
        struct tn_run run = {.struct_size = sizeof run,
                             .values = values,
                             .gradient = expected,
                             .seed = 9,
                             .step = i / 2,
                             .first = i % 2 * NETWORK_EXAMPLES,
                             .scale = 0.5F / NETWORK_EXAMPLES,
                             .version = i / 2 + 1};
        struct tn_run again = run;
        struct seen seen = {.run = &again};
        struct error error = {.text = ""};
        again.gradient = found;
        again.became_final = became_final;
        again.user = &seen;
        memset(found, 0xff, count * sizeof *found);
        assert_int_equal(tn_program_run(pair->whole, &run, NULL), TN_OK);
        if (placed_program_run(pair->placed, &again, &error) != TN_OK) {
            fail_msg("%s: %s", what, error.text);
        }
        if (again.loss_sum != run.loss_sum || memcmp(found, expected, count * sizeof *found) != 0) {
            fail_msg("%s: other bits in slice %d", what, (int)i);
        }
        assert_true(seen.calls == 1 && seen.loss == run.loss_sum);
        for (size_t k = 0; k < count && i % 2 == 1; k++) { values[k] -= 0.1F * found[k]; }
    }
    free(values);
}

static void compare_network(const struct network *network, uint64_t seed,
                            const char *const *kernels, const char *order)
{
    char what[128];
    struct tn_graph *graph = network_graph(network);
    (void)snprintf(what, sizeof what, "%s, seed %d, %s", network->name, (int)seed, order);
    place_at_random(graph, seed);
    struct pair pair = open_pair(graph, TN_TRAIN, kernels);
    tn_graph_destroy(graph);
    compare_steps(&pair, what);
    close_pair(&pair);
}

static void parts_on_the_cpu_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < NETWORKS; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            compare_network(&networks[i], seed, on_cpus, "CPU");
        }
    }
}

static void parts_on_gpus_have_the_bits_of_the_whole(void **state)
{
    static const char *const orders[] = {"order=late", "order=copies", "order=kernels",
                                         "order=random,seed=1"};
    (void)state;
    if (is_skipped(false)) { skip(); }
    for (size_t i = 0; i < COUNT(orders); i++) {
        char settings[64];
        (void)snprintf(settings, sizeof settings, "devices=3,broken=1,%s", orders[i]);
        assert_int_equal(setenv("TANIST_EMULATED_GPU", settings, 1), 0);
        /* The emulated transformer takes long. */
        for (size_t n = 0; n < NETWORKS; n++) {
            if (networks[n].build == network_transformer && i > 0) { continue; }
            compare_network(&networks[n], 100 + i, on_gpus, orders[i]);
        }
    }
}

/* ------------------------------------------------------ evaluation */

/* A field and a variable are results, too, and a variable is read on two GPUs. */
static struct tn_graph *graph_with_results(void)
{
    struct tn_graph *g = NULL;
    assert_int_equal(tn_graph_create(&g, NULL), TN_OK);
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 11));
    tn_tensor w = network_weights(g, "w", TN_SHAPE(11, 11));
    tn_device_begin(g, "/gpu:1");
    tn_tensor h = tn_dropout(g, "drop", tn_matmul(g, x, w, false, false), 0.5F);
    tn_device_end(g);
    tn_device_begin(g, "/gpu:2");
    h = network_dense(g, "two", tn_matmul(g, h, w, false, true), 10, TN_TANH);
    tn_device_end(g);
    tn_device_begin(g, "/cpu:0");
    tn_loss(g, tn_softmax_cross_entropy(g, h, network_labels(g)), 0.5F);
    tn_device_end(g);
    tn_metric(g, "accuracy", tn_is_correct(g, h, network_labels(g)));
    tn_output(g, "outputs", h);
    tn_output(g, "field", x);
    tn_output(g, "variable", w);
    tn_output(g, "reshaped", tn_reshape(g, x, TN_SHAPE(TN_BATCH, 1, 11)));
    return g;
}

static void compare_output(const struct pair *pair, const char *name)
{
    const struct tn_view expected = tn_program_output(pair->whole, name);
    const struct tn_view found = placed_program_output(pair->placed, name);
    size_t count = 1;
    assert_non_null(found.data);
    assert_int_equal(found.type, expected.type);
    assert_int_equal(found.shape.rank, expected.shape.rank);
    for (uint32_t d = 0; d < found.shape.rank; d++) {
        assert_int_equal(found.shape.dims[d], expected.shape.dims[d]);
        count *= (size_t)found.shape.dims[d];
    }
    assert_memory_equal(found.data, expected.data, count * sizeof(float));
}

static void compare_evaluation(const char *const *kernels)
{
    struct tn_graph *graph = graph_with_results();
    struct pair pair = open_pair(graph, TN_EVALUATE, kernels);
    float *values = malloc((size_t)pair.layout.all * sizeof *values);
    tn_graph_destroy(graph);
    tn_program_initialize(pair.whole, 5, values);
    for (int i = 0; i < 3; i++) {
        struct tn_run run = {.struct_size = sizeof run, .values = values, .scale = 1};
        struct tn_run again = run;
        assert_int_equal(tn_program_run(pair.whole, &run, NULL), TN_OK);
        assert_int_equal(placed_program_run(pair.placed, &again, NULL), TN_OK);
        assert_true(again.loss_sum == run.loss_sum);
        compare_output(&pair, "accuracy");
        compare_output(&pair, "outputs");
        compare_output(&pair, "field");
        compare_output(&pair, "variable");
        compare_output(&pair, "reshaped");
        values[i] += 1;
    }
    assert_null(placed_program_output(pair.placed, "none").data);
    assert_null(placed_program_field(pair.placed, "none").data);
    assert_true(placed_program_flops(pair.placed) > 0);
    free(values);
    close_pair(&pair);
}

static void an_evaluation_has_the_results_of_the_whole(void **state)
{
    (void)state;
    compare_evaluation(on_cpus);
    if (!is_skipped(false)) { compare_evaluation(on_gpus); }
}

/* ------------------------------------------------------ placements and errors */

static struct tn_graph *graph_on(const char *first, const char *second)
{
    struct tn_graph *graph = network_graph(&networks[0]);
    first_operation(graph)->device = first;
    graph->nodes[graph->count - 1].device = second;
    return graph;
}

static void expect_refused(struct tn_graph *graph, const char *text)
{
    static const uint64_t offsets[64];
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_TRAIN,
                                               .examples = 2,
                                               .kernels = "portable",
                                               .variable_offsets = offsets};
    struct placed_program *placed = NULL;
    struct error error = {.text = ""};
    struct program_memory parts[PARTS_MAX];
    assert_int_equal(placed_program_create(graph, &options, on_cpus, &placed, &error), TN_EINVAL);
    assert_null(placed);
    assert_non_null(strstr(error.text, text));
    struct gpu_placement placement;
    assert_int_equal(gpu_placement_of(graph, &placement, NULL), TN_OK);
    if (gpu_placement_tasks(placement) <= PARTS_MAX) {
        assert_int_equal(placed_program_plan(graph, &options, parts, NULL), TN_EINVAL);
    }
    tn_graph_destroy(graph);
}

static void what_cannot_be_placed_is_refused(void **state)
{
    (void)state;
    expect_refused(graph_on("/gpu:1", "/cpu:1"), "is placed on '/cpu:1'");
    expect_refused(graph_on("/gpu:65535", ""), "more than 63 GPUs");
}

/* `count` values leave the first part of "/gpu:0" for "/gpu:1". */
static struct tn_graph *graph_with_edges(uint32_t count)
{
    struct tn_graph *g = NULL;
    assert_int_equal(tn_graph_create(&g, NULL), TN_OK);
    tn_tensor x = tn_placeholder(g, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_tensor sum = tn_multiply(g, x, network_weights(g, "w", TN_SHAPE(1)));
    for (uint32_t i = 0; i < count; i++) {
        tn_device_begin(g, "/gpu:0");
        x = tn_scale(g, x, 0.9F);
        tn_device_end(g);
        tn_device_begin(g, "/gpu:1");
        sum = tn_add(g, sum, x);
        tn_device_end(g);
    }
    tn_loss(g, tn_reshape(g, sum, TN_SHAPE(TN_BATCH)), 1);
    return g;
}

static void values_that_leave_a_part_have_a_limit(void **state)
{
    (void)state;
    struct tn_graph *graph = graph_with_edges(256);
    struct pair pair = open_pair(graph, TN_TRAIN, on_cpus);
    tn_graph_destroy(graph);
    compare_steps(&pair, "256 values");
    close_pair(&pair);
    expect_refused(graph_with_edges(257),
                   "more than 256 values leave one part of the model: divide it so that each part "
                   "has fewer layers");
}

/* At least the values of all parts, on the host without GPUs. */
static void the_memory_is_known(void **state)
{
    (void)state;
    struct tn_graph *graph = graph_on("/gpu:1", "/gpu:2");
    const struct layout layout = layout_of(graph);
    struct tn_program_options options = {.struct_size = sizeof options,
                                         .mode = TN_TRAIN,
                                         .examples = 2,
                                         .kernels = "portable",
                                         .variable_offsets = layout.offsets};
    struct program_memory small[3], large[3];
    assert_int_equal(placed_program_plan(graph, &options, small, NULL), TN_OK);
    assert_true(small[0].host + small[1].host + small[2].host > layout.all * sizeof(float));
    options.examples = 200;
    options.kernels = "cuda";
    assert_int_equal(placed_program_plan(graph, &options, large, NULL), TN_OK);
    assert_true(small[1].values == 0 && large[1].values > 0 && large[1].results > 0);
    /* The host has copies of what leaves a part, among them the gradients. */
    assert_true(large[0].host + large[1].host + large[2].host > 2 * layout.all * sizeof(float));
    tn_graph_destroy(graph);
}

/* GPU 1 is unusable afterwards: the last test. No gradient is reported, also later. */
static void a_gpu_that_fails_is_named(void **state)
{
    (void)state;
    if (is_skipped(false)) { skip(); }
    struct tn_graph *graph = graph_with_results();
    struct pair pair = open_pair(graph, TN_TRAIN, on_gpus);
    float *values = calloc(2 * (size_t)pair.layout.all, sizeof *values);
    tn_graph_destroy(graph);
    for (int i = 0; i < 3; i++) {
        struct seen seen = {.calls = 0};
        struct error error = {.text = ""};
        struct tn_run run = {.struct_size = sizeof run,
                             .values = values,
                             .gradient = values + pair.layout.all,
                             .became_final = became_final,
                             .user = &seen};
        seen.run = &run;
        const enum tn_status status = placed_program_run(pair.placed, &run, &error);
        assert_int_equal(status, i == 0 ? TN_OK : TN_EDEVICE);
        assert_int_equal(seen.calls, i == 0);
        if (i > 0) { assert_non_null(strstr(error.text, "/gpu:1: ")); }
        assert_int_equal(
            setenv("TANIST_EMULATED_GPU", "devices=3,broken=1,operations=1,error=719", 1), 0);
    }
    free(values);
    close_pair(&pair);
}

int main(void)
{
    (void)setenv("TANIST_EMULATED_GPU", "devices=3,broken=1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_on_the_cpu_have_the_bits_of_the_whole),
        cmocka_unit_test(parts_on_gpus_have_the_bits_of_the_whole),
        cmocka_unit_test(an_evaluation_has_the_results_of_the_whole),
        cmocka_unit_test(what_cannot_be_placed_is_refused),
        cmocka_unit_test(values_that_leave_a_part_have_a_limit),
        cmocka_unit_test(the_memory_is_known),
        cmocka_unit_test(a_gpu_that_fails_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
