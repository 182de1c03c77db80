/* graph/program.h: compiled graphs: fields, values, gradients, errors and facts. */
#include "graph/program.h"
#include "graph/program_memory.h"

#include <math.h>

#include "tests/unit/support/graphs.h"

/* loss = mean((x w - y)^2) over two outputs: everything can be computed by hand. */
static struct tn_graph *regression(void)
{
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 1));
    tn_tensor y = tn_placeholder(graph, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 2));
    tn_tensor w = weights_of(graph, "w", TN_SHAPE(1, 2));
    tn_tensor difference = tn_subtract(graph, tn_matmul(graph, x, w, false, false), y);
    tn_tensor loss = tn_mean(graph, tn_power(graph, difference, 2), (uint32_t[]){1}, 1);
    tn_loss(graph, loss, 1);
    tn_metric(graph, "squared_error", loss);
    tn_output(graph, "difference", difference);
    return graph;
}

static void gradients_and_losses_are_those_of_the_formula(void **state)
{
    (void)state;
    struct tn_graph *graph = regression();
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 2});
    tn_graph_destroy(graph); /* The program is independent of it. */
    const float values[] = {0.5F, -1}, x[] = {2, 4}, y[] = {1, 0, 0, 1};
    float gradient[2];
    assert_int_equal(tn_program_parameters(program), 2);
    memcpy(tn_program_field(program, "x").data, x, sizeof x);
    memcpy(tn_program_field(program, "y").data, y, sizeof y);
    struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .scale = 0.5F};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    /* Differences: (0, -2), (2, -5). */
    assert_true(run.loss_sum == 0.5 * 4 + 0.5 * (4 + 25));
    assert_true(gradient[0] == 0.5F * (0 * 2 + 2 * 4));
    assert_true(gradient[1] == 0.5F * (-2 * 2 + -5 * 4));
    assert_null(tn_program_output(program, "difference").data);
    tn_program_destroy(program);
}

