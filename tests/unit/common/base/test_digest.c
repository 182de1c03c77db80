/* Digests: known values, pieces, text and bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/digest.h"
#include "common/base/digest_private.h"
#include "common/base/minmax.h"

/* The digest of no bytes is the published value of XXH3-128, so that other tools agree. */
static void digest_of_nothing_is_the_published_value(void **state)
{
    (void)state;
    char text[DIGEST_TEXT_BYTES];
    digest_format(digest_of("", 0), text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
}

/* The stream gives the same digest however the input is divided. */
static void pieces_give_the_digest_of_the_whole(void **state)
{
    (void)state;
    uint8_t data[3000];
    for (size_t i = 0; i < sizeof data; i++) { data[i] = (uint8_t)(i * 31 + i / 256); }
    for (size_t piece = 1; piece < sizeof data; piece = piece * 2 + 1) {
        struct digest_stream stream;
        digest_begin(&stream);
        for (size_t at = 0; at < sizeof data; at += piece) {
            size_t left = sizeof data - at;
            digest_add(&stream, data + at, size_min(left, piece));
        }
        assert_true(digest_equal(digest_end(&stream), digest_of(data, sizeof data)));
    }
}

enum { DATA_BYTES = 5000 };

static uint8_t data_of_codes[DATA_BYTES + 64];

/* The code for AVX2, or NULL where the test has nothing to compare. */
static const struct digest_code *avx2_code(void)
{
#if defined(__x86_64__)
    for (size_t i = 0; i < sizeof data_of_codes; i++) { data_of_codes[i] = (uint8_t)(i * i >> 3); }
    if (__builtin_cpu_supports("avx2")) { return digest_code_avx2(); }
#endif
    return NULL;
}

/* Both codes have the same digest of any length, wherever it begins: short inputs, one block of
 * 1,024 bytes and several have their own ways. */
static void codes_agree_on_all_lengths_and_offsets(void **state)
{
    (void)state;
    const struct digest_code *library = digest_code_library(), *avx2 = avx2_code();
    if (avx2 == NULL) { skip(); }
    for (size_t size = 0; size <= DATA_BYTES; size++) {
        const uint8_t *data = data_of_codes + size % 64;
        assert_true(digest_equal(library->of(data, size), avx2->of(data, size)));
    }
    for (size_t offset = 0; offset < 64; offset++) {
        const uint8_t *data = data_of_codes + offset;
        assert_true(digest_equal(library->of(data, DATA_BYTES), avx2->of(data, DATA_BYTES)));
    }
}

static struct digest streamed(const struct digest_code *code, size_t size, size_t piece)
{
    struct digest_stream stream;
    code->begin(&stream);
    for (size_t at = 0; at < size; at += piece) {
        code->add(&stream, data_of_codes + at, size_min(size - at, piece));
    }
    return code->end(&stream);
}

/* The streams of both codes have the same digest, for any length in pieces of any size. */
static void streams_of_codes_agree(void **state)
{
    (void)state;
    const struct digest_code *library = digest_code_library(), *avx2 = avx2_code();
    if (avx2 == NULL) { skip(); }
    for (size_t size = 0; size <= DATA_BYTES; size += 7) {
        for (size_t piece = 1; piece <= size; piece = piece * 3 + 1) {
            const struct digest expected = library->of(data_of_codes, size);
            assert_true(digest_equal(streamed(library, size, piece), expected));
            assert_true(digest_equal(streamed(avx2, size, piece), expected));
        }
    }
}

/* A digest is the same after a round trip through text and through bytes. */
static void text_and_bytes_round_trip(void **state)
{
    (void)state;
    struct digest digest = {.high = 0x0123456789abcdefULL, .low = 0xfedcba9876543210ULL};
    char text[DIGEST_TEXT_BYTES];
    uint8_t bytes[DIGEST_BYTES];
    struct digest parsed;
    digest_format(digest, text);
    assert_string_equal(text, "0123456789abcdeffedcba9876543210");
    assert_true(digest_parse(text, &parsed));
    assert_true(digest_equal(parsed, digest));
    digest_encode(digest, bytes);
    assert_int_equal(bytes[0], 0x01);
    assert_int_equal(bytes[15], 0x10);
    assert_true(digest_equal(digest_decode(bytes), digest));
}

/* A text other than 32 lower-case digits is refused. */
static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "0123456789abcdeffedcba987654321",
        "0123456789abcdeffedcba98765432100",
        "0123456789ABCDEFfedcba9876543210",
        "0123456789abcdeffedcba987654321 ",
    };
    struct digest parsed;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(digest_parse(texts[i], &parsed));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_of_nothing_is_the_published_value),
        cmocka_unit_test(pieces_give_the_digest_of_the_whole),
        cmocka_unit_test(codes_agree_on_all_lengths_and_offsets),
        cmocka_unit_test(streams_of_codes_agree),
        cmocka_unit_test(text_and_bytes_round_trip),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
