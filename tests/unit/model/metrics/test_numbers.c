/* Metrics of numbers: the figures of scikit-learn 1.9.1 on the same predictions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/metrics/numbers.h"

static const float targets[4][2] = {{1, 2}, {2, 1}, {4, 0}, {3, 5}};
static const float predicted[4][2] = {{1.5F, 2}, {2, 0}, {3, 1}, {3, 4.5F}};

static void assert_near(double found, double wanted)
{
    assert_true(fabs(found - wanted) < 1e-8);
}

/* All outputs together, R squared weighted by variance, and each alone. */
static void numbers_agree_with_scikit_learn(void **state)
{
    (void)state;
    struct number_metrics *metrics = NULL;
    assert_int_equal(number_metrics_open(2, &metrics, NULL), TN_OK);
    for (uint32_t i = 0; i < 4; i++) { number_metrics_add(metrics, predicted[i], targets[i]); }
    const struct number_result all = number_metrics_all(metrics);
    assert_near(all.mae, 0.5);
    assert_near(all.rmse, 0.6614378277661477);
    assert_near(all.r2, 0.8157894736842105);
    const struct number_result first = number_metrics_of(metrics, 0);
    assert_near(first.mae, 0.375);
    assert_near(first.rmse, 0.55901699);
    assert_near(first.r2, 0.75);
    assert_near(number_metrics_of(metrics, 1).r2, 0.83928571);
    number_metrics_close(metrics);
}

/* Equal targets have no variance to explain; no rows have no errors. */
static void undefined_results_are_nan(void **state)
{
    (void)state;
    struct number_metrics *metrics = NULL;
    assert_int_equal(number_metrics_open(1, &metrics, NULL), TN_OK);
    assert_true(isnan(number_metrics_all(metrics).mae));
    number_metrics_add(metrics, predicted[0], targets[0]);
    assert_true(isnan(number_metrics_all(metrics).r2));
    assert_near(number_metrics_all(metrics).mae, 0.5);
    number_metrics_close(metrics);
}

/* Large targets with a small spread keep their digits. */
static void spread_of_large_targets_is_exact(void **state)
{
    (void)state;
    struct number_metrics *metrics = NULL;
    assert_int_equal(number_metrics_open(1, &metrics, NULL), TN_OK);
    for (uint32_t i = 0; i < 1000; i++) {
        const float target = 16000000.0F + (float)(i % 2), half = 16000000.0F;
        number_metrics_add(metrics, &half, &target);
    }
    assert_near(number_metrics_all(metrics).r2, -1);
    number_metrics_close(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_agree_with_scikit_learn),
        cmocka_unit_test(undefined_results_are_nan),
        cmocka_unit_test(spread_of_large_targets_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
