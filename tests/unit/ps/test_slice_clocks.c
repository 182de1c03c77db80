/* Encoding and decoding of slice clocks. */
#include "ps/slice_clocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Decoding returns the encoded clocks. */
static void test_clocks_round_trip(void **state)
{
    (void)state;
    uint64_t clocks[3] = {1, UINT64_MAX, 0x0102030405060708}, back[3];
    uint8_t bytes[SLICE_CLOCKS_BYTES_MAX];
    size_t size = slice_clocks_encode(clocks, 3, bytes);
    assert_int_equal(size, 32);
    assert_true(slice_clocks_decode(bytes, size, 3, back));
    assert_memory_equal(clocks, back, sizeof clocks);
}

/* Bytes of another size, number of slices or version are refused. */
static void test_other_formats_are_refused(void **state)
{
    (void)state;
    uint64_t clocks[SLICES_MAX] = {0};
    uint8_t bytes[SLICE_CLOCKS_BYTES_MAX];
    size_t size = slice_clocks_encode(clocks, 4, bytes);
    assert_false(slice_clocks_decode(bytes, size, 3, clocks));
    assert_false(slice_clocks_decode(bytes, size - 1, 4, clocks));
    assert_false(slice_clocks_decode(bytes, 0, 4, clocks));
    bytes[0]++;
    assert_false(slice_clocks_decode(bytes, size, 4, clocks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clocks_round_trip),
        cmocka_unit_test(test_other_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
