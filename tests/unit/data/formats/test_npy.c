/* Arrays of numpy from bytes: each type, and every kind of damage. */
#include "data/formats/npy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static uint8_t file[4096];

/* Write a file of version 1 with this header. Returns its size. */
static size_t build(const char *header, const void *items, size_t size)
{
    const size_t length = strlen(header);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (uint8_t)length;
    file[9] = (uint8_t)(length >> 8);
    memcpy(file + 10, header, length);
    if (size > 0) { memcpy(file + 10 + length, items, size); }
    return 10 + length + size;
}

static size_t build_typed(const char *type, const char *shape, const void *items, size_t size)
{
    char header[200];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }   \n",
             type, shape);
    return build(header, items, size);
}

static void expect_error(size_t size, enum tn_status status, const char *text)
{
    struct npy npy;
    struct error error = {0};
    assert_int_equal(npy_parse(file, size, &npy, &error), status);
    if (strstr(error.text, text) == NULL) { fail_msg("'%s' is not in '%s'", text, error.text); }
}

/* The rows of a matrix are its rows in memory, and each version of the format is read. */
static void test_rows_of_a_matrix_are_read(void **state)
{
    (void)state;
    static const float items[6] = {1, 2.5F, -3, 4, 5, 6e-40F};
    size_t size = build_typed("<f4", "(3, 2)", items, sizeof items);
    struct npy npy;
    assert_int_equal(npy_parse(file, size, &npy, NULL), TN_OK);
    assert_int_equal(npy.rank, 2);
    assert_int_equal(npy.rows, 3);
    assert_int_equal(npy.columns, 2);
    for (uint64_t row = 0; row < 3; row++) {
        float read[2];
        npy_row(&npy, row, read);
        assert_memory_equal(read, items + 2 * row, sizeof read);
    }
    assert_true(npy_number(&npy, 1, 0) == -3.0);

    memmove(file + 12, file + 10, size - 10); /* Versions 2 and 3 have a longer length. */
    file[6] = 3;
    file[10] = file[11] = 0;
    assert_int_equal(npy_parse(file, size + 2, &npy, NULL), TN_OK);
    assert_true(npy_number(&npy, 0, 1) == 2.5);
}

/* Each type of elements gives the same numbers, in either byte order. */
static void test_types_give_their_values(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        uint8_t bytes[8];
        size_t size;
        double value;
    } cases[] = {
        {"|b1", {1}, 1, 1},
        {"|u1", {255}, 1, 255},
        {"|i1", {0xff}, 1, -1},
        {"<u2", {1, 2}, 2, 513},
        {">u2", {1, 2}, 2, 258},
        {"<i2", {0xfe, 0xff}, 2, -2},
        {">i4", {0xff, 0xff, 0xff, 0xfd}, 4, -3},
        {"<u4", {0, 0, 0, 0x80}, 4, 2147483648.0},
        {"<i8", {0, 0, 0, 0, 0, 0, 0, 0x80}, 8, -9223372036854775808.0},
        {"<u8", {0, 0, 0, 0, 0, 0, 0, 0x80}, 8, 9223372036854775808.0},
        {"<f2", {0, 0x3c}, 2, 1},
        {"<f2", {1, 0}, 2, 0x1p-24},
        {"<f2", {0xff, 0xfb}, 2, -65504},
        {">f4", {0x3f, 0x80, 0, 0}, 4, 1},
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, 8, -1.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct npy npy;
        float value;
        size_t size = build_typed(cases[i].type, "(1,)", cases[i].bytes, cases[i].size);
        assert_int_equal(npy_parse(file, size, &npy, NULL), TN_OK);
        npy_row(&npy, 0, &value);
        assert_true(npy_number(&npy, 0, 0) == cases[i].value);
        assert_true(value == (float)cases[i].value);
    }
}

/* 2^62 + 2^38 + 1 is just above the middle of two floats; by way of a double it would be exactly in
 * the middle and go to the even one below. */
