/* Clocks as bytes. */
#include "ps/ps_notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* They come back as they were. */
static void test_round_trip(void **state)
{
    (void)state;
    uint64_t clocks[3] = {1, UINT64_MAX, 0x0102030405060708}, back[3];
    uint8_t bytes[PS_NOTES_MAX];
    size_t size = ps_notes_encode(clocks, 3, bytes);
    assert_int_equal(size, 32);
    assert_true(ps_notes_decode(bytes, size, 3, back));
    assert_memory_equal(clocks, back, sizeof clocks);
}

/* Notes of another size, number of slices or version are none. */
static void test_what_does_not_fit(void **state)
{
    (void)state;
    uint64_t clocks[SLICES_MAX] = {0};
    uint8_t bytes[PS_NOTES_MAX];
    size_t size = ps_notes_encode(clocks, 4, bytes);
    assert_false(ps_notes_decode(bytes, size, 3, clocks));
    assert_false(ps_notes_decode(bytes, size - 1, 4, clocks));
    assert_false(ps_notes_decode(bytes, 0, 4, clocks));
    bytes[0]++;
    assert_false(ps_notes_decode(bytes, size, 4, clocks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
