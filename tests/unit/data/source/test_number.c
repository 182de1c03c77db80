/* Numbers in texts: the same bits as strtod(), and nothing else than numbers. */
#include "data/source/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

static void expect_same(const char *text)
{
    double number = 0, wanted = strtod(text, NULL);
    if (!number_parse((const uint8_t *)text, strlen(text), &number)) { fail_msg("'%s'", text); }
    if (memcmp(&number, &wanted, sizeof number) != 0) {
        fail_msg("'%s' is %a, not %a", text, number, wanted);
    }
}

static void test_numbers_are_those_of_strtod(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "+1.5",
        ".5",
        "5.",
        "-12.25e-3",
        "1E5",
        "0.1",
        "123456789012345",
        "1234567890123456",
        "0.000000000000000000001",
        "00012.500",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "4.9e-324",
        "1.7976931348623157e308",
        "9007199254740993",
        "0e99999999999999999999",
        "123456789012345e22",
        "999999999999999e-22",
        "0.00000000000000000000000012345678901234567",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) { expect_same(texts[i]); }
    for (uint64_t i = 0; i < 200000; i++) {
        char text[64];
        const uint64_t bits = random_at(1, 2, i), more = random_at(1, 3, i);
        const int digits = 1 + (int)(more % 18), power = (int)(more >> 8 & 63) - 32;
        snprintf(text, sizeof text, "%s%.*f", more >> 60 & 1 ? "-" : "", (int)(more >> 20 & 7),
                 (double)(bits >> (more >> 30 & 63)) / 1000.0);
        expect_same(text);
        snprintf(text, sizeof text, "%.*ge%d", digits, (double)bits, power);
        if (strchr(text, 'e') == strrchr(text, 'e')) { expect_same(text); }
    }
}

static void test_other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "",    " ",   "-",    "+",    ".",     "e5",  "1e",    "1e+", "1 2", "1,5",
        "nan", "inf", "-inf", "0x10", "1_000", "--1", "1.2.3", "1f",  "\t1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double number;
        if (number_parse((const uint8_t *)texts[i], strlen(texts[i]), &number)) {
            fail_msg("'%s' was read as %g", texts[i], number);
        }
    }
}

static void test_spaces_around_numbers_are_ignored(void **state)
{
    double number = 0;
    (void)state;
    assert_true(number_parse((const uint8_t *)"  2.5 ", 6, &number));
    assert_true(number == 2.5);
    assert_true(number_parse((const uint8_t *)"12345", 2, &number));
    assert_true(number == 12);
}

/* A number too large for a double is a number. */
static void test_large_numbers_are_infinite(void **state)
{
    double number = 0;
    (void)state;
    assert_true(number_parse((const uint8_t *)"1e400", 5, &number) && isinf(number));
    assert_true(number_parse((const uint8_t *)"-1e400", 6, &number) && isinf(number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_those_of_strtod),
        cmocka_unit_test(test_other_texts_are_refused),
        cmocka_unit_test(test_large_numbers_are_infinite),
        cmocka_unit_test(test_spaces_around_numbers_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
