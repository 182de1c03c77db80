/* common/base/json_reals.h: numbers with fewer digits, and everything else as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json_reals.h"

static void check(const char *given, const char *expected)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s", given);
    json_reals_shorten(text);
    assert_string_equal(text, expected);
}

/* Digits that only repeat the same value disappear; a real number remains one. */
static void digits_without_need_disappear(void **state)
{
    (void)state;
    check("{\"a\": 0.0050000000000000001}", "{\"a\": 0.005}");
    check("[0.10000000000000001,-2.5,1.0,3e-300]", "[0.1,-2.5,1.0,3e-300]");
    check("1.0000000000000001e-05", "1e-05");
    check("0.30000000000000004", "0.30000000000000004");
    check("100000000.0", "100000000.0");
}

/* Texts, whole numbers and names are not changed. */
static void all_else_stays(void **state)
{
    (void)state;
    const char *const text = "{\"0.10000000000000001\": \"a\\\"0.10000000000000001\", \"n\": "
                             "12345678901234567890, \"t\": [true, false, null], \"\\\\\": -7}";
    check(text, text);
}

/* Each value is the same when it is read back, and no text becomes longer. */
static void values_read_back(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252;
    for (int i = 0; i < 20000; i++) {
        double value, back;
        char text[64];
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        const uint64_t finite = bits & ~(UINT64_C(1) << 62);
        memcpy(&value, &finite, sizeof value);
        const int length = snprintf(text, sizeof text, "%.17g", value);
        json_reals_shorten(text);
        back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof back);
        assert_true((int)strlen(text) <= length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_without_need_disappear),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(values_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
