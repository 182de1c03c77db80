/* The Fashion-MNIST of Debian's dataset-fashion-mnist, as the worker reads it. Skipped if the
 * package is not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "kernels/kernels.h"

static struct job job;
static struct dataset *train, *test;

static int open_data(void **state)
{
    (void)state;
    struct error error;
    job_init(&job);
    if (access(job.data.path, R_OK) != 0) { return 0; }
    return dataset_open(&job, DATASET_TRAIN, &train, &error) != TN_OK ||
           dataset_open(&job, DATASET_TEST, &test, &error) != TN_OK;
}

static int close_data(void **state)
{
    (void)state;
    dataset_close(train);
    dataset_close(test);
    return 0;
}

/* The data have 60,000 and 10,000 images in ten equal classes, with floats in [0, 1] and the known
 * mean. */
static void test_contents_are_known(void **state)
{
    (void)state;
    if (train == NULL) { skip(); }
    uint32_t counts[10] = {0};
    double sum = 0;
    assert_int_equal(train->examples, 60000);
    assert_int_equal(test->examples, 10000);
    for (uint32_t i = 0; i < train->examples; i++) { counts[train->labels[i]]++; }
    for (int label = 0; label < 10; label++) { assert_int_equal(counts[label], 6000); }
    float *inputs = calloc((size_t)60000 * 784, sizeof *inputs);
    const struct fields fields = {.inputs = inputs};
    assert_int_equal(dataset_gather_range(train, 0, 60000, &fields, NULL), TN_OK);
    for (size_t i = 0; i < (size_t)60000 * 784; i++) {
        assert_true(inputs[i] >= 0 && inputs[i] <= 1);
        sum += (double)inputs[i];
    }
    double mean = sum / (60000.0 * 784);
    assert_true(mean > 0.2860 && mean < 0.2861);
    free(inputs);
}

/* Gradient descent on a thousand images learns to distinguish the classes. */
static void test_softmax_learns(void **state)
{
    (void)state;
    if (train == NULL) { skip(); }
    struct model *model;
    struct training *training;
    struct error error;
    struct evaluation_sum result = {0};
    static float values[7850], gradient[7850];
    strcpy(job.model.type, "softmax");
    job.model.hidden_count = 0;
    assert_int_equal(model_open(&job, &model, &error), TN_OK);
    const struct training_config config = {
        .model = model, .kernels = "portable", .gradient = {1000}, .evaluation = {1000}};
    assert_int_equal(training_open(&config, &training, &error), TN_OK);
    struct fields fields = training_fields(training, TN_TRAIN, 1000);
    assert_int_equal(dataset_gather_range(train, 0, 1000, &fields, NULL), TN_OK);
    for (int step = 0; step < 100; step++) {
        struct slice_run run = {
            .values = values, .count = 1000, .scale = -0.1F / 1000, .gradient = gradient};
        assert_int_equal(training_gradient(training, &run, &error), TN_OK);
        kernels_cpu()->add(7850, gradient, values);
    }
    fields = training_fields(training, TN_EVALUATE, 1000);
    assert_int_equal(dataset_gather_range(test, 0, 1000, &fields, NULL), TN_OK);
    assert_int_equal(training_evaluate(training, values, 1000, &result, &error), TN_OK);
    assert_true(result.correct >= 700 && result.correct <= 1000);
    training_close(training);
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents_are_known),
        cmocka_unit_test(test_softmax_learns),
    };
    return cmocka_run_group_tests(tests, open_data, close_data);
}