static void evaluation_has_metrics_and_outputs(void **state)
{
    (void)state;
    struct tn_graph *graph = regression();
    struct tn_program *program =
        new_program(graph, (struct tn_program_options){.mode = TN_EVALUATE, .examples = 1});
    const float values[] = {0.5F, -1}, x[] = {2}, y[] = {1, 0};
    memcpy(tn_program_field(program, "x").data, x, sizeof x);
    memcpy(tn_program_field(program, "y").data, y, sizeof y);
    struct tn_run run = {sizeof run, .values = values};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    struct tn_view difference = tn_program_output(program, "difference");
    assert_int_equal(difference.shape.rank, 2);
    assert_true(((const float *)difference.data)[1] == -2);
    assert_true(*(const float *)tn_program_output(program, "squared_error").data == 2);
    assert_null(tn_program_output(program, "no such output").data);
    assert_null(tn_program_field(program, "no such field").data);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

static enum tn_status create(const struct tn_graph *graph, struct tn_program_options options,
                             struct tn_error *error)
{
    struct tn_program *program = NULL;
    options.struct_size = sizeof options;
    enum tn_status status = tn_program_create(graph, &options, &program, error);
    assert_true(status == TN_OK || program == NULL);
    tn_program_destroy(program);
    return status;
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    struct tn_error error;
    struct tn_graph *graph = regression(), *empty = new_graph();
    assert_int_equal(create(graph, (struct tn_program_options){0}, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "examples is 0"));
    struct tn_program_options options = {.examples = 1, .kernels = "abacus"};
    assert_int_equal(create(graph, options, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "unknown kernels 'abacus'"));
    options = (struct tn_program_options){.examples = 1000, .memory_max = 1000};
    assert_int_equal(create(graph, options, &error), TN_ENOMEM);
    assert_non_null(strstr(error.text, "memory_max is 1000"));
    options = (struct tn_program_options){.examples = 1, .mode = TN_EVALUATE};
    assert_int_equal(create(empty, options, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "computes nothing"));
    tn_graph_fail(empty, "width is %d: give an even number", 3);
    assert_int_equal(create(empty, options, &error), TN_EINVAL);
    assert_string_equal(error.text, "width is 3: give an even number");
    tn_graph_destroy(graph);
    tn_graph_destroy(empty);
}

/* Each initialiser, and that variables do not get the same numbers. */
static void initial_values_follow_the_options(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    static const struct tn_variable_options options[] = {
        {.init = TN_INIT_ZEROS},
        {.init = TN_INIT_ONES},
        {.init = TN_INIT_GLOROT_UNIFORM},
        {.init = TN_INIT_HE_NORMAL},
        {.init = TN_INIT_NORMAL, .scale = 0.25F},
        {.init = TN_INIT_UNIFORM, .scale = 0.125F},
        {0},
    };
    enum { KINDS = 7, SIZE = 30 * 20 };
    for (int i = 0; i < KINDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        tn_output(graph, name, tn_variable(graph, name, TN_SHAPE(30, 20), &options[i]));
    }
    struct tn_program *program =
        new_program(graph, (struct tn_program_options){.mode = TN_EVALUATE});
    static float values[KINDS * SIZE];
    tn_program_initialize(program, 5, values);
    const double limits[] = {0, 1, sqrt(6.0 / 50), 5 * sqrt(2.0 / 30), 5 * 0.25, 0.125, 0};
    for (int kind = 0; kind < KINDS; kind++) {
        double most = 0, limit = kind == 6 ? limits[2] : limits[kind];
        for (int i = 0; i < SIZE; i++) {
            double value = fabs((double)values[kind * SIZE + i]);
            if (value > most) { most = value; }
        }
        assert_true(most <= limit * 1.0001 && most >= limit / 2);
    }
    assert_memory_not_equal(values + 2 * SIZE, values + 6 * SIZE, SIZE * sizeof values[0]);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

static void unused_variables_have_zero_gradients(void **state)
{
    (void)state;
    struct tn_graph *graph = regression();
    tn_output(graph, "unused", weights_of(graph, "unused", TN_SHAPE(3)));
    struct tn_program *program = new_program(graph, (struct tn_program_options){0});
    float values[5] = {1, 1, 1, 1, 1}, gradient[5];
    memset(gradient, 0xff, sizeof gradient);
    struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .scale = 1};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    for (int i = 2; i < 5; i++) { assert_true(gradient[i] == 0); }
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

static void facts_describe_the_program(void **state)
{
    (void)state;
    struct tn_graph *graph = layered_graph(6);
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 32});
    struct tn_program_facts facts = {.struct_size = sizeof facts};
    tn_program_describe(program, &facts);
    assert_true(facts.instructions > 30 && facts.nodes > facts.instructions);
    assert_true(facts.pruned > 0);
    assert_true(facts.flops > 2.0 * 32 * 6 * 5);
    assert_true(facts.arena_bytes >= facts.lower_bound_bytes);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

/* Two dense layers whose weights have 32 MiB in all: they are not copied to be packed. */
static void large_weights_are_not_packed_as_a_whole(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 64));
    tn_tensor up = weights_of(graph, "up", TN_SHAPE(64, 4096));
    tn_tensor down = weights_of(graph, "down", TN_SHAPE(4096, 1984));
    x = tn_matmul(graph, tn_matmul(graph, x, up, false, false), down, false, false);
    tn_loss(graph, tn_mean(graph, tn_power(graph, x, 2), (uint32_t[]){1}, 1), 1);
    for (int mode = TN_TRAIN; mode <= TN_EVALUATE; mode++) {
        const struct tn_program_options options = {
            .struct_size = sizeof options, .mode = (enum tn_mode)mode, .examples = 16};
        struct program_memory memory;
        assert_int_equal(program_memory_plan(graph, &options, 0, &memory, NULL), TN_OK);
        assert_true(memory.host > 0 && memory.host < 10 << 20);
        assert_int_equal(memory.pinned + memory.values + memory.results, 0);
    }
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_and_losses_are_those_of_the_formula),
        cmocka_unit_test(evaluation_has_metrics_and_outputs),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(initial_values_follow_the_options),
        cmocka_unit_test(unused_variables_have_zero_gradients),
        cmocka_unit_test(facts_describe_the_program),
        cmocka_unit_test(large_weights_are_not_packed_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
