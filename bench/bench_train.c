/*
 * bench/bench_train.c: a complete training in one process with the functions of the cluster:
 * slices, tree sums, optimizer. Prints the accuracy of the job, its CPU seconds, and the ratio of
 * its arithmetic rate to that of a large matrix product on one core.
 *
 *   bench_train [JOB.json | KEY=VALUE]...     for example examples/fashion-mnist.json seed=2;
 *                                             later arguments override earlier ones
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measure.h"
#include "kernels/job_kernels.h"
#include "kernels/optimizer.h"
#include "worker/compute.h"

static struct job job;
static struct model *model;
static struct dataset *data[2];
static struct compute compute;
static float *arrays[2][OPTIMIZER_ARRAYS_MAX];

static float *zeros(size_t count)
{
    float *memory = kernels_allocate(count);
    if (memory == NULL) { exit(1); }
    memset(memory, 0, count * sizeof *memory);
    return memory;
}

/* Floating-point operations of the matrix products for one example: two for each weight in the
 * forward pass, two for the gradient of the weights and, except in the first layer, two for the
 * gradient of the inputs. */
static double flops_per_example(void)
{
    double flops = 0;
    for (uint32_t i = 0; i < model->table.count; i++) {
        const struct variable *variable = &model->table.variables[i];
        if (variable->rank == 2) { flops += (i == 0 ? 4.0 : 6.0) * (double)variable->count; }
    }
    return flops;
}

/* The rate of a large matrix product on one core, in floating-point operations per second. */
static double product_rate(void)
{
    enum { SIZE = 1024, PRODUCTS = 3 };
    static float *matrices[3];
    for (int i = 0; i < 3 && matrices[i] == NULL; i++) {
        matrices[i] = zeros(SIZE * SIZE);
        for (size_t k = 0; k < SIZE * SIZE; k++) { matrices[i][k] = (float)(k % 7) - 3; }
    }
    double start = measure_cpu_seconds();
    for (int i = 0; i < PRODUCTS; i++) {
        kernels_cpu()->multiply(false, false, SIZE, SIZE, SIZE, matrices[0], matrices[1],
                                matrices[2]);
    }
    return PRODUCTS * 2.0 * SIZE * SIZE * SIZE / (measure_cpu_seconds() - start);
}

static void set_up(int argc, char **argv)
{
    struct error error;
    job_init(&job);
    for (int i = 1; i < argc; i++) {
        bool is_key = strchr(argv[i], '=') != NULL;
        measure_require(
            is_key ? job_set(&job, argv[i], &error) : job_read_file(&job, argv[i], &error), &error);
    }
    measure_require(job_check(&job, &error), &error);
    measure_require(dataset_open(&job, DATASET_TRAIN, &data[0], &error), &error);
    measure_require(dataset_open(&job, DATASET_TEST, &data[1], &error), &error);
    measure_require(model_open(&job, &model, &error), &error);
    const struct compute_config config = {
        .job = &job,
        .model = model,
        .programs = job_programs(&job),
        .kernels = kernels_cpu(), /* The same updates with all. */
        .train = data[0],
        .test = data[1],
        .pool = buffer_pool_create(0),
    };
    measure_require(compute_open(&compute, &config, &error), &error);
    uint64_t count = model->table.parameter_count;
    for (int b = 0; b < 2; b++) {
        for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { arrays[b][a] = zeros(count); }
    }
    variables_init_range(&model->table, job.seed, 0, count, arrays[0][0]);
}

static void train_step(uint64_t step)
{
    struct error error;
    const struct slice_node all = {0, job.train.slices};
    const float *gradient = compute_node(&compute, arrays[step % 2][0], step, all, &error);
    measure_require(gradient != NULL ? TN_OK : error.status, &error);
    struct optimizer optimizer = optimizer_of_job(&job, &model->table);
    optimizer_apply(&optimizer, kernels_cpu(), step, 0, model->table.parameter_count, gradient,
                    (const float *const *)arrays[step % 2], arrays[(step + 1) % 2]);
}

int main(int argc, char **argv)
{
    double start = measure_cpu_seconds();
    set_up(argc, argv);
    double loaded = measure_cpu_seconds(), other = 0;
    printf("loaded the data in %.3f CPU s\n", loaded - start);
    uint64_t every = job.train.steps / 10 > 0 ? job.train.steps / 10 : 1;
    for (uint64_t step = 0; step < job.train.steps; step++) {
        train_step(step);
        if ((step + 1) % every != 0 && step + 1 != job.train.steps) { continue; }
        double before = measure_cpu_seconds();
        struct evaluation sum = compute_evaluate(&compute, arrays[(step + 1) % 2][0],
                                                 arrays[(step + 1) % 2][0], step, NULL);
        double limit = product_rate();
        other += measure_cpu_seconds() - before;
        double seconds = measure_cpu_seconds() - loaded - other;
        double rate = (double)(step + 1) * job.train.batch / seconds;
        printf("step %" PRIu64 "  training loss %.4f  test loss %.4f  accuracy %.4f  %.2f CPU s  "
               "%.0f examples/s  %.1f GFLOP/s  product 1024^3 %.1f GFLOP/s  ratio %.2f\n",
               step + 1, sum.train_loss, sum.loss, sum.accuracy, seconds, rate,
               rate * flops_per_example() * 1e-9, limit * 1e-9, rate * flops_per_example() / limit);
    }
    return 0;
}
