/* graph/portable/power.h: powers near those of the C library, with its special values. */
#include "graph/portable/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_near(float x, float c, double tolerance)
{
    double expected = (double)(float)pow((double)x, (double)c), found = (double)power_of(x, c);
    bool same = isnan(expected) ? isnan(found) : expected == found;
    if (!same && !(fabs(found - expected) <= tolerance * fabs(expected) + 0x1p-149)) {
        fail_msg("%a to the power %a is %a, not %a", (double)x, (double)c, expected, found);
    }
}

/* At most one unit in the last place from the correctly rounded result. */
static void powers_are_near_those_of_the_library(void **state)
{
    (void)state;
    static const float powers[] = {2,    -1,    0.5F, -0.5F, 3,     1.3F,  -2.7F,
                                   0.1F, 1e-6F, 7,    -13,   63.5F, 33.3F, 1000};
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++) {
        for (uint32_t bits = 1; bits < 0x7f800000; bits += 0x3fff1) {
            float x;
            memcpy(&x, &bits, sizeof x);
            expect_near(x, powers[i], 0x1.1p-23);
            expect_near(-x, powers[i], 0x1.1p-23);
        }
    }
}

static void special_values_are_those_of_the_library(void **state)
{
    (void)state;
    static const float values[] = {0.0F, -0.0F,  1,        -1,        2,     -2,       0.5F, -0.5F,
                                   3,    -3,     0.25F,    -0.25F,    1e30F, -1e30F,   65,   -65,
                                   66,   1e-40F, INFINITY, -INFINITY, NAN,   16777215, 3e38F};
    enum { VALUES = sizeof values / sizeof values[0] };
    for (size_t i = 0; i < VALUES; i++) {
        for (size_t k = 0; k < VALUES; k++) { expect_near(values[i], values[k], 0x1.1p-23); }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_are_near_those_of_the_library),
        cmocka_unit_test(special_values_are_those_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
