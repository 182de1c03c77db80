/* Histograms: buckets, and the sums of finite numbers. */
#include "common/base/histogram.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct histogram histogram;

static uint64_t sum_of_buckets(void)
{
    uint64_t sum = 0;
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) { sum += histogram.buckets[b]; }
    return sum;
}

/* Limits ascend, from the least double to the greatest. */
static void limits_ascend(void **state)
{
    (void)state;
    for (uint32_t b = 1; b < HISTOGRAM_BUCKETS; b++) {
        assert_true(histogram_limit(b - 1) <= histogram_limit(b));
    }
    assert_true(histogram_limit(HISTOGRAM_BUCKETS - 1) == DBL_MAX);
}

/* Each number is in the bucket whose limits enclose it. */
static void numbers_are_between_limits(void **state)
{
    static const float numbers[] = {0.0F,  -0.0F,  1.0F,    -1.0F,   0.99F,   1.124F,   1.125F,
                                    -3.7F, 1e-45F, -1e-45F, FLT_MIN, FLT_MAX, -FLT_MAX, 1e-20F};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint32_t b = 0;
        histogram = (struct histogram){0};
        histogram_add(&histogram, &numbers[i], 1);
        while (histogram.buckets[b] == 0) { b++; }
        assert_true((double)numbers[i] <= histogram_limit(b));
        assert_true(b == 0 || (double)numbers[i] >= histogram_limit(b - 1));
    }
}

/* Sums, extremes and counts are those of the finite numbers. */
static void numbers_are_summed(void **state)
{
    const float numbers[] = {1, -2, 3, NAN, INFINITY, -INFINITY, 0.5F};
    (void)state;
    histogram = (struct histogram){0};
    histogram_add(&histogram, numbers, 4);
    histogram_add(&histogram, numbers + 4, 3);
    assert_int_equal(histogram.count, 4);
    assert_int_equal(histogram.not_finite, 3);
    assert_int_equal(sum_of_buckets(), 4);
    assert_true(histogram.least == -2 && histogram.most == 3);
    assert_true(histogram.sum == 2.5 && histogram.squares == 14.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_ascend),
        cmocka_unit_test(numbers_are_between_limits),
        cmocka_unit_test(numbers_are_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