static void test_integers_are_rounded_once(void **state)
{
    (void)state;
    static const uint8_t bytes[8] = {1, 0, 0, 0, 0x40, 0, 0, 0x40};
    struct npy npy;
    float value;
    assert_int_equal(npy_parse(file, build_typed("<i8", "(1,)", bytes, 8), &npy, NULL), TN_OK);
    npy_row(&npy, 0, &value);
    assert_true(value == 0x1p62F + 0x1p39F);
}

/* A file truncated anywhere, or one byte longer, is refused. */
static void test_other_sizes_are_refused(void **state)
{
    (void)state;
    static const uint8_t items[7] = {1, 2, 3, 4, 5, 6, 7};
    size_t size = build_typed("|u1", "(3, 2)", items, 6);
    struct npy npy;
    for (size_t cut = 0; cut < size; cut++) { expect_error(cut, TN_ECORRUPT, ""); }
    assert_int_equal(npy_parse(file, size, &npy, NULL), TN_OK);
    expect_error(size + 1, TN_ECORRUPT,
                 "too long: 7 bytes follow the header, but the shape needs 6");
}

/* Arrays that numpy can write but Tanist does not read have errors with a remedy. */
static void test_other_arrays_have_a_remedy(void **state)
{
    (void)state;
    expect_error(build_typed("|O", "(1,)", "", 0), TN_EINVAL, "type '|O' are not read: convert");
    expect_error(build_typed("<U4", "(1,)", "", 0), TN_EINVAL, "type '<U4'");
    expect_error(build_typed("<c8", "(1,)", "", 0), TN_EINVAL, "'<c8'");
    expect_error(build_typed("<f4", "(0, 2)", "", 0), TN_EINVAL, "dimension 0 is 0: the array is");
    expect_error(build_typed("<f4", "(1, 1, 1, 1, 1, 1)", "", 0), TN_EINVAL, "over 5 dimensions");
    expect_error(build("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "", 0),
                 TN_EINVAL, "structured array");
    expect_error(build("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}", "abcd", 4),
                 TN_EINVAL, "numpy.ascontiguousarray");
    struct npy npy; /* The order does not matter for one dimension. */
    size_t size = build("{'descr': '|u1', 'fortran_order': True, 'shape': (4, 1)}", "abcd", 4);
    assert_int_equal(npy_parse(file, size, &npy, NULL), TN_OK);
}

/* A damaged header is refused, and so is one whose product of dimensions overflows. */
static void test_damaged_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *header, *text;
    } cases[] = {
        {"", "does not begin with '{'"},
        {"{}", "a key is missing"},
        {"{'descr': '<f4'}", "a key is missing"},
        {"{'descr': '<f4', 'descr': '<f4'}", "a key is repeated"},
        {"{'descr' '<f4'}", "a colon"},
        {"{'descr': 4}", "'descr' is not a text"},
        {"{'descr': '<f4}", "'descr' is not a text"},
        {"{'other': 4}", "the keys are"},
        {"{'fortran_order': 0}", "neither True nor False"},
        {"{'shape': 4}", "not a tuple"},
        {"{'shape': (4 4)}", "'shape' does not end"},
        {"{'shape': (-4,)}", "not a number"},
        {"{'shape': (99999999999999999999,)}", "not a number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "text follows"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (288230376151711744, 64)}",
         "too short"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
         "too short"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_error(build(cases[i].header, "", 0), TN_ECORRUPT, cases[i].text);
    }
    file[6] = 9;
    expect_error(100, TN_ECORRUPT, "version 9 of the format: 1 to 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_matrix_are_read),
        cmocka_unit_test(test_types_give_their_values),
        cmocka_unit_test(test_integers_are_rounded_once),
        cmocka_unit_test(test_other_sizes_are_refused),
        cmocka_unit_test(test_other_arrays_have_a_remedy),
        cmocka_unit_test(test_damaged_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
