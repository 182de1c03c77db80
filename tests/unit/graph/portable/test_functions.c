/* graph/portable/functions.c: near to libm's functions, with fixed bits, for all arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tanist/operation.h"

static void values_are_near_to_those_of_libm(void **state)
{
    (void)state;
    for (double x = -650; x < 650; x += 0.37) {
        assert_true(fabs(tn_exact_exp(x) / exp(x) - 1) < 1e-15);
        assert_true(fabs(tn_exact_log(exp(x)) - x) <= 1e-15 * fabs(x) + 1e-16);
    }
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void bits_are_fixed(void **state)
{
    (void)state;
    assert_int_equal(bits_of(tn_exact_exp(1)), UINT64_C(0x4005bf0a8b14576a));
    assert_int_equal(bits_of(tn_exact_log(10)), UINT64_C(0x40026bb1bbb55516));
}

static void ends_of_the_domain(void **state)
{
    (void)state;
    assert_true(isnan(tn_exact_exp((double)NAN)) && isnan(tn_exact_log((double)NAN)));
    assert_true(isnan(tn_exact_log(-1)));
    assert_true(isinf(tn_exact_exp(701)) && isinf(tn_exact_exp((double)INFINITY)));
    assert_true(tn_exact_exp(-701) == 0 && tn_exact_exp(-(double)INFINITY) == 0);
    assert_true(tn_exact_log(0) == -(double)INFINITY && isinf(tn_exact_log((double)INFINITY)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_near_to_those_of_libm),
        cmocka_unit_test(bits_are_fixed),
        cmocka_unit_test(ends_of_the_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
