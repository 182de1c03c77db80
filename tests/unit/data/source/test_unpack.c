/* Compressed files: their contents, also of several parts, and every kind of damage. */
#include "data/source/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

enum { PLAIN_BYTES = 1000000, PACKED_MAX = 100000 };

static uint8_t plain[PLAIN_BYTES], packed[PACKED_MAX], collected[2 * PLAIN_BYTES];
static size_t collected_size;

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAIN_BYTES; i++) { plain[i] = (uint8_t)(i / 64 + i % 7); }
    return 0;
}

static size_t pack_gzip(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity)
{
    enum { GZIP = 16 };
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                       .avail_in = (uInt)size,
                       .next_out = out,
                       .avail_out = (uInt)capacity};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return stream.total_out;
}

static size_t pack_zstd(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity)
{
    const size_t used = ZSTD_compress(out, capacity, bytes, size, 3);
    assert_false(ZSTD_isError(used));
    return used;
}

static const struct {
    const char *name;
    size_t (*pack)(const uint8_t *bytes, size_t size, uint8_t *out, size_t capacity);
} kinds[] = {
    {"gzip", pack_gzip},
    {"zstd", pack_zstd},
};

static enum tn_status collect(void *ctx, const uint8_t *bytes, size_t size, struct error *error)
{
    (void)ctx;
    (void)error;
    assert_in_range(size, 1, sizeof collected - collected_size);
    memcpy(collected + collected_size, bytes, size);
    collected_size += size;
    return TN_OK;
}

static enum tn_status unpack(size_t size, struct error *error)
{
    const struct unpack_sink sink = {.put = collect};
    collected_size = 0;
    return unpack_bytes(packed, size, &sink, error);
}

/* Contents larger than a piece arrive whole, and so do those of two files in one. */
static void test_contents_are_unpacked(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        size_t size = kinds[k].pack(plain, PLAIN_BYTES, packed, PACKED_MAX);
        assert_true(unpack_is_packed(packed, size));
        assert_int_equal(unpack(size, NULL), TN_OK);
        assert_int_equal(collected_size, PLAIN_BYTES);
        assert_memory_equal(collected, plain, PLAIN_BYTES);
        size += kinds[k].pack(plain, 1000, packed + size, PACKED_MAX - size);
        assert_int_equal(unpack(size, NULL), TN_OK);
        assert_int_equal(collected_size, PLAIN_BYTES + 1000);
        assert_memory_equal(collected + PLAIN_BYTES, plain, 1000);
    }
    assert_false(unpack_is_packed((const uint8_t *)"a,b\n", 4));
    assert_false(unpack_is_packed(packed, 1));
}

/* A file cut off anywhere is refused. zstd cannot know the kind before its fourth byte. */
static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const size_t size = kinds[k].pack(plain, 5000, packed, PACKED_MAX);
        for (size_t cut = 4; cut < size; cut++) {
            struct error error = {.text = ""};
            assert_int_equal(unpack(cut, &error), TN_ECORRUPT);
            assert_non_null(strstr(error.text, kinds[k].name));
        }
    }
}

/* Damage and bytes that follow the contents are refused; the error names the byte. */
static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        struct error error = {.text = ""};
        const size_t size = kinds[k].pack(plain, 50000, packed, PACKED_MAX);
        memset(packed + size, 'x', 8);
        assert_int_equal(unpack(size + 8, &error), TN_ECORRUPT);
        packed[size / 2] ^= 0x55;
        packed[size / 2 + 1] ^= 0x55;
        const enum tn_status status = unpack(size, &error);
        if (k == 0) { assert_int_equal(status, TN_ECORRUPT); } /* zstd has no checksum here. */
        assert_non_null(strstr(error.text, "byte "));
    }
}

/* An open file is replaced by its contents, and errors name it. */
static void test_files_are_replaced(void **state)
{
    (void)state;
    char path[] = "/tmp/tanist-test-XXXXXX";
    const int file = mkstemp(path);
    const size_t size = pack_gzip(plain, PLAIN_BYTES, packed, PACKED_MAX);
    struct source_file open;
    struct error error = {.text = ""};
    assert_true(file >= 0);
    assert_int_equal(write(file, packed, size), size);
    assert_int_equal(source_file_open(path, &open, NULL), TN_OK);
    assert_int_equal(unpack_file(path, NULL, &open, NULL), TN_OK);
    assert_int_equal(open.size, PLAIN_BYTES);
    assert_memory_equal(open.bytes, plain, PLAIN_BYTES);
    source_file_close(&open);
    assert_int_equal(ftruncate(file, (off_t)size - 1), 0);
    assert_int_equal(source_file_open(path, &open, NULL), TN_OK);
    assert_int_equal(unpack_file(path, NULL, &open, &error), TN_EINVAL);
    assert_int_equal(strncmp(error.text, path, strlen(path)), 0);
    assert_null(open.bytes);
    assert_int_equal(close(file), 0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_contents_are_unpacked, fill),
        cmocka_unit_test_setup(test_truncated_files_are_refused, fill),
        cmocka_unit_test_setup(test_damaged_files_are_refused, fill),
        cmocka_unit_test_setup(test_files_are_replaced, fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
