/*
 * bench/bench_train.c: a whole training in one process, by the same functions the cluster uses:
 * slices, tree sums, optimizer. Tells what a recipe reaches, and in how many CPU seconds.
 *
 *   bench_train [JOB.json | key=value] ...    later ones win: examples/fashion-mnist.json seed=2
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cluster/slices.h"
#include "kernels/optimizer.h"
#include "worker/dataset.h"
#include "worker/shuffle.h"

static struct job job;
static struct model *model;
static struct dataset *data[2];
static struct batch batch;
static float *arrays[2][OPTIMIZER_ARRAYS_MAX];
static float *gradients[SLICES_MAX];
static uint32_t *indices;

static double cpu_seconds(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) { return 0; }
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(enum tn_status status, const struct error *error)
{
    if (status == TN_OK) { return; }
    if (fprintf(stderr, "bench_train: %s\n", error->text) < 0) { exit(2); }
    exit(1);
}

static float *floats(uint64_t count)
{
    float *memory = aligned_alloc(64, (count / 16 + 1) * 64);
    if (memory == NULL) { exit(1); }
    memset(memory, 0, (count / 16 + 1) * 64);
    return memory;
}

static void set_up(int argc, char **argv)
{
    struct error error;
    job_init(&job);
    for (int i = 1; i < argc; i++) {
        bool is_key = strchr(argv[i], '=') != NULL;
        must(is_key ? job_set(&job, argv[i], &error) : job_read_file(&job, argv[i], &error),
             &error);
    }
    must(job_check(&job, &error), &error);
    must(dataset_open(&job, DATASET_TRAIN, &data[0], &error), &error);
    must(dataset_open(&job, DATASET_TEST, &data[1], &error), &error);
    struct model_config config = model_config_of_job(&job);
    uint32_t most = job.train.batch / job.train.slices + 1;
    if (most < 250) { most = 250; }
    must(model_open(&config, kernels_cpu(), most, &model, &error), &error);
    must(batch_open(data[0], most, &batch, &error), &error);
    indices = calloc(most, sizeof *indices);
    uint64_t count = model->table.parameter_count;
    for (int b = 0; b < 2; b++) {
        for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { arrays[b][a] = floats(count); }
    }
    for (uint32_t v = 0; v < job.train.slices; v++) { gradients[v] = floats(count); }
    variables_init_range(&model->table, job.seed, 0, count, arrays[0][0]);
}

/* One step; returns the mean loss of its batch. */
static double train_step(uint64_t step)
{
    struct slice_node parts[SLICES_MAX];
    struct slice_sum sums[SLICES_MAX];
    double loss_sum = 0;
    uint32_t slices = job.train.slices, size = job.train.batch;
    for (uint32_t v = 0; v < slices; v++) {
        struct slice_range range = slices_positions(slices, size, v);
        double loss;
        shuffle_batch(job.seed, data[0]->examples, size, step, range.first, range.count, indices);
        struct examples examples = dataset_gather(data[0], indices, range.count, &batch);
        model_gradient(model, arrays[step % 2][0], &examples, 1.0F / (float)size, gradients[v],
                       &loss);
        loss_sum += loss;
        parts[v] = (struct slice_node){v, 1};
    }
    uint32_t count = slices_plan(slices, (struct slice_node){0, slices}, parts, slices, sums);
    for (uint32_t i = 0; i < count; i++) {
        kernels_cpu()->add(model->table.parameter_count, gradients[sums[i].from],
                           gradients[sums[i].into]);
    }
    struct optimizer optimizer = optimizer_of_job(&job);
    optimizer_apply(&optimizer, kernels_cpu(), step, model->table.parameter_count, gradients[0],
                    (const float *const *)arrays[step % 2], arrays[(step + 1) % 2]);
    return loss_sum / size;
}

static struct evaluation_sum evaluate(uint64_t step)
{
    struct evaluation_sum sum = {0};
    for (uint32_t first = 0; first < data[1]->examples; first += 250) {
        uint32_t rest = data[1]->examples - first;
        struct examples examples =
            dataset_gather_range(data[1], first, rest < 250 ? rest : 250, &batch);
        model_evaluate(model, arrays[step % 2][0], &examples, &sum);
    }
    return sum;
}

int main(int argc, char **argv)
{
    double start = cpu_seconds();
    set_up(argc, argv);
    double loaded = cpu_seconds(), evaluating = 0, loss = 0;
    printf("load %.3f s\n", loaded - start);
    uint64_t every = job.train.steps / 10 > 0 ? job.train.steps / 10 : 1;
    for (uint64_t step = 0; step < job.train.steps; step++) {
        loss = train_step(step);
        if ((step + 1) % every != 0 && step + 1 != job.train.steps) { continue; }
        double before = cpu_seconds();
        struct evaluation_sum sum = evaluate(step + 1);
        evaluating += cpu_seconds() - before;
        double seconds = cpu_seconds() - loaded - evaluating;
        printf("step %" PRIu64 "  batch loss %.4f  test loss %.4f  accuracy %.4f  %.2f s  %.0f "
               "examples/s\n",
               step + 1, loss, sum.loss_sum / (double)sum.count,
               (double)sum.correct / (double)sum.count, seconds,
               (double)(step + 1) * job.train.batch / seconds);
    }
    return 0;
}
