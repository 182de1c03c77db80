/* Examples that are read ahead are those of their step, whatever step was expected. */
#include "data/read_ahead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "data/job_columns.h"

enum { BATCH = 12, SLICES = 5, INPUTS = 3, EXAMPLES = 100 };

static struct job job, row_job;
static struct dataset *dataset, *rows; /* Arrays; rows with a number and a key. */

static struct read_ahead *open_ahead(const struct dataset *from, uint32_t threads)
{
    struct read_ahead *ahead;
    const struct read_ahead_config config = {
        .dataset = from,
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
    struct read_ahead *plain = open_ahead(dataset, 0);
    struct read_ahead *threaded = open_ahead(dataset, 3);
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

/* Whether a step's keys were asked for changes neither these nor its examples. */
static void test_keys_come_before_examples(uint32_t threads)
{
    static const uint64_t steps[] = {0, 1, 2, 2, 7, 8, 9};
    struct read_ahead *ahead = open_ahead(rows, threads), *plain = open_ahead(rows, 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (uint32_t slice = 0; slice < SLICES; slice++) {
            float wanted[BATCH] = {0}, inputs[BATCH] = {0};
            int64_t wanted_keys[BATCH] = {0}, keys[BATCH] = {0}, listed[BATCH] = {0};
            const struct fields expected = {.inputs = wanted, .keys = wanted_keys, .keys_each = 1};
            const struct fields early = {.inputs = inputs, .keys = listed, .keys_each = 1};
            const struct fields fields = {.inputs = inputs, .keys = keys, .keys_each = 1};
            const uint64_t asked = steps[i] + (i == 4); /* Another step is taken than was asked. */
            assert_int_equal(read_ahead_take(plain, steps[i], slice, &expected, NULL), TN_OK);
            if (i != 3) {
                assert_int_equal(read_ahead_keys(ahead, asked, slice, &early, NULL), TN_OK);
                assert_int_equal(memcmp(listed, wanted_keys, sizeof keys) == 0, asked == steps[i]);
                assert_int_equal(inputs[0], 0);
            }
            assert_int_equal(read_ahead_take(ahead, steps[i], slice, &fields, NULL), TN_OK);
            assert_memory_equal(inputs, wanted, sizeof inputs);
            assert_memory_equal(keys, wanted_keys, sizeof keys);
        }
    }
    read_ahead_close(plain);
    read_ahead_close(ahead);
}

static void test_keys(void **state)
{
    (void)state;
    test_keys_come_before_examples(0);
    test_keys_come_before_examples(2);
}

static int setup(void **state)
{
    (void)state;
    job_init(&job);
    strcpy(job.data.type, "synthetic");
    job.model.inputs = INPUTS;
    job.model.outputs = 4;
    job.data.examples = EXAMPLES;
    job_init(&row_job);
    strcpy(row_job.data.type, "criteo-like");
    strcpy(row_job.data.columns,
           "{\"I1\": \"number\", \"C1\": {\"as\": \"category\", \"embed\": 1, \"table\": true}}");
    row_job.data.examples = EXAMPLES;
    struct error error;
    if (job_columns_settle(&row_job, &error) != TN_OK ||
        dataset_open(&job, DATASET_TRAIN, &dataset, &error) != TN_OK ||
        dataset_open(&row_job, DATASET_TRAIN, &rows, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    dataset_close(dataset);
    dataset_close(rows);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
