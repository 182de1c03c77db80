/* IDX arrays from bytes: valid ones, and every kind of damage. */
#include "data/idx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* Two images of 2 x 3 pixels. */
static const uint8_t plain[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2,  0,  0,
                                0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};

/* Compress `bytes` into a gzip file. Returns its size. */
static size_t compress_gzip(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity)
{
    z_stream stream = {0};
    enum { GZIP = 16 };
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return stream.total_out;
}

static void expect_good(const uint8_t *bytes, size_t size)
{
    struct idx idx;
    struct error error;
    assert_int_equal(idx_parse(bytes, size, &idx, &error), TN_OK);
    assert_int_equal(idx.rank, 3);
    assert_int_equal(idx.dimensions[0], 2);
    assert_int_equal(idx.dimensions[2], 3);
    assert_int_equal(idx.size, 12);
    assert_memory_equal(idx.data, plain + 16, 12);
    idx_free(&idx);
    assert_null(idx.data);
}

static void expect_damage(const uint8_t *bytes, size_t size, const char *text)
{
    struct idx idx;
    struct error error = {0};
    assert_int_equal(idx_parse(bytes, size, &idx, &error), TN_ECORRUPT);
    if (strstr(error.text, text) == NULL) { fail_msg("'%s' is not in '%s'", text, error.text); }
    assert_null(idx.data);
}

/* The same array is read from a plain and from a compressed file. */
static void test_plain_and_compressed_files_are_read(void **state)
{
    (void)state;
    uint8_t compressed[200];
    expect_good(plain, sizeof plain);
    expect_good(compressed, compress_gzip(plain, sizeof plain, compressed, sizeof compressed));
}

/* A file truncated anywhere is refused, plain or compressed. */
static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    uint8_t compressed[200];
    size_t size = compress_gzip(plain, sizeof plain, compressed, sizeof compressed);
    for (size_t cut = 0; cut < sizeof plain; cut++) { expect_damage(plain, cut, "too short"); }
    for (size_t cut = 0; cut < size; cut++) { expect_damage(compressed, cut, ""); }
}

/* Any damaged byte of the contents or the checksum of a compressed file is detected. */
static void test_checksum_is_checked(void **state)
{
    (void)state;
    uint8_t compressed[200];
    size_t size = compress_gzip(plain, sizeof plain, compressed, sizeof compressed);
    for (size_t i = 10; i < size; i++) {
        compressed[i] ^= 0x10;
        expect_damage(compressed, size, "");
        compressed[i] ^= 0x10;
    }
    expect_good(compressed, size);
}

/* Bytes after the last element are refused, within and after the compressed data. */
static void test_extra_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t longer[sizeof plain + 1] = {0}, compressed[200] = {0};
    memcpy(longer, plain, sizeof plain);
    expect_damage(longer, sizeof longer, "too long");
    expect_damage(compressed, compress_gzip(longer, sizeof longer, compressed, sizeof compressed),
                  "too long");
    expect_damage(compressed, compress_gzip(plain, sizeof plain, compressed, sizeof compressed) + 1,
                  "too long");
}

/* The error names the field of the header that is wrong. */
static void test_header_fields_are_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        const char *text;
    } damages[] = {
        {0, 'P', "not an IDX file: it begins with 50 00, not 00 00"},
        {2, 0x0d, "element type is 0x0d: only 0x08"},
        {3, 0, "rank is 0: only 1 to 4"},
        {3, 5, "rank is 5"},
        {11, 0, "dimension 1 is 0"},
        {7, 3, "too short: 12 of 18 bytes of the elements"},
        {4, 0x80, "the dimensions up to number 0 (2147483650) need over 28 bytes"},
        {7, 1, "too long"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        uint8_t bytes[sizeof plain];
        memcpy(bytes, plain, sizeof plain);
        bytes[damages[i].at] = damages[i].value;
        expect_damage(bytes, sizeof bytes, damages[i].text);
    }
}

/* Files too small for their number of elements are refused before memory is allocated. */
static void test_memory_is_bounded(void **state)
{
    (void)state;
    uint8_t header[20], compressed[200];
    memset(header, 0xff, sizeof header);
    memcpy(header, (uint8_t[]){0, 0, 8, 4}, 4);
    expect_damage(header, sizeof header, "cannot hold");
    memcpy(header + 4, (uint8_t[]){0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0x10, 0, 0}, 16);
    expect_damage(compressed, compress_gzip(header, sizeof header, compressed, sizeof compressed),
                  "cannot hold");
}

/* The error for a missing file names its path. */
static void test_missing_file_is_named(void **state)
{
    (void)state;
    struct idx idx;
    struct error error;
    assert_int_equal(idx_read("/nonexistent/images", &idx, &error), TN_ENOENT);
    assert_string_equal(error.text, "/nonexistent/images: No such file or directory");
    assert_int_equal(idx_read("/", &idx, &error), TN_EINVAL);
    assert_int_equal(idx_read("/nonexistent/images", &idx, NULL), TN_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_and_compressed_files_are_read),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_checksum_is_checked),
        cmocka_unit_test(test_extra_bytes_are_refused),
        cmocka_unit_test(test_header_fields_are_checked),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
