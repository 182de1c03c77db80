/* The metrics of an evaluation from the outputs that a model names, of any shape. */
#include "worker/evaluation_details.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { EXAMPLES = 4, CLASSES = 2 };

static float scores[EXAMPLES * CLASSES] = {3, 1, 0, 2, 5, 4, 1, 9};
static uint8_t labels[EXAMPLES] = {0, 1, 1, 1}; /* Three of four are predicted. */
static float targets[EXAMPLES] = {1, 2, 3, 4};

/* The metrics of one addition, by a model whose own accuracy is `accuracy`. */
static struct evaluation evaluate(const struct evaluation_outputs *outputs,
                                  const struct fields *fields, double accuracy)
{
    struct evaluation_details details = {.failed = false};
    struct evaluation evaluation = {.accuracy = accuracy};
    evaluation_details_add(&details, outputs, fields);
    assert_false(details.failed);
    evaluation_details_metrics(&details, &evaluation);
    evaluation_details_close(&details);
    return evaluation;
}

/* Without a metric "accuracy" the logits give it; the model's own is kept. */
static void logits_give_the_accuracy(void **state)
{
    (void)state;
    const struct evaluation_outputs outputs = {
        .logits = {TN_FLOAT32, TN_SHAPE(EXAMPLES, CLASSES), scores}};
    const struct fields fields = {.labels = labels, .labels_each = 1};
    const struct evaluation found = evaluate(&outputs, &fields, (double)NAN);
    assert_true(found.accuracy == 0.75);
    assert_int_equal(found.metrics.count, 5);
    assert_true(evaluate(&outputs, &fields, 0.25).accuracy == 0.25);
}

/* Nothing is read behind the labels or the targets. */
static void outputs_of_another_shape_have_no_metrics(void **state)
{
    (void)state;
    const struct evaluation_outputs outputs = {
        .logits = {TN_FLOAT32, TN_SHAPE(EXAMPLES / 2, 2, CLASSES), scores},
        .outputs = {TN_FLOAT32, TN_SHAPE(EXAMPLES, CLASSES), scores}};
    const struct fields classes = {.labels = labels, .labels_each = 1};
    const struct fields numbers = {.targets = targets, .targets_each = 1};
    const struct evaluation found = evaluate(&outputs, &classes, (double)NAN);
    assert_true(isnan(found.accuracy) && found.metrics.count == 0);
    assert_int_equal(evaluate(&outputs, &numbers, 0).metrics.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_give_the_accuracy),
        cmocka_unit_test(outputs_of_another_shape_have_no_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
