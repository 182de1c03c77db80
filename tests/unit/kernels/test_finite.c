/* kernels/finite.h: any value at any place is found. */
#include "kernels/finite.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { COUNT = 700 }; /* More than two blocks. */

static void finite_values_pass(void **state)
{
    (void)state;
    const float extremes[] = {0, -0.0F, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45F, -1};
    float values[COUNT];
    for (size_t i = 0; i < COUNT; i++) { values[i] = extremes[i % 7]; }
    for (size_t count = 0; count <= COUNT; count++) { assert_true(all_finite(values, count)); }
}

static void other_values_are_found_anywhere(void **state)
{
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float values[COUNT] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = bad[i % 4];
        assert_false(all_finite(values, COUNT));
        assert_false(all_finite(values, i + 1));
        assert_true(all_finite(values, i));
        values[i] = 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_values_pass),
        cmocka_unit_test(other_values_are_found_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
