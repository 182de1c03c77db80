/* graph/run.c: random operations and batch statistics do not depend on how a batch is divided. */
#include <math.h>

#include "tests/unit/support/graphs.h"

enum { WIDTH = 50, BATCH = 8 };

static struct tn_graph *dropout_graph(const char *name)
{
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, WIDTH));
    tn_scope_begin(graph, "block");
    tn_tensor y = tn_dropout(graph, name, x, 0.25F);
    tn_scope_end(graph);
    tn_output(graph, "y", y);
    tn_loss(graph, tn_sum(graph, y, (uint32_t[]){1}, 1), 1);
    return graph;
}

struct draw {
    const char *name;
    uint64_t seed, step, first;
    uint32_t examples;
    enum tn_mode mode;
};

/* The result of dropout on ones. */
static void drop(struct draw draw, float *out)
{
    struct tn_graph *graph = dropout_graph(draw.name);
    struct tn_program_options options = {
        .mode = draw.mode, .examples = draw.examples, .keep_outputs = true};
    struct tn_program *program = new_program(graph, options);
    float *x = tn_program_field(program, "x").data;
    for (uint32_t i = 0; i < draw.examples * WIDTH; i++) { x[i] = 1; }
    float unused = 0;
    struct tn_run run = {sizeof run,        .values = &unused, .gradient = &unused,
                         .seed = draw.seed, .step = draw.step, .first = draw.first};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    memcpy(out, tn_program_output(program, "y").data, draw.examples * WIDTH * sizeof *out);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

static void dropout_does_not_depend_on_slices(void **state)
{
    (void)state;
    float whole[BATCH * WIDTH], parts[BATCH * WIDTH];
    drop((struct draw){"drop", 1, 2, 16, BATCH, TN_TRAIN}, whole);
    drop((struct draw){"drop", 1, 2, 16, 3, TN_TRAIN}, parts);
    drop((struct draw){"drop", 1, 2, 19, 5, TN_TRAIN}, parts + (size_t)3 * WIDTH);
    assert_memory_equal(whole, parts, sizeof whole);
}

static void dropout_differs_by_seed_step_name_and_example(void **state)
{
    (void)state;
    float all[5][BATCH * WIDTH];
    drop((struct draw){"drop", 1, 2, 0, BATCH, TN_TRAIN}, all[0]);
    drop((struct draw){"drop", 2, 2, 0, BATCH, TN_TRAIN}, all[1]);
    drop((struct draw){"drop", 1, 3, 0, BATCH, TN_TRAIN}, all[2]);
    drop((struct draw){"drop2", 1, 2, 0, BATCH, TN_TRAIN}, all[3]);
    drop((struct draw){"drop", 1, 2, 1, BATCH, TN_TRAIN}, all[4]);
    for (int i = 0; i < 5; i++) {
        int dropped = 0;
        for (int k = 0; k < BATCH * WIDTH; k++) {
            assert_true(all[i][k] == 0 || all[i][k] == 1 / 0.75F);
            dropped += all[i][k] == 0;
        }
        assert_in_range(dropped, BATCH * WIDTH / 8, BATCH * WIDTH / 2);
        for (int other = 0; other < i; other++) {
            assert_memory_not_equal(all[i], all[other], sizeof all[i]);
        }
    }
}

static void dropout_is_the_identity_in_evaluation(void **state)
{
    (void)state;
    float y[BATCH * WIDTH];
    drop((struct draw){"drop", 1, 2, 0, BATCH, TN_EVALUATE}, y);
    for (int i = 0; i < BATCH * WIDTH; i++) { assert_true(y[i] == 1); }
}

/* Variables in canonical order: gain, bias, mean, variance of one channel. */
static struct tn_graph *norm_graph(void)
{
    struct tn_graph *graph = new_graph();
    struct tn_variable_options ones = {.init = TN_INIT_ONES};
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_tensor y =
        tn_normalize_batch(graph, "norm", x, tn_variable(graph, "gain", TN_SHAPE(1), &ones),
                           tn_variable(graph, "bias", TN_SHAPE(1), NULL), 0.9F, 1e-6F);
    tn_output(graph, "y", y);
    tn_loss(graph, tn_sum(graph, tn_power(graph, y, 2), (uint32_t[]){1}, 1), 1);
    return graph;
}

/* The slices of a batch of four emit their moments, weighted by their examples (rule A13). */
static void moments_of_slices_add_up_to_those_of_the_batch(void **state)
{
    (void)state;
    struct tn_graph *graph = norm_graph();
    const float values[] = {1, 0, 0, 1}, x[] = {1, 3, 5, 11};
    static const uint32_t slices[] = {3, 1};
    float sum[4] = {0}, gradient[4];
    for (uint32_t i = 0, first = 0; i < 2; first += slices[i++]) {
        struct tn_program *program =
            new_program(graph, (struct tn_program_options){.examples = slices[i]});
        memcpy(tn_program_field(program, "x").data, x + first, slices[i] * sizeof *x);
        struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .first = first,
                             .scale = 0.25F};
        assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
        for (int k = 0; k < 4; k++) { sum[k] += gradient[k]; }
        tn_program_destroy(program);
    }
    assert_true(sum[2] == 0.75F * 3 + 0.25F * 11);
    assert_true(fabsf(sum[3] - 0.75F * 8 / 3) < 1e-6F);
    tn_graph_destroy(graph);
}

static void evaluation_normalises_with_the_averages(void **state)
{
    (void)state;
    struct tn_graph *graph = norm_graph();
    struct tn_program *program =
        new_program(graph, (struct tn_program_options){.mode = TN_EVALUATE, .examples = 1});
    const float values[] = {2, 10, 5, 4}, x = 9;
    assert_int_equal(tn_program_parameters(program), 4);
    memcpy(tn_program_field(program, "x").data, &x, sizeof x);
    struct tn_run run = {sizeof run, .values = values};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    float y = *(const float *)tn_program_output(program, "y").data;
    assert_true(fabsf(y - ((9.0F - 5) / 2 * 2 + 10)) < 1e-5F);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

/* Ids come from data: one out of range makes the loss NaN and harms nothing. */
static void an_id_out_of_range_makes_the_loss_nan(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor ids = tn_placeholder(graph, "ids", TN_INT32, TN_SHAPE(TN_BATCH));
    tn_tensor x = tn_gather(graph, weights_of(graph, "rows", TN_SHAPE(4, 3)), ids);
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, ids), 1);
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 1});
    static const int32_t wrong[] = {3, 4, -1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        float values[12] = {0}, gradient[12];
        memcpy(tn_program_field(program, "ids").data, &wrong[i], sizeof wrong[i]);
        struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .scale = 1};
        assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
        assert_true(isnan(run.loss_sum));
    }
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropout_does_not_depend_on_slices),
        cmocka_unit_test(dropout_differs_by_seed_step_name_and_example),
        cmocka_unit_test(dropout_is_the_identity_in_evaluation),
        cmocka_unit_test(moments_of_slices_add_up_to_those_of_the_batch),
        cmocka_unit_test(evaluation_normalises_with_the_averages),
        cmocka_unit_test(an_id_out_of_range_makes_the_loss_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
