/* model/evaluation_sum.h: the sums of an evaluation, and the accuracy that follows from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/evaluation_sum.h"

/* Values are added as doubles, one after the other; arrays that a model lacks add nothing. */
static void test_sums(void **state)
{
    (void)state;
    const float values[] = {16777216.0f, 1.0f, -0.5f};
    const float targets[] = {16777216.0f, 3.0f, 0.5f};
    assert_true(evaluation_sum_floats(values, 3) == 16777216.5);
    assert_true(evaluation_sum_floats(NULL, 3) == 0);
    assert_true(evaluation_sum_squares(values, targets, 3) == 5.0);
    assert_true(evaluation_sum_squares(values, NULL, 3) == 0);
    assert_true(evaluation_sum_squares(NULL, targets, 3) == 0);
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
        cmocka_unit_test(test_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
