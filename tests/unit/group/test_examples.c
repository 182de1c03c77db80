/* group/examples.h: the fields of a slice are those of its positions in the batch. */
#include "group/examples.h"

#include "common/cluster/slices.h"
#include "data/shuffle.h"
#include "tests/unit/group/group_job.h"

enum { INPUTS = 6, BATCH = 20, STEP = 7 };

static struct job job;
static struct dataset *train, *test;
static struct group_examples examples;

static int set_up(void **state)
{
    (void)state;
    group_job_init(&job);
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &train, NULL), TN_OK);
    assert_int_equal(dataset_open(&job, DATASET_TEST, &test, NULL), TN_OK);
    assert_int_equal(group_examples_open(&examples, &job, train, test, NULL), TN_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    group_examples_close(&examples);
    dataset_close(train);
    dataset_close(test);
    return 0;
}

static struct tn_view inputs_view(float *inputs, uint32_t count)
{
    return (struct tn_view){.data = inputs, .type = TN_FLOAT32, .shape = TN_SHAPE(count, INPUTS)};
}

/* Each field alone, as the part that reads it asks for it: together, the batch of the step. */
static void slices_make_up_the_batch(void **state)
{
    (void)state;
    float inputs[BATCH * INPUTS], whole[BATCH * INPUTS];
    uint8_t labels[BATCH], whole_labels[BATCH];
    uint64_t indices[BATCH];
    const struct shuffle_order order = {job.seed, train->examples, job.data.shuffle};
    const struct fields all = {.inputs = whole, .labels = whole_labels, .labels_each = 1};
    shuffle_batch(&order, BATCH, STEP, 0, BATCH, indices);
    assert_int_equal(dataset_gather(train, indices, BATCH, NULL, &all, NULL), TN_OK);
    for (uint32_t v = 0; v < job.train.slices; v++) {
        const struct slice_range range = slices_positions(job.train.slices, BATCH, v);
        const struct schedule_label label = {3, STEP, v};
        const struct tn_view view = {
            .data = labels + range.first, .type = TN_UINT8, .shape = TN_SHAPE(range.count)};
        assert_int_equal(
            group_examples_slice(&examples, &label, "inputs",
                                 inputs_view(inputs + range.first * INPUTS, range.count), NULL),
            TN_OK);
        assert_int_equal(group_examples_slice(&examples, &label, "labels", view, NULL), TN_OK);
    }
    assert_memory_equal(inputs, whole, sizeof whole);
    assert_memory_equal(labels, whole_labels, sizeof whole_labels);
}

static void a_chunk_is_a_range_of_the_test_set(void **state)
{
    (void)state;
    float inputs[4 * INPUTS], expected[4 * INPUTS];
    const struct fields fields = {.inputs = expected};
    assert_int_equal(dataset_gather_range(test, 16, 4, &fields, NULL), TN_OK);
    assert_int_equal(group_examples_test(&examples, 16, 4, "inputs", inputs_view(inputs, 4), NULL),
                     TN_OK);
    assert_memory_equal(inputs, expected, sizeof expected);
}

/* An error names the field. */
static void other_fields_are_refused(void **state)
{
    (void)state;
    float inputs[4 * INPUTS];
    struct error error;
    struct tn_view view = inputs_view(inputs, 4);
    const struct schedule_label label = {3, STEP, 0};
    assert_int_equal(group_examples_slice(&examples, &label, "images", view, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "'images'"));
    view.type = TN_INT64;
    assert_int_equal(group_examples_test(&examples, 0, 4, "inputs", view, &error), TN_EINVAL);
    /* The synthetic data have labels, but no targets. */
    view.type = TN_FLOAT32;
    assert_int_equal(group_examples_slice(&examples, &label, "targets", view, &error), TN_EINVAL);
}

/* Labels of sequences: several for each example. */
static void labels_of_sequences_are_counted(void **state)
{
    (void)state;
    uint8_t labels[4 * 9];
    struct fields fields;
    const struct tn_view view = {.data = labels, .type = TN_UINT8, .shape = TN_SHAPE(4, 9)};
    assert_int_equal(group_examples_fields("labels", view, 4, &fields, NULL), TN_OK);
    assert_ptr_equal(fields.labels, labels);
    assert_int_equal(fields.labels_each, 9);
    assert_null(fields.inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slices_make_up_the_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_chunk_is_a_range_of_the_test_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_fields_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_of_sequences_are_counted, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
