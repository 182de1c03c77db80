/*
 * bench/bench_transformer.c: a training step of a small causal transformer as a program over the
 * portable kernels, beside the same network in plain C (transformer.h) and in PyTorch, if that
 * Python interpreter has it, in turns on one thread.
 *
 *   bench_transformer [PYTHON]
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/peer.h"
#include "bench/transformer.h"
#include "common/base/random.h"
#include "graph/program.h"
#include "tanist/tanist.h"

enum { ROUNDS = 15, BATCH_MAX = 8 };

static struct plain_parameters values, gradients, plain_gradients;
static int32_t ids[BATCH_MAX * T_TIME], next_ids[BATCH_MAX * T_TIME];

static void require(bool works, const char *what)
{
    if (works) { return; }
    (void)fprintf(stderr, "benchmark failed: %s\n", what);
    exit(1);
}

/* ------------------------------------------------------------- the graph */

static tn_tensor variable(struct tn_graph *g, const char *name, struct tn_shape shape)
{
    return tn_variable(g, name, shape, NULL);
}

static tn_tensor norm(struct tn_graph *g, tn_tensor x, const char *gain, const char *bias)
{
    return tn_normalize_layer(g, x, variable(g, gain, TN_SHAPE(T_WIDTH)),
                              variable(g, bias, TN_SHAPE(T_WIDTH)), 1e-5F);
}

static tn_tensor dense(struct tn_graph *g, const char *name, tn_tensor x, int64_t width)
{
    struct tn_shape shape = tn_shape_of(g, x);
    tn_tensor weights = variable(g, name, TN_SHAPE(shape.dims[shape.rank - 1], width));
    return tn_matmul(g, x, weights, false, false);
}

/* Rows of T_WIDTH as heads: [batch][heads][time][width of a head]. */
static tn_tensor heads(struct tn_graph *g, const char *name, tn_tensor x)
{
    x = tn_reshape(g, dense(g, name, x, T_WIDTH), TN_SHAPE(TN_BATCH, T_TIME, T_HEADS, T_HEAD));
    return tn_permute(g, x, (uint32_t[]){0, 2, 1, 3}, 4);
}

static tn_tensor block(struct tn_graph *g, tn_tensor x)
{
    tn_tensor a = norm(g, x, "gain1", "bias1");
    a = tn_attention(g, heads(g, "q", a), heads(g, "k", a), heads(g, "v", a), true, 0);
    a = tn_permute(g, a, (uint32_t[]){0, 2, 1, 3}, 4);
    a = tn_reshape(g, a, TN_SHAPE(TN_BATCH, T_TIME, T_WIDTH));
    x = tn_add(g, x, dense(g, "o", a, T_WIDTH));
    tn_tensor m = norm(g, x, "gain2", "bias2");
    m = tn_add(g, dense(g, "up", m, T_INNER), variable(g, "up_bias", TN_SHAPE(T_INNER)));
    m = dense(g, "down", tn_activate(g, m, TN_GELU), T_WIDTH);
    return tn_add(g, x, tn_add(g, m, variable(g, "down_bias", TN_SHAPE(T_WIDTH))));
}

static struct tn_graph *network(void)
{
    struct tn_graph *g = NULL;
    struct tn_error error = {.text = ""};
    require(tn_graph_create(&g, &error) == TN_OK, error.text);
    tn_tensor tokens = tn_placeholder(g, "ids", TN_INT32, TN_SHAPE(TN_BATCH, T_TIME));
    tn_tensor wanted = tn_placeholder(g, "next", TN_INT32, TN_SHAPE(TN_BATCH, T_TIME));
    tn_tensor x = tn_gather(g, variable(g, "rows", TN_SHAPE(T_VOCABULARY, T_WIDTH)), tokens);
    x = tn_add(g, x, variable(g, "positions", TN_SHAPE(T_TIME, T_WIDTH)));
    for (int i = 0; i < T_BLOCKS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", i);
        tn_scope_begin(g, name);
        x = block(g, x);
        tn_scope_end(g);
    }
    x = dense(g, "head", norm(g, x, "gain", "bias"), T_VOCABULARY);
    x = tn_add(g, x, variable(g, "head_bias", TN_SHAPE(T_VOCABULARY)));
    tn_loss(g, tn_softmax_cross_entropy(g, x, wanted), 1);
    require(tn_graph_status(g, &error) == TN_OK, error.text);
    return g;
}

