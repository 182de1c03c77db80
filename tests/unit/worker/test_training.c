/* Training in one process learns, and its bits do not depend on the grouping of slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "common/cluster/slices.h"
#include "data/dataset.h"
#include "data/shuffle.h"
#include "kernels/optimizer.h"

enum { SLICES = 7, BATCH = 45, PARAMETERS_MAX = 400 };

struct trainer {
    struct job job;
    struct dataset *train, *test;
    struct model *model;
    struct training *training;
    float arrays[2][OPTIMIZER_ARRAYS_MAX][PARAMETERS_MAX];
    float gradients[SLICES][PARAMETERS_MAX];
};

static void set_up(struct trainer *t, const char *model_type)
{
    struct error error;
    memset(t, 0, sizeof *t);
    job_init(&t->job);
    strcpy(t->job.data.type, "synthetic");
    strcpy(t->job.model.type, model_type);
    t->job.model.inputs = 20;
    t->job.model.outputs = 4;
    t->job.model.hidden[0] = 8;
    t->job.model.hidden_count = strcmp(model_type, "mlp") == 0;
    t->job.data.noise = strcmp(model_type, "linear") == 0 ? 0.01 : 0.5;
    t->job.train.optimizer = OPTIMIZER_MOMENTUM;
    t->job.train.learning_rate = 0.05;
    /* 45 examples are three slices of 7 and four of 6. */
    struct training_config config = {.kernels = "openblas", .gradient = {6, 7}, .evaluation = {40}};
    assert_int_equal(dataset_open(&t->job, DATASET_TRAIN, &t->train, &error), TN_OK);
    assert_int_equal(dataset_open(&t->job, DATASET_TEST, &t->test, &error), TN_OK);
    assert_int_equal(model_open(&t->job, &t->model, &error), TN_OK);
    config.model = t->model;
    assert_int_equal(training_open(&config, &t->training, &error), TN_OK);
    variables_init_range(&t->model->table, 1, 0, t->model->table.parameter_count, t->arrays[0][0]);
}

static void tear_down(struct trainer *t)
{
    training_close(t->training);
    model_close(t->model);
    dataset_close(t->train);
    dataset_close(t->test);
}

static void compute_slice(struct trainer *t, uint64_t step, uint32_t slice)
{
    uint64_t indices[BATCH];
    struct slice_range range = slices_positions(SLICES, BATCH, slice);
    struct fields fields = training_fields(t->training, TN_TRAIN, range.count);
    const struct shuffle_order order = {.seed = 1, .examples = t->train->examples};
    shuffle_batch(&order, BATCH, step, range.first, range.count, indices);
    assert_int_equal(dataset_gather(t->train, indices, range.count, NULL, &fields, NULL), TN_OK);
    struct slice_run run = {
        .values = t->arrays[step % 2][0],
        .seed = 1,
        .step = step,
        .first = range.first,
        .count = range.count,
        .scale = 1.0F / BATCH,
        .gradient = t->gradients[slice],
    };
    assert_int_equal(training_gradient(t->training, &run, NULL), TN_OK);
}

static void sum(struct trainer *t, struct slice_node node, const struct slice_node *parts,
                uint32_t count)
{
    struct slice_sum sums[SLICES_MAX];
    uint32_t sum_count = slices_plan(SLICES, node, parts, count, sums);
    for (uint32_t i = 0; i < sum_count; i++) {
        kernels_cpu()->add(PARAMETERS_MAX, t->gradients[sums[i].from], t->gradients[sums[i].into]);
    }
}

/* One step by `workers` workers, with slices assigned at random. */
static void step_by(struct trainer *t, uint64_t step, uint32_t workers)
{
    struct slice_set owned[SLICES] = {{{0}}};
    struct slice_node parts[SLICES_MAX], singles[SLICES];
    uint32_t part_count = 0;
    for (uint32_t v = SLICES; v-- > 0;) {
        singles[v] = (struct slice_node){v, 1};
        compute_slice(t, step, v);
        slice_set_add(&owned[random_at(workers, step, v) % workers], singles[v]);
    }
    for (uint32_t w = 0; w < workers; w++) {
        uint32_t from = part_count;
        part_count += slices_cover(SLICES, &owned[w], parts + from);
        for (uint32_t i = from; i < part_count; i++) {
            sum(t, parts[i], singles + parts[i].first, parts[i].count);
        }
    }
    sum(t, (struct slice_node){0, SLICES}, parts, part_count);
    struct optimizer optimizer = optimizer_of_job(&t->job, &t->model->table);
    float(*in)[PARAMETERS_MAX] = t->arrays[step % 2],
    (*out)[PARAMETERS_MAX] = t->arrays[(step + 1) % 2];
    optimizer_apply(&optimizer, kernels_cpu(), step, 0, t->model->table.parameter_count,
                    t->gradients[0],
                    (const float *const[OPTIMIZER_ARRAYS_MAX]){in[0], in[1], in[2]},
                    (float *const[OPTIMIZER_ARRAYS_MAX]){out[0], out[1], out[2]});
}

/* Fifty steps by one, three or seven workers end with the same bits. */
static void test_bits_do_not_depend_on_workers(void **state)
{
    (void)state;
    static struct trainer one, many;
    for (uint32_t workers = 3; workers <= 7; workers += 4) {
        set_up(&one, "mlp");
        set_up(&many, "mlp");
        for (uint64_t step = 0; step < 50; step++) {
            step_by(&one, step, 1);
            step_by(&many, step, workers);
        }
        assert_memory_equal(one.arrays, many.arrays, sizeof one.arrays);
        tear_down(&one);
        tear_down(&many);
    }
}

static struct evaluation_sum train(struct trainer *t, const char *model_type)
{
    struct evaluation_sum result = {0};
    set_up(t, model_type);
    for (uint64_t step = 0; step < 300; step++) { step_by(t, step, 2); }
    for (uint32_t first = 0; first < 1000; first += 40) {
        struct fields fields = training_fields(t->training, TN_EVALUATE, 40);
        assert_int_equal(dataset_gather_range(t->test, first, 40, &fields, NULL), TN_OK);
        assert_int_equal(training_evaluate(t->training, t->arrays[0][0], 40, &result, NULL), TN_OK);
    }
    tear_down(t);
    return result;
}

/* Each model learns its synthetic data: over 95 % of the classes, or a loss at the noise. */
static void test_models_learn(void **state)
{
    (void)state;
    static struct trainer trainer;
    assert_true(train(&trainer, "mlp").correct > 950);
    assert_true(train(&trainer, "softmax").correct > 950);
    assert_true(train(&trainer, "linear").loss / 1000 < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_do_not_depend_on_workers),
        cmocka_unit_test(test_models_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
