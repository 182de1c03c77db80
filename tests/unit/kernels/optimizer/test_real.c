/* Reproducible functions: compared with libm, and at the points where they must be exact. */
#include "kernels/optimizer/real.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not near %.17g", value, expected);
    }
}

/* The cosine is within 4e-16 of libm's, and exact at the ends and in the middle of the wave. */
static void cosine_agrees(void **state)
{
    (void)state;
    assert_true(real_cos_pi(0) == 1 && real_cos_pi(0.5) == 0 && real_cos_pi(1) == -1);
    for (int i = 0; i <= 20000; i++) {
        double x = i / 20000.0;
        assert_near(real_cos_pi(x),
                    (double)cosl(3.14159265358979323846264338327950288L * (long double)x), 4e-16);
    }
}

/* The exponential function is within 4e-16 of libm's, relatively. */
static void exponential_agrees(void **state)
{
    (void)state;
    assert_true(real_exp(0) == 1);
    for (int i = -70000; i <= 70000; i++) {
        double expected = exp(i / 100.0);
        assert_near(real_exp(i / 100.0) / expected, 1, 4.5e-16);
    }
}

/* The logarithm is within 4e-16 of libm's, relatively, also near 1. */
static void logarithm_agrees(void **state)
{
    (void)state;
    assert_true(real_log(1) == 0);
    for (int i = 1; i <= 100000; i++) {
        const double values[] = {i * 1e-5, 1 + i * 1e-7, i * 0.01, i * 1e100, i * 1e-200};
        for (int k = 0; k < 5; k++) {
            double expected = log(values[k]);
            if (expected != 0) { assert_near(real_log(values[k]) / expected, 1, 4.5e-16); }
        }
    }
}

/* Powers of two are exact, and others are near libm's. */
static void powers_agree(void **state)
{
    (void)state;
    assert_true(real_power(0.5, 0) == 1 && real_power(0.5, 100) == 0x1p-100);
    assert_true(real_power(2, 1000) == 0x1p1000 && real_power(0, 3) == 0);
    for (unsigned n = 1; n < 2000; n++) {
        assert_near(real_power(0.999, n) / pow(0.999, n), 1, 1e-15 * n);
    }
}

/* The bits that a run depends on do not change from one version to the next. */
static void bits_are_fixed(void **state)
{
    (void)state;
    assert_true(real_cos_pi(0.1) == 0x1.e6f0e134454ffp-1);
    assert_true(real_cos_pi(0.4) == 0x1.3c6ef372fe94ep-2);
    assert_true(real_exp(-1.5) == 0x1.c8f87724b5c1dp-3);
    assert_true(real_log(0.96) == -0x1.4e69ed6d80eb3p-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cosine_agrees),    cmocka_unit_test(exponential_agrees),
        cmocka_unit_test(logarithm_agrees), cmocka_unit_test(powers_agree),
        cmocka_unit_test(bits_are_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