/* -------------------------------------- its variables in plain_parameters */

#define PLACE(member)                                                                              \
    {                                                                                              \
        #member, offsetof(struct plain_parameters, member) / sizeof(float)                         \
    }
#define BLOCK_PLACE(member)                                                                        \
    {                                                                                              \
        #member, offsetof(struct plain_block, member) / sizeof(float)                              \
    }

struct place_of {
    const char *name;
    size_t at;
};

static const struct place_of places[] = {
    PLACE(rows), PLACE(positions), PLACE(gain), PLACE(bias), PLACE(head), PLACE(head_bias),
};

static const struct place_of block_places[] = {
    BLOCK_PLACE(gain1), BLOCK_PLACE(bias1),   BLOCK_PLACE(q),     BLOCK_PLACE(k),
    BLOCK_PLACE(v),     BLOCK_PLACE(o),       BLOCK_PLACE(gain2), BLOCK_PLACE(bias2),
    BLOCK_PLACE(up),    BLOCK_PLACE(up_bias), BLOCK_PLACE(down),  BLOCK_PLACE(down_bias),
};

static size_t find(const struct place_of *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) { return list[i].at; }
    }
    require(false, name);
    return 0;
}

/* "gain", or "1/gain1" in block 1. */
static size_t place_of(const char *name)
{
    if (name[1] != '/') { return find(places, sizeof places / sizeof *places, name); }
    size_t number = (size_t)(name[0] - '0');
    return offsetof(struct plain_parameters, blocks) / sizeof(float) +
           number * (sizeof(struct plain_block) / sizeof(float)) +
           find(block_places, sizeof block_places / sizeof *block_places, name + 2);
}

static struct tn_program *compile(const struct tn_graph *graph, size_t batch,
                                  const uint64_t *offsets)
{
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_TRAIN,
                                               .examples = (uint32_t)batch,
                                               .variable_offsets = offsets};
    struct tn_program *program = NULL;
    struct tn_error error = {.text = ""};
    require(tn_program_create(graph, &options, &program, &error) == TN_OK, error.text);
    return program;
}

static struct tn_program *open_program(size_t batch)
{
    static uint64_t offsets[TN_VARIABLES_MAX];
    struct tn_graph *graph = network();
    struct tn_program *program = compile(graph, batch, NULL);
    require(tn_program_parameters(program) == sizeof values / sizeof(float), "other variables");
    for (uint32_t i = 0; i < program->variable_count; i++) {
        offsets[i] = place_of(program->graph->nodes[program->variables[i].node].attributes.name);
    }
    tn_program_destroy(program);
    program = compile(graph, batch, offsets);
    tn_graph_destroy(graph);
    memcpy(tn_program_field(program, "ids").data, ids, batch * T_TIME * sizeof *ids);
    memcpy(tn_program_field(program, "next").data, next_ids, batch * T_TIME * sizeof *next_ids);
    return program;
}

/* ----------------------------------------------------------- measurements */

static void make_inputs(void)
{
    for (size_t i = 0; i < sizeof values / sizeof(float); i++) {
        float value = 0.1F * (random_unit_at(1, 1, i) - 0.5F);
        memcpy((char *)&values + i * sizeof value, &value, sizeof value);
    }
    for (size_t i = 0; i < BATCH_MAX * T_TIME; i++) {
        ids[i] = (int32_t)(random_at(1, 2, i) % T_VOCABULARY);
        next_ids[i] = (int32_t)(random_at(1, 3, i) % T_VOCABULARY);
    }
}

