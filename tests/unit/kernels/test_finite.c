/* kernels/finite.h: any value at any place is found, by all loops that this machine can run. */
#include "kernels/finite.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/cpu.h"

enum { COUNT = 700 }; /* More than two blocks. */

static bool all_say(bool finite, const float *values, size_t count)
{
    const struct kernels *others[] = {kernels_reference(), cpu_loops_baseline(), NULL};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) { others[2] = cpu_loops_avx2(); }
#endif
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i] != NULL && others[i]->all_finite(count, values) != finite) { return false; }
    }
    return all_finite(values, count) == finite;
}

static void finite_values_pass(void **state)
{
    (void)state;
    const float extremes[] = {0, -0.0F, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45F, -1};
    float values[COUNT];
    for (size_t i = 0; i < COUNT; i++) { values[i] = extremes[i % 7]; }
    for (size_t count = 0; count <= COUNT; count++) { assert_true(all_say(true, values, count)); }
}

static void other_values_are_found_anywhere(void **state)
{
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    float values[COUNT] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = bad[i % 4];
        assert_true(all_say(false, values, COUNT));
        assert_true(all_say(false, values, i + 1));
        assert_true(all_say(true, values, i));
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
