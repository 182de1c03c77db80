/* common/base/bytes.c: a written record is read again, and nothing behind its end. */
#include "common/base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Numbers of all sizes, texts and data arrive. */
static void records_survive(void **state)
{
    (void)state;
    char text[8];
    struct byte_writer writer = {.bytes = NULL};
    bytes_put_number(&writer, 0xabcd, 1);
    bytes_put_number(&writer, UINT64_MAX - 1, 8);
    bytes_put_text(&writer, "a name");
    bytes_put_text(&writer, NULL);
    bytes_put(&writer, "xyz", 3);
    assert_false(writer.failed);
    struct byte_reader reader = {.bytes = writer.bytes, .size = writer.size};
    assert_int_equal(bytes_take_number(&reader, 1), 0xcd);
    assert_true(bytes_take_number(&reader, 8) == UINT64_MAX - 1);
    bytes_take_text(&reader, text, sizeof text);
    assert_string_equal(text, "a name");
    bytes_take_text(&reader, text, sizeof text);
    assert_string_equal(text, "");
    assert_memory_equal(bytes_take(&reader, 3), "xyz", 3);
    assert_null(reader.fault);
    assert_null(bytes_take(&reader, 1));
    assert_string_equal(reader.fault, "the bytes end too early");
    assert_int_equal(bytes_take_number(&reader, 1), 0);
    free(writer.bytes);
}

/* Counts beyond their limits, long texts, and control characters are faults. */
static void faults_are_named(void **state)
{
    (void)state;
    char text[4];
    static const uint8_t count[] = {5}, longer[] = {4, 'a', 'b', 'c', 'd'}, control[] = {1, '\n'};
    struct byte_reader reader = {.bytes = count, .size = sizeof count};
    assert_int_equal(bytes_take_count(&reader, 1, 4, "too many"), 0);
    assert_string_equal(reader.fault, "too many");
    reader = (struct byte_reader){.bytes = longer, .size = sizeof longer};
    bytes_take_text(&reader, text, sizeof text);
    assert_string_equal(reader.fault, "a text is too long");
    reader = (struct byte_reader){.bytes = control, .size = sizeof control};
    bytes_take_text(&reader, text, sizeof text);
    assert_string_equal(reader.fault, "a text has characters that are not printable");
    assert_string_equal(text, "");
    reader = (struct byte_reader){.bytes = count, .size = sizeof count};
    assert_null(bytes_take(&reader, UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_survive),
        cmocka_unit_test(faults_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
