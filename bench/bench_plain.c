/*
 * bench/bench_plain.c: the program with which bench/run compares a cluster: it trains the network
 * of a job in one process of one or more threads, with the same kernels, data and optimizer, and
 * nothing else. Each thread computes the gradient of its part of a batch, then updates its part of
 * the parameters.
 *
 *   bench_plain JOB.json BATCH THREADS     examples/s for each line; see serve.h
 *
 * The job has an `mlp` with one hidden layer, or is the network of cnn.h as `layers`.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/plain.h"
#include "bench/serve.h"
#include "common/base/clock.h"
#include "data/dataset.h"
#include "kernels/optimizer.h"
#include "model/model.h"

enum { THREADS_MAX = 16, SPINS = 2000 };

struct thread {
    pthread_t handle;
    size_t index;
    struct plain_network network;
    float *inputs, *gradient;
    int32_t *labels;
    uint64_t *indices; /* The examples of a step. */
};

static struct job job;
static struct model *model;
static struct dataset *data;
static struct optimizer optimizer;
static struct thread threads[THREADS_MAX];
static size_t thread_count, rows; /* Examples of each thread in a step. */
static float *arrays[2][OPTIMIZER_ARRAYS_MAX];
static uint64_t end_ns;
/* Atomic because GCC 12 moves reads of plain static variables to before meet(). */
static atomic_size_t step;
static atomic_bool is_over;

/* All threads wait for each other: a short spin, then other processes get the core. */
static atomic_uint arrived, turn;

static void meet(void)
{
    unsigned now = atomic_load(&turn);
    if (atomic_fetch_add(&arrived, 1) + 1 == thread_count) {
        atomic_store(&arrived, 0);
        atomic_store(&turn, now + 1);
        return;
    }
    for (unsigned spins = 0; atomic_load(&turn) == now; spins++) {
        if (spins >= SPINS) { (void)sched_yield(); }
    }
}

static float *zeros(size_t count)
{
    float *memory = kernels_allocate(count);
    if (memory == NULL) { exit(1); }
    memset(memory, 0, count * sizeof *memory);
    return memory;
}

/* Any order of examples takes the same time, if it is not that of memory. */
static void gather(struct thread *thread)
{
    struct error error;
    for (size_t i = 0; i < rows; i++) {
        uint64_t position = (step * thread_count + thread->index) * rows + i;
        thread->indices[i] = position * 7919 % data->examples;
    }
    struct fields fields = {
        .inputs = thread->inputs, .wide_labels = thread->labels, .labels_each = 1};
    measure_require(dataset_gather(data, thread->indices, (uint32_t)rows, NULL, &fields, &error),
                    &error);
}

/* Update this thread's part of the parameters by the mean of all gradients. */
static void update(const struct thread *thread)
{
    uint64_t count = model->table.parameter_count;
    uint64_t first = count * thread->index / thread_count / 16 * 16;
    uint64_t next = thread->index + 1 == thread_count
                        ? count
                        : count * (thread->index + 1) / thread_count / 16 * 16;
    float *sum = threads[0].gradient;
    for (size_t t = 1; t < thread_count; t++) {
        kernels_cpu()->add(next - first, threads[t].gradient + first, sum + first);
    }
    if (thread_count > 1) {
        kernels_cpu()->scale(next - first, 1.0F / (float)thread_count, sum + first);
    }
    const float *in[OPTIMIZER_ARRAYS_MAX];
    float *out[OPTIMIZER_ARRAYS_MAX];
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        in[a] = arrays[step % 2][a] + first;
        out[a] = arrays[(step + 1) % 2][a] + first;
    }
    optimizer_apply(&optimizer, kernels_cpu(), step, first, next - first, sum + first, in, out);
}

static void *train(void *arg)
{
    struct thread *thread = arg;
    while (!is_over) {
        gather(thread);
        thread->network.gradient(thread->network.self, arrays[step % 2][0], thread->inputs,
                                 thread->labels, thread->gradient);
        meet();
        update(thread);
        meet();
        if (thread->index == 0) {
            step++;
            is_over = clock_monotonic_ns() >= end_ns;
        }
        meet();
    }
    return NULL;
}

static double examples_per_second(double seconds)
{
    uint64_t first = step, start = clock_monotonic_ns();
    end_ns = start + (uint64_t)(seconds * 1e9);
    is_over = false;
    for (size_t t = 1; t < thread_count; t++) {
        if (pthread_create(&threads[t].handle, NULL, train, &threads[t]) != 0) { exit(1); }
    }
    (void)train(&threads[0]);
    for (size_t t = 1; t < thread_count; t++) { (void)pthread_join(threads[t].handle, NULL); }
    double spent = (double)(clock_monotonic_ns() - start) * 1e-9;
    return (double)((step - first) * rows * thread_count) / spent;
}

static void open_thread(size_t index)
{
    struct thread *thread = &threads[index];
    const struct portable *kernels = portable_fastest();
    thread->index = index;
    thread->network =
        strcmp(job.model.type, "mlp") == 0
            ? plain_mlp(kernels, rows, job.model.inputs, job.model.hidden[0], job.model.outputs)
            : plain_cnn(kernels, rows);
    thread->inputs = zeros(rows * job.model.inputs);
    thread->labels = calloc(rows, sizeof *thread->labels);
    thread->indices = calloc(rows, sizeof *thread->indices);
    thread->gradient = zeros(thread->network.parameters);
    if (thread->labels == NULL || thread->indices == NULL) { exit(1); }
    if (thread->network.parameters == model->table.parameter_count) { return; }
    (void)fprintf(stderr, "bench_plain: the network of the job has another number of parameters\n");
    exit(1);
}

int main(int argc, char **argv)
{
    struct error error;
    size_t batch = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    thread_count = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    if (thread_count < 1 || thread_count > THREADS_MAX || batch < thread_count) { return 128; }
    rows = batch / thread_count;
    job_init(&job);
    measure_require(job_read_file(&job, argv[1], &error), &error);
    measure_require(job_check(&job, &error), &error);
    measure_require(dataset_open(&job, DATASET_TRAIN, &data, &error), &error);
    measure_require(model_open(&job, &model, &error), &error);
    optimizer = optimizer_of_job(&job, &model->table);
    for (size_t t = 0; t < thread_count; t++) { open_thread(t); }
    uint64_t count = model->table.parameter_count;
    for (int b = 0; b < 2; b++) {
        for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { arrays[b][a] = zeros(count); }
    }
    variables_init_range(&model->table, job.seed, 0, count, arrays[0][0]);
    serve(examples_per_second);
    return 0;
}
