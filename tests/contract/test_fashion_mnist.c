/* The Fashion-MNIST of Debian's dataset-fashion-mnist, as the worker reads it. Skipped if the
 * package is not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker/dataset.h"

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
    struct batch batch;
    struct error error;
    assert_int_equal(batch_open(train, 60000, &batch, &error), TN_OK);
    struct examples all = dataset_gather_range(train, 0, 60000, &batch);
    for (size_t i = 0; i < (size_t)60000 * 784; i++) {
        assert_true(all.inputs[i] >= 0 && all.inputs[i] <= 1);
        sum += (double)all.inputs[i];
    }
    double mean = sum / (60000.0 * 784);
    assert_true(mean > 0.2860 && mean < 0.2861);
    batch_close(&batch);
}

/* Gradient descent on a thousand images learns to distinguish the classes. */
static void test_softmax_learns(void **state)
{
    (void)state;
    if (train == NULL) { skip(); }
    struct model_config config = {"softmax", 784, 10, {0}, 0};
    struct model *model;
    struct batch batch;
    struct error error;
    struct evaluation_sum result = {0};
    static float values[7850], gradient[7850];
    double loss = 0;
    assert_int_equal(model_open(&config, kernels_cpu(), 1000, &model, &error), TN_OK);
    assert_int_equal(batch_open(train, 1000, &batch, &error), TN_OK);
    struct examples examples = dataset_gather_range(train, 0, 1000, &batch);
    for (int step = 0; step < 100; step++) {
        model_gradient(model, values, &examples, -0.1F / 1000, gradient, &loss);
        kernels_cpu()->add(7850, gradient, values);
    }
    examples = dataset_gather_range(test, 0, 1000, &batch);
    model_evaluate(model, values, &examples, &result);
    assert_in_range(result.correct, 700, 1000);
    batch_close(&batch);
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
