/* chaos/report/number.h: numbers for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chaos/report/number.h"

/* The unit follows the size, and there are about three digits. */
static void duration_has_a_unit_of_its_size(void **state)
{
    (void)state;
    static const struct {
        double ms;
        const char *text;
    } cases[] = {
        {-1, "–"},
        {0, "0 ms"},
        {7.4, "7 ms"},
        {999.4, "999 ms"},
        {999.5, "1.00 s"},
        {1234, "1.23 s"},
        {12345, "12.3 s"},
        {59949, "59.9 s"},
        {60000, "1 min 00 s"},
        {185000, "3 min 05 s"},
        {3600e3, "1 h 00 min"},
        {1e13, "∞"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(number_duration(cases[i].ms).at, cases[i].text);
    }
}

/* Thousands are separated, of negative counts too. */
static void count_separates_thousands(void **state)
{
    (void)state;
    assert_string_equal(number_count(0).at, "0");
    assert_string_equal(number_count(999).at, "999");
    assert_string_equal(number_count(1234567).at, "1,234,567");
    assert_string_equal(number_count(-999).at, "-999");
    assert_string_equal(number_count(INT64_MIN).at, "-9,223,372,036,854,775,808");
}

/* A ratio has two digits after the point, up to all of it; an absurd one does not overflow. */
static void percent_is_of_a_ratio(void **state)
{
    (void)state;
    assert_string_equal(number_percent(-1).at, "–");
    assert_string_equal(number_percent(0.98312).at, "98.31 %");
    assert_string_equal(number_percent(1).at, "100.0 %");
    assert_string_equal(number_percent(1e300).at, "∞");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duration_has_a_unit_of_its_size),
        cmocka_unit_test(count_separates_thousands),
        cmocka_unit_test(percent_is_of_a_ratio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
