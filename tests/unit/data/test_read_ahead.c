/* Examples that are read ahead are those of their step, whatever step was expected. */
#include "data/read_ahead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 12, SLICES = 5, INPUTS = 3, EXAMPLES = 100 };

static struct job job;
static struct dataset *dataset;

static struct read_ahead *open_ahead(uint32_t threads)
{
    struct read_ahead *ahead;
    const struct read_ahead_config config = {
        .dataset = dataset,
        .order = {.seed = 3, .examples = EXAMPLES},
        .batch = BATCH,
        .slices = SLICES,
        .threads = threads,
    };
    assert_int_equal(read_ahead_open(&config, &ahead, NULL), TN_OK);
    return ahead;
}

static void test_threads_change_nothing(void **state)
{
    static const uint64_t steps[] = {0, 1, 2, 3, 9, 10, 2, 3, 4, 4, 5, 30, 31, 32, 33, 34};
    struct read_ahead *plain = open_ahead(0), *threaded = open_ahead(3);
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (uint32_t slice = 0; slice < SLICES; slice++) {
            float wanted[BATCH * INPUTS] = {0}, inputs[BATCH * INPUTS] = {0};
            uint8_t wanted_labels[BATCH] = {0}, labels[BATCH] = {0};
            const struct fields expected = {.inputs = wanted, .labels = wanted_labels};
            const struct fields fields = {.inputs = inputs, .labels = labels};
            if (slice == 3 && i % 3 == 1) { continue; } /* It has moved for a step. */
            assert_int_equal(read_ahead_take(plain, steps[i], slice, &expected, NULL), TN_OK);
            assert_int_equal(read_ahead_take(threaded, steps[i], slice, &fields, NULL), TN_OK);
            assert_memory_equal(inputs, wanted, sizeof inputs);
            assert_memory_equal(labels, wanted_labels, sizeof labels);
        }
    }
    read_ahead_close(plain);
    read_ahead_close(threaded);
}

static int setup(void **state)
{
    (void)state;
    job_init(&job);
    strcpy(job.data.type, "synthetic");
    job.model.inputs = INPUTS;
    job.model.outputs = 4;
    job.data.examples = EXAMPLES;
    return dataset_open(&job, DATASET_TRAIN, &dataset, NULL) != TN_OK;
}

static int teardown(void **state)
{
    (void)state;
    dataset_close(dataset);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_change_nothing)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
