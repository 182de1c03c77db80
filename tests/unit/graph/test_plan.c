/* graph/plan.h: no value is overwritten too early; planted errors are found. */
#include "graph/plan.h"

#include <inttypes.h>

#include "common/base/random.h"
#include "graph/ops/ops.h"
#include "graph/program.h"
#include "tests/unit/support/models.h"

static struct plan_request request_of(const struct tn_program *program)
{
    return (struct plan_request){program->graph,        program->order, program->order_count,
                                 program->fixed,        program->kept,  program->workspaces,
                                 program->backend->wide};
}

static void expect_near(const char *name, struct tn_graph *graph, uint32_t examples)
{
    struct tn_program *program =
        new_program(graph, (struct tn_program_options){.examples = examples});
    const struct plan *plan = &program->plan;
    double ratio = (double)plan->arena_bytes / (double)plan->lower_bound_bytes;
    print_message("%s: %u instructions, %" PRIu64 " bytes without reuse, arena %" PRIu64
                  ", %.3f of the lower bound\n",
                  name, program->instruction_count, plan->without_reuse_bytes, plan->arena_bytes,
                  ratio);
    assert_true(ratio >= 1 && ratio <= 1.05);
    assert_true(plan->without_reuse_bytes > plan->arena_bytes * 3 / 2);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

static void the_arena_is_near_its_lower_bound(void **state)
{
    (void)state;
    expect_near("2 layers", layered_graph(2), 64);
    expect_near("12 layers", layered_graph(12), 64);
    expect_near("cnn 28 x 28", cnn_graph(28, 32), 64);
    expect_near("transformer of 4 blocks", transformer_graph(64, 128, 4, 4, 65), 8);
    expect_near("autoencoder", autoencoder_graph(784, 32), 64);
}

/* Places by chance: the checker accepts a plan only if no value overlaps another one in use. */
static void every_planted_place_is_judged(void **state)
{
    (void)state;
    struct tn_graph *graph = layered_graph(5);
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 16});
    struct plan_request request = request_of(program);
    struct plan *plan = &program->plan;
    uint32_t values = program->graph->count * OP_OUTPUTS_MAX, planted = 0, found = 0;
    assert_int_equal(plan_check(&request, plan, NULL), TN_OK);
    for (uint32_t i = 0; i < values; i++) {
        if (plan->places[i].space != SPACE_ARENA) { continue; }
        struct place right = plan->places[i];
        for (uint64_t offset = 0; offset < plan->arena_bytes; offset += PLAN_LINE) {
            plan->places[i].offset = offset;
            if (offset == right.offset) { continue; }
            planted++;
            found += plan_check(&request, plan, NULL) != TN_OK;
        }
        plan->places[i].offset = plan->arena_bytes;
        struct error error;
        assert_int_equal(plan_check(&request, plan, &error), TN_EINTERNAL);
        assert_non_null(strstr(error.text, "memory plan: output 0 of"));
        plan->places[i] = right;
    }
    print_message("%u places planted, %u of them wrong and found\n", planted, found);
    assert_true(found > planted / 4); /* The rest is free memory at that time. */
    assert_int_equal(plan_check(&request, plan, NULL), TN_OK);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

/* Let the instructions use the plan as it is now. */
static void bind_again(struct tn_program *program)
{
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        struct instruction *instruction = &program->instructions[i];
        const struct node *node = instruction->call.node;
        uint32_t number = (uint32_t)(node - program->graph->nodes);
        for (uint32_t k = 0; k < node->input_count; k++) {
            instruction->in[k] = program->plan.places[node->inputs[k].v - 1];
        }
        for (uint32_t o = 0; o < node->op->outputs; o++) {
            instruction->out[o] = program->plan.places[number * OP_OUTPUTS_MAX + o];
        }
    }
}

static void compute(struct tn_program *program, const float *values, float *gradient)
{
    struct tn_run run = {sizeof run, .values = values, .gradient = gradient, .scale = 1};
    memset(program->arena, 0xff, (size_t)program->plan.arena_bytes);
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
}

/* The checker's judgement is right: programs with a place that it accepts give the same bits, and
 * most with one that it rejects give others. */
static void accepted_places_give_the_same_bits(void **state)
{
    (void)state;
    struct tn_graph *graph = layered_graph(4);
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 16});
    struct plan_request request = request_of(program);
    size_t count = (size_t)tn_program_parameters(program);
    float *values = calloc(3 * count, sizeof *values);
    float *first = values + count, *second = first + count;
    uint32_t accepted = 0, rejected = 0, wrong_bits = 0;
    tn_program_initialize(program, 1, values);
    fill_floats(tn_program_field(program, "x"), -0.5F);
    fill_floats(tn_program_field(program, "y"), 0.25F);
    compute(program, values, first);
    for (uint32_t i = 0; i < program->graph->count * OP_OUTPUTS_MAX; i++) {
        struct place right = program->plan.places[i];
        uint64_t bytes = right.space != SPACE_ARENA
                             ? program->plan.arena_bytes
                             : plan_bytes(program->graph, (tn_tensor){i + 1}, false);
        for (uint64_t at = 0; at + bytes < program->plan.arena_bytes; at += 4 * PLAN_LINE) {
            program->plan.places[i].offset = at;
            bool is_accepted = plan_check(&request, &program->plan, NULL) == TN_OK;
            bind_again(program);
            compute(program, values, second);
            bool same_bits = memcmp(first, second, count * sizeof *first) == 0;
            assert_true(same_bits || !is_accepted);
            accepted += is_accepted;
            rejected += !is_accepted;
            wrong_bits += !same_bits;
        }
        program->plan.places[i] = right;
    }
    print_message("%u places accepted, %u rejected, %u with wrong bits\n", accepted, rejected,
                  wrong_bits);
    assert_true(accepted > 20 && wrong_bits > rejected / 2);
    free(values);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

