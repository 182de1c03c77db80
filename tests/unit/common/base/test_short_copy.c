/* common/base/short_copy.h: copies of all small sizes. */
#include "common/base/short_copy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SIZES = 70, ROOM = SIZES + 16 };

/* As memcpy(): all bytes, and none behind them. */
static void all_sizes_are_copied(void **state)
{
    uint8_t from[ROOM];
    (void)state;
    for (uint8_t i = 0; i < ROOM; i++) { from[i] = i + 1; }
    for (size_t size = 0; size <= SIZES; size++) {
        uint8_t to[ROOM] = {0}, wanted[ROOM] = {0};
        memcpy(wanted + 3, from + 1, size);
        short_copy(to + 3, from + 1, size);
        assert_memory_equal(to, wanted, sizeof to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_sizes_are_copied)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