static double program_step(struct tn_program *program, size_t batch)
{
    struct tn_run run = {.struct_size = sizeof run,
                         .values = (const float *)&values,
                         .gradient = (float *)&gradients,
                         .scale = 1.0F / (float)batch};
    require(tn_program_run(program, &run, NULL) == TN_OK, "the program");
    return run.loss_sum / (double)batch;
}

/* The two gradients and losses agree: both compute the same network. */
static void compare(struct tn_program *program, struct plain *net, size_t batch)
{
    const double loss = program_step(program, batch);
    const double plain = plain_step(net, &values, ids, next_ids, &plain_gradients);
    const float *a = (const float *)&gradients, *b = (const float *)&plain_gradients;
    double difference = 0, norm = 0;
    for (size_t i = 0; i < sizeof values / sizeof(float); i++) {
        difference += pow((double)a[i] - (double)b[i], 2);
        norm += pow((double)b[i], 2);
    }
    difference = sqrt(difference / norm);
    printf("%zu examples of %d tokens: losses %.6f and %.6f, relative difference of the gradients "
           "%.1e\n",
           batch, T_TIME, loss, plain, difference);
    require(fabs(loss - plain) < 1e-4 && difference < 1e-3, "the networks differ");
}

static void print_row(const char *name, double *numbers, const char *unit)
{
    measure_sort(numbers, ROUNDS);
    printf("  %-22s %9.2f [%.2f %.2f] %s\n", name, measure_quantile(numbers, ROUNDS, 0.5),
           measure_quantile(numbers, ROUNDS, 0.25), measure_quantile(numbers, ROUNDS, 0.75), unit);
}

static void bench(size_t batch, const struct peer *torch)
{
    double rates[ROUNDS], plain_rates[ROUNDS], ratios[ROUNDS], torch_ratios[ROUNDS];
    const size_t repeats = 2 * BATCH_MAX / batch;
    const double tokens = (double)(batch * T_TIME * repeats) * 1e-3;
    struct tn_program *program = open_program(batch);
    struct plain *net = plain_open(batch);
    require(net != NULL, "out of memory");
    compare(program, net, batch);
    for (int round = 0; round < ROUNDS; round++) {
        double start = measure_cpu_seconds();
        for (size_t i = 0; i < repeats; i++) { (void)program_step(program, batch); }
        double middle = measure_cpu_seconds();
        for (size_t i = 0; i < repeats; i++) {
            (void)plain_step(net, &values, ids, next_ids, &plain_gradients);
        }
        double end = measure_cpu_seconds();
        rates[round] = tokens / (middle - start);
        plain_rates[round] = tokens / (end - middle);
        ratios[round] = (end - middle) / (middle - start);
        double seconds = (middle - start) / (double)repeats;
        torch_ratios[round] = peer_seconds(torch, batch, repeats) / seconds;
    }
    plain_close(net);
    tn_program_destroy(program);
    print_row("program", rates, "1000 tokens/s");
    print_row("plain C", plain_rates, "1000 tokens/s");
    print_row("program / plain C", ratios, "");
    if (torch->ask != NULL) { print_row("program / PyTorch", torch_ratios, ""); }
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    make_inputs();
    const struct peer torch =
        argc > 1 ? peer_start(argv[1], "bench/transformer_torch.py") : (struct peer){NULL, NULL};
    if (argc <= 1) { printf("PyTorch is skipped: name an interpreter that has it\n"); }
    printf("%d blocks, width %d, %d heads; one thread, processor time, medians of %d rounds with "
           "quartiles\n",
           T_BLOCKS, T_WIDTH, T_HEADS, ROUNDS);
    for (size_t batch = 1; batch <= BATCH_MAX; batch *= 8) { bench(batch, &torch); }
    return 0;
}
