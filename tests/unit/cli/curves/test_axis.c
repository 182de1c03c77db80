/* Axes: round ticks within the range, also of empty ranges and logarithmic ones. */
#include "cli/curves/axis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

/* Ticks are multiples of 1, 2 or 5 times a power of ten. */
static void ticks_are_round(void **state)
{
    (void)state;
    struct axis axis = axis_make(0.013, 0.98, false, 6);
    assert_int_equal(axis.tick_count, 4);
    for (size_t i = 0; i < axis.tick_count; i++) {
        assert_true(fabs(axis.ticks[i] - 0.2 * (double)(i + 1)) < 1e-12);
    }
    assert_true(axis_place(&axis, 0.013) == 0 && axis_place(&axis, 0.98) == 1);
    assert_true(axis_place(&axis, -5) == 0 && axis_place(&axis, 5) == 1);
}

/* One value, or zero alone, has an axis, too. */
static void empty_range_is_widened(void **state)
{
    (void)state;
    struct axis axis = axis_make(3, 3, false, 4);
    assert_true(axis.low < 3 && axis.high > 3 && axis.tick_count >= 2);
    axis = axis_make(0, 0, false, 4);
    assert_true(axis.low < 0 && axis.high > 0);
    axis = axis_make(3, 3, true, 4);
    assert_true(axis.log && axis.low < 3 && axis.high > 3);
}

/* Decades are equally far apart; a value that is not positive is at the low end. */
static void decades_are_equal(void **state)
{
    (void)state;
    struct axis axis = axis_make(0.001, 10, true, 5);
    assert_true(axis.log);
    assert_true(fabs(axis_place(&axis, 0.1) - 0.5) < 1e-12);
    assert_true(axis_place(&axis, -1) == 0);
    assert_int_equal(axis.tick_count, 5);
    assert_false(axis_make(-2, -1, true, 5).log);
}

static void labels_are_short(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *label;
    } cases[] = {{0, "0"}, {0.05, "0.05"}, {12000, "12000"}, {1e-7, "1e-07"}, {-2.5, "-2.5"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[AXIS_LABEL_MAX];
        axis_label(cases[i].value, label);
        assert_string_equal(label, cases[i].label);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(empty_range_is_widened),
        cmocka_unit_test(decades_are_equal),
        cmocka_unit_test(labels_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
