/*
 * bench/bench_graph.c: what a graph costs before it runs: the time to build and compile one of
 * 1,000 layers; for each job file, its memory over the lower bound and the worst relative error of
 * its gradients in double precision. Prints JSON.
 *
 *   bench_graph examples/cnn.json examples/transformer.json
 */
#include <inttypes.h>
#include <string.h>

#include "bench/measure.h"
#include "common/job/job.h"
#include "model/job_graph.h"
#include "tanist/tanist.h"

enum { LAYERS = 1000, WIDTH = 32, EXAMPLES = 32, TIMES = 9 };
enum { CHECK_SEED = 1, CHECK_EXAMPLES = 2, CHECK_SAMPLES = 2 };

static void require(enum tn_status status, const struct tn_error *error)
{
    if (status == TN_OK) { return; }
    (void)fprintf(stderr, "benchmark failed: %s\n", error->text);
    exit(1);
}

static struct tn_graph *deep_graph(void)
{
    struct tn_graph *graph = NULL;
    struct tn_error error;
    char name[TN_NAME_MAX];
    require(tn_graph_create(&graph, &error), &error);
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, WIDTH));
    tn_tensor labels = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    for (int i = 0; i < LAYERS; i++) {
        (void)snprintf(name, sizeof name, "layer%d", i);
        x = tn_dense(graph, name, x, WIDTH, TN_RELU);
    }
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, labels), 1);
    require(tn_graph_status(graph, &error), &error);
    return graph;
}

static struct tn_program *compile(const struct tn_graph *graph, uint32_t examples)
{
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_TRAIN, .examples = examples};
    struct tn_program *program = NULL;
    struct tn_error error;
    require(tn_program_create(graph, &options, &program, &error), &error);
    return program;
}

static struct tn_program_facts facts_of(const struct tn_program *program)
{
    struct tn_program_facts facts = {.struct_size = sizeof facts};
    tn_program_describe(program, &facts);
    return facts;
}

/* CPU seconds: building, hashing, compiling. */
static void measure_deep_graph(void)
{
    double seconds[3][TIMES];
    struct tn_program_facts facts;
    for (int i = 0; i < TIMES; i++) {
        double begin = measure_cpu_seconds();
        struct tn_graph *graph = deep_graph();
        double built = measure_cpu_seconds();
        uint64_t hash = tn_graph_hash(graph);
        double hashed = measure_cpu_seconds();
        struct tn_program *program = compile(graph, EXAMPLES);
        double end = measure_cpu_seconds();
        assert(hash != 0);
        seconds[0][i] = built - begin;
        seconds[1][i] = hashed - built;
        seconds[2][i] = end - hashed;
        facts = facts_of(program);
        tn_program_destroy(program);
        tn_graph_destroy(graph);
    }
    for (int i = 0; i < 3; i++) { measure_sort(seconds[i], TIMES); }
    printf("  \"deep\": {\"layers\": %d, \"nodes\": %" PRIu32 ", \"build_ms\": %.2f, "
           "\"hash_ms\": %.2f, \"compile_ms\": %.2f, \"arena_over_lower_bound\": %.4f},\n",
           LAYERS, facts.nodes, 1e3 * measure_quantile(seconds[0], TIMES, 0.5),
           1e3 * measure_quantile(seconds[1], TIMES, 0.5),
           1e3 * measure_quantile(seconds[2], TIMES, 0.5),
           (double)facts.arena_bytes / (double)facts.lower_bound_bytes);
}

static void measure_job(const char *path, bool is_last)
{
    static struct job job;
    struct error error;
    struct tn_error check_error;
    struct tn_graph *graph = NULL;
    double worst = 0;
    job_init(&job);
    measure_require(job_read_file(&job, path, &error), &error);
    measure_require(job_check(&job, &error), &error);
    measure_require(job_graph_create(&job, &graph, &error), &error);
    struct tn_program *program = compile(graph, (uint32_t)(job.train.batch / job.train.slices));
    struct tn_program_facts facts = facts_of(program);
    require(
        tn_check_gradients(graph, CHECK_SEED, CHECK_EXAMPLES, CHECK_SAMPLES, &worst, &check_error),
        &check_error);
    printf("    {\"name\": \"%s\", \"parameters\": %" PRIu64 ", \"arena_bytes\": %" PRIu64
           ", \"lower_bound_bytes\": %" PRIu64 ", \"without_reuse_bytes\": %" PRIu64
           ", \"arena_over_lower_bound\": %.4f, \"worst_gradient_error\": %.1e}%s\n",
           job.name, tn_program_parameters(program), facts.arena_bytes, facts.lower_bound_bytes,
           facts.without_reuse_bytes, (double)facts.arena_bytes / (double)facts.lower_bound_bytes,
           worst, is_last ? "" : ",");
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

int main(int argc, char **argv)
{
    printf("{\n");
    measure_deep_graph();
    printf("  \"examples\": [\n");
    for (int i = 1; i < argc; i++) { measure_job(argv[i], i + 1 == argc); }
    printf("  ]\n}\n");
    return 0;
}
