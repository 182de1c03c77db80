/* model/evaluation_sum.h: the sums of an evaluation, and the accuracy that follows from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/evaluation_sum.h"

/* Values are added as doubles, one after the other. Metrics and targets that a model lacks add
 * nothing. */
static void test_sums(void **state)
{
    (void)state;
    float values[] = {16777216.0f, 1.0f, -0.5f};
    const struct tn_view outputs = {TN_FLOAT32, TN_SHAPE(3), values};
    const float targets[] = {16777216.0f, 3.0f, 0.5f};
    assert_true(evaluation_sum_floats(values, 3) == 16777216.5);
    assert_true(evaluation_sum_floats(NULL, 3) == 0);
    assert_true(evaluation_sum_squares(&outputs, targets, 3) == 5.0);
    assert_true(evaluation_sum_squares(&outputs, NULL, 3) == 0);
}

/* A model in C may name any value "outputs"; nothing is read behind the targets. */
static void squares_need_an_output_for_each_target(void **state)
{
    (void)state;
    float values[] = {1, 2, 3, 4};
    const float targets[] = {1, 1};
    const struct tn_view wider = {TN_FLOAT32, TN_SHAPE(2, 2), values};
    const struct tn_view none = {TN_FLOAT32, TN_SHAPE(2), NULL};
    const struct tn_view integers = {TN_INT32, TN_SHAPE(2), values};
    assert_true(isnan(evaluation_sum_squares(&wider, targets, 2)));
    assert_true(isnan(evaluation_sum_squares(&none, targets, 2)));
    assert_true(isnan(evaluation_sum_squares(&integers, targets, 2)));
}

/* A classifier has a share of correct examples, a regression R squared, if its targets differ. */
static void test_accuracy(void **state)
{
    (void)state;
    const struct evaluation_sum sum = {.correct = 3, .squares = 2, .count = 4};
    assert_true(evaluation_sum_accuracy(&sum, true, 0) == 0.75);
    assert_true(evaluation_sum_accuracy(&sum, false, 8) == 0.75);
    assert_true(isnan(evaluation_sum_accuracy(&sum, false, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(squares_need_an_output_for_each_target),
        cmocka_unit_test(test_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
