/*
 * bench/bench_kernels.c: compares the speed of the arithmetic of a step with the limits of the
 * machine. Each measurement alternates with its limit, so that other load slows both.
 *
 *   bench_kernels [SLICE-ROWS]     default: 32
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "kernels/optimizer.h"
#include "model/training.h"

enum { ROUNDS = 31, INPUTS = 784, HIDDEN = 128, OUTPUTS = 10, PARAMETERS = 101770 };
enum { SHARD = 4 << 20 /* Floats: larger than the second-level cache. */, ROWS_MAX = 4096 };

static size_t rows = 32;
static struct training *training;
static float *shard[8], *inputs, *values, *gradient, *hidden, *logits;
static struct variable_table shard_variables;

static float *floats(size_t count)
{
    float *memory = kernels_allocate(count);
    if (memory == NULL) { exit(1); }
    for (size_t i = 0; i < count; i++) { memory[i] = random_unit_at(1, 1, i % 65536) - 0.5F; }
    return memory;
}

static void run_gradient(void)
{
    struct slice_run run = {
        .values = values, .count = (uint32_t)rows, .scale = 1.0F / 256, .gradient = gradient};
    if (training_gradient(training, &run, NULL) != TN_OK) { exit(1); }
}

/* Only the matrix products of run_gradient(), which bound its speed. */
static void run_products(void)
{
    const struct kernels *k = kernels_cpu();
    k->multiply(false, false, rows, HIDDEN, INPUTS, inputs, values, hidden);
    k->multiply(false, false, rows, OUTPUTS, HIDDEN, hidden, values, logits);
    k->multiply(true, false, HIDDEN, OUTPUTS, rows, hidden, logits, gradient);
    k->multiply(false, true, rows, HIDDEN, OUTPUTS, logits, values, hidden);
    k->multiply(true, false, INPUTS, HIDDEN, rows, inputs, hidden, gradient);
}

static void run_large_product(void)
{
    kernels_cpu()->multiply(false, false, 1024, 1024, 1024, shard[0], shard[1], shard[2]);
}

static void run_copy(void)
{
    memcpy(shard[1], shard[0], SHARD * sizeof(float));
}

static void run_add(void)
{
    kernels_cpu()->add(SHARD, shard[0], shard[1]);
}

static enum optimizer_kind kind;

static void run_optimizer(void)
{
    struct job job;
    job_init(&job);
    job.train.optimizer = kind;
    job.train.learning_rate = 1e-6;
    job.train.weight_decay = kind == OPTIMIZER_ADAMW ? 0.01 : 0;
    struct optimizer optimizer = optimizer_of_job(&job, &shard_variables);
    optimizer_apply(&optimizer, kernels_cpu(), 1, 0, SHARD, shard[0],
                    (const float *const[OPTIMIZER_ARRAYS_MAX]){shard[2], shard[3], shard[4]},
                    (float *const[OPTIMIZER_ARRAYS_MAX]){shard[5], shard[6], shard[7]});
}

static double median(double *times)
{
    measure_sort(times, ROUNDS);
    return measure_quantile(times, ROUNDS, 0.5);
}

static double seconds_of(void (*run)(void), int repeats)
{
    uint64_t start = clock_monotonic_ns();
    for (int i = 0; i < repeats; i++) { run(); }
    return (double)(clock_monotonic_ns() - start) * 1e-9 / repeats;
}

/* Measure both alternately; print the `work` per second of each in `unit`, and the ratio. */
static void measure(const char *name, void (*run)(void), double work, const char *limit_name,
                    void (*limit)(void), double limit_work, const char *unit, int repeats)
{
    double times[ROUNDS], limit_times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        times[round] = seconds_of(run, repeats);
        limit_times[round] = seconds_of(limit, repeats);
    }
    double rate = work / median(times), limit_rate = limit_work / median(limit_times);
    printf("%-24s %9.1f %-14s limit: %-18s %9.1f   ratio %.2f\n", name, rate, unit, limit_name,
           limit_rate, rate / limit_rate);
}

static void open_training(void)
{
    struct job job;
    struct error error;
    struct model *model;
    job_init(&job);
    job.model.inputs = INPUTS;
    job.model.hidden[0] = HIDDEN;
    job.model.outputs = OUTPUTS;
    measure_require(model_open(&job, &model, &error), &error);
    const struct training_config config = {model, "openblas", .gradient = {(uint32_t)rows}};
    measure_require(training_open(&config, &training, &error), &error);
    inputs = training_fields(training, TN_TRAIN, (uint32_t)rows).inputs;
    for (size_t i = 0; i < rows * INPUTS; i++) { inputs[i] = random_unit_at(1, 1, i) - 0.5F; }
}

static void set_up(void)
{
    struct error error;
    const uint32_t shape[] = {SHARD / 1024, 1024};
    measure_require(
        variable_table_add(&shard_variables, "shard", 2, shape, VARIABLE_ZEROS, 0, &error), &error);
    open_training();
    for (int i = 0; i < 8; i++) {
        shard[i] =
            floats(SHARD + 144 * (size_t)i) + 144 * i; /* 9 cache lines apart within a page. */
    }
    values = floats(PARAMETERS);
    gradient = floats(PARAMETERS);
    hidden = floats(ROWS_MAX * HIDDEN);
    logits = floats(ROWS_MAX * OUTPUTS);
    for (size_t i = 0; i < SHARD; i++) { /* Means of squares are never negative. */
        shard[3][i] += 0.5F;
        shard[4][i] += 0.5F;
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) { rows = (size_t)strtoul(argv[1], NULL, 10); }
    if (rows < 1 || rows > ROWS_MAX) { return 128; }
    set_up();
    char fingerprint[256];
    kernels_cpu()->fingerprint(fingerprint, sizeof fingerprint);
    printf("%s\nslices of %zu examples, MLP %d-%d-%d, medians of %d rounds\n", fingerprint, rows,
           INPUTS, HIDDEN, OUTPUTS, ROUNDS);
    double thousands = (double)rows * 1e-3;
    double products = (double)rows * 2e-9 * (2 * INPUTS * HIDDEN + 3 * HIDDEN * OUTPUTS);
    measure("gradient", run_gradient, thousands, "its products alone", run_products, thousands,
            "1000 examples/s", 20);
    measure("products of a slice", run_products, products, "product 1024^3", run_large_product,
            2e-9 * 1024 * 1024 * 1024, "GFLOP/s", 3);
    double gigabytes = SHARD * sizeof(float) * 1e-9;
    measure("add", run_add, 3 * gigabytes, "memcpy", run_copy, 2 * gigabytes, "GB/s", 1);
    for (kind = 0; kind < OPTIMIZER_KINDS; kind++) { /* The gradient, and each array twice. */
        double work = (1 + 2 * optimizer_arrays(kind)) * gigabytes;
        measure(optimizer_name(kind), run_optimizer, work, "memcpy", run_copy, 2 * gigabytes,
                "GB/s", 1);
    }
    return 0;
}
