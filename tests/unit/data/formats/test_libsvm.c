/* Files in libsvm's format: rows, options, and errors that name the line. */
#include "data/formats/libsvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "data/formats/formats.h"

static enum tn_status open_text(const char *text, const char *options, struct source *source,
                                struct error *error)
{
    const struct source_input input = {
        .path = "s.txt", .bytes = (const uint8_t *)text, .size = strlen(text), .options = options};
    *source = (struct source){.type = &libsvm_type};
    return libsvm_type.open(&input, source, error);
}

static void expect_row(const struct source *source, uint64_t i, double label, const float *features)
{
    struct source_row row;
    const size_t size = source->columns[1].shape[0];
    assert_int_equal(source_row_open(&row, 2, NULL), TN_OK);
    assert_int_equal(source_read(source, i, &row, NULL), TN_OK);
    assert_true(row.cells[0].number == label);
    assert_int_equal(row.cells[1].size, size);
    for (size_t f = 0; f < size; f++) { assert_true(row.cells[1].floats[f] == features[f]); }
    source_row_close(&row);
}

/* Absent features are 0; comments, empty lines and spaces do not matter. */
static void test_rows_are_dense(void **state)
{
    (void)state;
    struct source source;
    assert_int_equal(
        open_text("# a comment\n+1 1:0.5 3:-2e3 # more\r\n\n  -1\t2:7 \n3.5", NULL, &source, NULL),
        TN_OK);
    assert_int_equal(source.count, 3);
    assert_string_equal(source.columns[0].name, "label");
    assert_string_equal(source.columns[1].name, "features");
    assert_int_equal(source.columns[1].shape[0], 3);
    expect_row(&source, 0, 1, (const float[]){0.5F, 0, -2000});
    expect_row(&source, 1, -1, (const float[]){0, 7, 0});
    expect_row(&source, 2, 3.5, (const float[]){0, 0, 0});
    source_close(&source);
}

/* Options decide about the first index and the width. */
static void test_options_are_followed(void **state)
{
    (void)state;
    struct source source;
    assert_int_equal(
        open_text("1 0:4 1:5\n", "{\"zero_based\": true, \"features\": 3}", &source, NULL), TN_OK);
    expect_row(&source, 0, 1, (const float[]){4, 5, 0});
    source_close(&source);
}

/* The error names the line and what was expected. */
static void test_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *options, *expected;
    } cases[] = {
        {"1 1:2\nx 1:2\n", NULL, "s.txt:2: 'x' is not a label"},
        {"1,2 1:2\n", NULL, "s.txt:1: '1,2' is not a label"},
        {"1 1:2\n1 2\n", NULL, "s.txt:2: '2' is not INDEX:VALUE"},
        {"1 1:\n", NULL, "s.txt:1: '1:' is not INDEX:VALUE"},
        {"1 1:nan\n", NULL, "'1:nan' is not INDEX:VALUE"},
        {"1 1:1e39\n", NULL, "s.txt:1: '1:1e39' is out of range: numbers are 32-bit floats"},
        {"1 1:1e400\n", NULL, "s.txt:1: '1:1e400' is out of range"},
        {"1e400 1:1\n", NULL, "s.txt:1: '1e400' is out of range"},
        {"1 -1:1\n", NULL, "'-1:1' is not INDEX:VALUE"},
        {"1 qid:3 1:1\n", NULL, "'qid:3' is not INDEX:VALUE"},
        {"1 2:1 2:1\n", NULL, "s.txt:1: index 2 follows 2: indices must ascend"},
        {"1 0:1\n", NULL, "s.txt:1: index 0: indices begin with 1, unless"},
        {"1 16777217:1\n", NULL, "index 16777217: at most 16777216"},
        {"1 4:1\n", "{\"features\": 3}", "index 4, but data.options has \"features\": 3"},
        {"1 1:1\n", "{\"feature\": 3}", "feature"},
        {"# nothing\n\n", NULL, "s.txt has no examples"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source source;
        struct error error = {.text = ""};
        assert_int_equal(open_text(cases[i].text, cases[i].options, &source, &error), TN_EINVAL);
        if (strstr(error.text, cases[i].expected) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].expected, error.text);
        }
        assert_null(source.state);
        assert_null(source.columns);
    }
}

/* A place names the line, also behind comments. */
static void test_places_are_lines(void **state)
{
    (void)state;
    struct source source;
    char place[SOURCE_PLACE_MAX];
    assert_int_equal(open_text("# c\n1 1:2\n\n1 1:3\n", NULL, &source, NULL), TN_OK);
    source_locate(&source, 1, 0, place);
    assert_string_equal(place, "s.txt:4: label");
    source_close(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_dense),
        cmocka_unit_test(test_options_are_followed),
        cmocka_unit_test(test_errors_name_the_line),
        cmocka_unit_test(test_places_are_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
