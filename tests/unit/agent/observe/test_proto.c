/* The encoding of protocol buffers: bytes that protoc's readers expect. */
#include "agent/observe/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_bytes(const struct proto *proto, const uint8_t *expected, size_t size)
{
    assert_false(proto->failed);
    assert_int_equal(proto->used, size);
    assert_memory_equal(proto->at, expected, size);
}

/* The examples of the format's description: 150 in field 1, "testing" in field 2, a message with
 * 150 in field 3. */
static void known_examples(void **state)
{
    (void)state;
    struct proto proto = {0}, inner = {0};
    proto_uint(&proto, 1, 150);
    assert_bytes(&proto, (const uint8_t[]){0x08, 0x96, 0x01}, 3);
    proto_free(&proto);
    proto_text(&proto, 2, "testing");
    assert_bytes(&proto, (const uint8_t[]){0x12, 7, 't', 'e', 's', 't', 'i', 'n', 'g'}, 9);
    proto_free(&proto);
    proto_uint(&inner, 1, 150);
    proto_message(&proto, 3, &inner);
    assert_bytes(&proto, (const uint8_t[]){0x1a, 3, 0x08, 0x96, 0x01}, 5);
    assert_null(inner.at);
    proto_free(&proto);
}

/* Numbers are little-endian; the largest varint has ten bytes; an empty message has a length. */
static void numbers_and_bounds(void **state)
{
    (void)state;
    struct proto proto = {0}, empty = {0};
    proto_double(&proto, 1, 1.0);
    proto_float(&proto, 2, -2.0f);
    assert_bytes(&proto, (const uint8_t[]){0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x15, 0, 0, 0, 0xc0},
                 14);
    proto_free(&proto);
    proto_uint(&proto, 16, UINT64_MAX);
    assert_bytes(
        &proto,
        (const uint8_t[]){0x80, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
        12);
    proto_free(&proto);
    proto_message(&proto, 4, &empty);
    assert_bytes(&proto, (const uint8_t[]){0x22, 0}, 2);
    proto_free(&proto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_examples),
        cmocka_unit_test(numbers_and_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
