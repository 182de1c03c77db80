/* The encoding of frame headers: exactly one form, and any damage is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <xxhash.h>

#include "common/net/wire.h"

enum { BODY_MAX = 1000 };

static struct frame_header sample(void)
{
    return (struct frame_header){
        .type = FRAME_PUSH,
        .slot = 0x5a,
        .cluster = 0x0102030405060708,
        .sender = 0x1112131415161718,
        .epoch = 0x2122232425262728,
        .generation = 0x3132333435363738,
        .step = STEP_LATEST,
        .sequence = 0x4142434445464748,
        .first = 0x51525354,
        .count = 0x61626364,
        .body_bytes = 999,
        .loss = 0.15625,
        .offset = UINT64_C(0x0102030405060708),
    };
}

/* Correct the checksum of bytes that the test has changed. */
static void seal(uint8_t *bytes)
{
    uint32_t sum = XXH32(bytes, 84, 0);
    for (int i = 0; i < 4; i++) { bytes[84 + i] = (uint8_t)(sum >> (8 * i)); }
}

static void assert_refused(const uint8_t *bytes, const char *word)
{
    struct frame_header out;
    struct error error;
    assert_int_equal(wire_decode_header(bytes, BODY_MAX, &out, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, word));
    assert_int_equal(wire_decode_header(bytes, BODY_MAX, &out, NULL), TN_EPROTO);
}

/* Every field is the same after a round trip. */
static void header_comes_back(void **state)
{
    (void)state;
    struct frame_header in = sample(), out;
    uint8_t bytes[WIRE_HEADER_BYTES], again[WIRE_HEADER_BYTES];
    wire_encode_header(&in, bytes);
    assert_int_equal(wire_decode_header(bytes, BODY_MAX, &out, NULL), TN_OK);
    assert_int_equal(out.type, in.type);
    assert_int_equal(out.slot, in.slot);
    assert_true(out.cluster == in.cluster && out.sender == in.sender && out.epoch == in.epoch);
    assert_true(out.generation == in.generation && out.step == in.step);
    assert_true(out.sequence == in.sequence && out.first == in.first && out.count == in.count);
    assert_int_equal(out.body_bytes, in.body_bytes);
    assert_true(out.loss == in.loss);
    assert_int_equal(out.offset, in.offset);
    wire_encode_header(&out, again);
    assert_memory_equal(bytes, again, sizeof bytes);
}

/* The layout is fixed, as other releases and machines read these bytes. */
static void layout_is_fixed(void **state)
{
    (void)state;
    static const uint8_t expected[84] = {
        'T',  'N',  'S',  'T',  3,    4,    0x5a, 0,    8,    7,    6,    5,    4,    3,
        2,    1,    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
        0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
        0x54, 0x53, 0x52, 0x51, 0x64, 0x63, 0x62, 0x61, 0xe7, 3,    0,    0,    0,    0,
        0,    0,    0,    0,    0xc4, 0x3f, 8,    7,    6,    5,    4,    3,    2,    1};
    struct frame_header in = sample();
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_encode_header(&in, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    seal(bytes);
    struct frame_header out;
    assert_int_equal(wire_decode_header(bytes, BODY_MAX, &out, NULL), TN_OK);
}

/* A flip of any single bit is refused. */
static void any_flipped_bit_is_refused(void **state)
{
    (void)state;
    struct frame_header in = sample(), out;
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_encode_header(&in, bytes);
    for (unsigned bit = 0; bit < 8 * WIRE_HEADER_BYTES; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(wire_decode_header(bytes, BODY_MAX, &out, NULL), TN_EPROTO);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* The error names the field, in the order in which the fields are checked. */
static void errors_name_the_field(void **state)
{
    (void)state;
    struct frame_header in = sample();
    static const struct {
        unsigned offset;
        uint8_t value;
        const char *word;
    } cases[] = {{0, 'X', "magic"},
                 {4, 1, "version"},
                 {5, 0, "type"},
                 {5, 200, "type"},
                 {7, WIRE_PAGE_LINES, "line"},
                 {67, 1, "body_bytes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[WIRE_HEADER_BYTES];
        wire_encode_header(&in, bytes);
        bytes[cases[i].offset] = cases[i].value;
        seal(bytes);
        assert_refused(bytes, cases[i].word);
    }
    uint8_t bytes[WIRE_HEADER_BYTES];
    wire_encode_header(&in, bytes);
    bytes[20] ^= 1;
    assert_refused(bytes, "checksum");
}

/* A body of exactly the limit is accepted, one byte more is refused. */
static void body_limit_is_exact(void **state)
{
    (void)state;
    struct frame_header in = sample(), out;
    uint8_t bytes[WIRE_HEADER_BYTES];
    in.body_bytes = BODY_MAX;
    wire_encode_header(&in, bytes);
    assert_int_equal(wire_decode_header(bytes, BODY_MAX, &out, NULL), TN_OK);
    in.body_bytes = BODY_MAX + 1;
    wire_encode_header(&in, bytes);
    assert_refused(bytes, "1001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_comes_back),          cmocka_unit_test(layout_is_fixed),
        cmocka_unit_test(any_flipped_bit_is_refused), cmocka_unit_test(errors_name_the_field),
        cmocka_unit_test(body_limit_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