/* A result written over an input although the operation does not allow it. */
static void a_wrong_overwrite_is_found(void **state)
{
    (void)state;
    struct tn_graph *graph = layered_graph(4);
    struct tn_program *program = new_program(graph, (struct tn_program_options){.examples = 16});
    struct plan_request request = request_of(program);
    uint32_t planted = 0, found = 0;
    for (uint32_t t = 0; t < program->order_count; t++) {
        uint32_t number = program->order[t];
        const struct node *node = &program->graph->nodes[number];
        struct place *out = &program->plan.places[number * OP_OUTPUTS_MAX];
        for (uint32_t k = 0; k < node->input_count; k++) {
            const struct place *in = &program->plan.places[node->inputs[k].v - 1];
            bool both = out->space == SPACE_ARENA && in->space == SPACE_ARENA;
            bool allowed = (node->op->traits.inplace >> k & 1) != 0;
            if (!both || out->offset == in->offset || node->op->traits.view || allowed) {
                continue;
            }
            struct place right = *out;
            *out = *in;
            planted++;
            found += plan_check(&request, &program->plan, NULL) != TN_OK;
            *out = right;
        }
    }
    print_message("%u overwrites planted, %u found\n", planted, found);
    assert_true(planted > 5);
    assert_int_equal(found, planted);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

/* Random graphs with many lifetimes: each plan passes the checker, which tn_program_create() runs,
 * and the results do not depend on the passes or on the memory. */
static void random_graphs_are_planned_correctly(void **state)
{
    (void)state;
    struct random random = {3};
    for (int round = 0; round < 60; round++) {
        struct tn_graph *graph = new_graph();
        tn_tensor pool[64] = {tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 8)),
                              weights_of(graph, "w", TN_SHAPE(8))};
        uint32_t size = 2;
        for (int i = 0; i < 40; i++) {
            tn_tensor a = pool[random_below(&random, size)], b = pool[random_below(&random, size)];
            switch (random_below(&random, 6)) {
            case 0: pool[size++] = tn_add(graph, a, b); break;
            case 1: pool[size++] = tn_multiply(graph, a, tn_scale(graph, b, 0.125F)); break;
            case 2: pool[size++] = tn_exp(graph, tn_clip(graph, a, -2, 1)); break;
            case 3: pool[size++] = tn_subtract(graph, tn_scale(graph, a, 0.5F), b); break;
            case 4: {
                struct tn_shape shape = tn_shape_of(graph, a);
                if (shape.rank == 2) {
                    a = tn_reshape(graph, a, TN_SHAPE(TN_BATCH, 2, 4));
                    pool[size++] = tn_reshape(graph, a, shape);
                }
                break;
            }
            default:
                pool[size++] = tn_concat(
                    graph,
                    (tn_tensor[]){tn_slice(graph, a, tn_shape_of(graph, a).rank - 1, 4, 4),
                                  tn_slice(graph, a, tn_shape_of(graph, a).rank - 1, 0, 4)},
                    2, tn_shape_of(graph, a).rank - 1);
            }
        }
        tn_tensor last = tn_add(graph, pool[0], pool[size - 1]);
        last = tn_add(graph, last, pool[size - 2]);
        tn_loss(graph, tn_mean(graph, last, (uint32_t[]){1}, 1), 1);
        float values[8], gradients[2][8] = {{0}};
        for (int passes = 0; passes < 2; passes++) {
            struct tn_program *program =
                new_program(graph, (struct tn_program_options){.without_passes = passes == 1});
            tn_program_initialize(program, (uint64_t)round, values);
            fill_floats(tn_program_field(program, "x"), -0.25F);
            memset(program->arena, 0xff, (size_t)program->plan.arena_bytes);
            struct tn_run run = {sizeof run, .values = values, .gradient = gradients[passes],
                                 .scale = 1};
            assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
            tn_program_destroy(program);
        }
        assert_memory_equal(gradients[0], gradients[1], sizeof gradients[0]);
        tn_graph_destroy(graph);
    }
}

/* An operation that may overwrite one of its inputs reads the same value by the other, too. */
static void a_value_that_is_read_twice_is_not_overwritten(void **state)
{
    (void)state;
    struct tn_graph *graph = new_graph();
    const struct attributes limits = {.numbers = {-1, 1}};
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 64));
    tn_tensor y = tn_exp(graph, x);
    tn_tensor z = graph_add(graph, &op_clip_gradient, (tn_tensor[]){y, y}, 2, &limits);
    tn_output(graph, "z", tn_permute(graph, z, (uint32_t[]){0, 1}, 2));
    struct tn_program *program =
        new_program(graph, (struct tn_program_options){.mode = TN_EVALUATE, .examples = 4});
    fill_floats(tn_program_field(program, "x"), 0.5F);
    struct tn_run run = {.struct_size = sizeof run};
    assert_int_equal(tn_program_run(program, &run, NULL), TN_OK);
    assert_true(program->plan.arena_bytes >= 2 * 4 * 64 * sizeof(float));
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_arena_is_near_its_lower_bound),
        cmocka_unit_test(every_planted_place_is_judged),
        cmocka_unit_test(accepted_places_give_the_same_bits),
        cmocka_unit_test(a_wrong_overwrite_is_found),
        cmocka_unit_test(random_graphs_are_planned_correctly),
        cmocka_unit_test(a_value_that_is_read_twice_is_not_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
