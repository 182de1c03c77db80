/* CRC-32C: the values of RFC 3720 and of TensorFlow. */
#include "common/base/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The checksums of RFC 3720 B.4, and of a text that does not end at the end of a word. */
static void known_checksums_are_computed(void **state)
{
    (void)state;
    uint8_t bytes[32] = {0};
    assert_int_equal(crc32c_of(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c_of(bytes, 32), 0x62a8ab43);
    for (size_t i = 0; i < 32; i++) { bytes[i] = (uint8_t)i; }
    assert_int_equal(crc32c_of(bytes, 32), 0x46dd794e);
    assert_int_equal(crc32c_of("123456789", 9), 0xe3069283);
    assert_int_equal(crc32c_of(NULL, 0), 0);
}

/* The remainder of x^n by the polynomial, bit by bit. */
static uint32_t slow(const uint8_t *bytes, size_t size)
{
    uint32_t state = ~UINT32_C(0);
    for (size_t i = 0; i < size; i++) {
        state ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            state = state >> 1 ^ ((state & 1) != 0 ? UINT32_C(0x82f63b78) : 0);
        }
    }
    return ~state;
}

/* Any length and alignment gives the polynomial's remainder; lengths below a word use the table
 * alone, for each byte. */
static void lengths_and_alignments_agree(void **state)
{
    (void)state;
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) { bytes[i] = (uint8_t)(i * 7 + i / 256); }
    for (size_t at = 0; at < 260; at++) {
        for (size_t size = 0; size < 40; size++) {
            assert_int_equal(crc32c_of(bytes + at, size), slow(bytes + at, size));
        }
    }
}

/* Checksums are rotated by 15 bits to the right, and the constant is added. */
static void masked_checksums_are_rotated(void **state)
{
    (void)state;
    static const uint8_t length[8] = {3};
    assert_int_equal(crc32c_masked("", 0), 0xa282ead8);
    const uint32_t crc = slow(length, 8);
    assert_int_equal(crc32c_masked(length, 8), (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_checksums_are_computed),
        cmocka_unit_test(lengths_and_alignments_agree),
        cmocka_unit_test(masked_checksums_are_rotated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
