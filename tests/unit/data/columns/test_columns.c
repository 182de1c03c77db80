/* Feature columns: each kind, statistics, stored columns, and errors that name the place. */
#include "data/columns/columns.h"
#include "data/columns/columns_private.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

/* A source in memory: texts, row by row. */
enum { COLUMNS = 3, ROWS = 4 };
static const char *const cells[ROWS][COLUMNS] = {
    {"1", "red", "a"},
    {"3", "blue", "b"},
    {NULL, "green", "a"},
    {"5",
     "r\xc3\xa9"
     "d",
     "b"},
};
static struct source_column names[COLUMNS] = {{.name = "n"}, {.name = "color"}, {.name = "y"}};
static struct error error;

static enum tn_status read_cells(const struct source *source, uint64_t i, struct source_row *row,
                                 struct error *ignored)
{
    (void)ignored;
    for (uint32_t c = 0; c < source->column_count; c++) {
        const char *text = cells[i][c];
        row->cells[c] = (struct source_cell){
            .missing = text == NULL,
            .bytes = (const uint8_t *)(text != NULL ? text : ""),
            .size = text != NULL ? strlen(text) : 0,
        };
    }
    return TN_OK;
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    snprintf(place, SOURCE_PLACE_MAX, "f:%d: '%s'", (int)i, source->columns[column].name);
}

static const struct source_type type = {.name = "cells", .read = read_cells, .locate = locate};
static const struct source source = {
    .type = &type, .count = ROWS, .column_count = COLUMNS, .columns = names};

static struct columns *fitted(const char *spec, const char *label, uint64_t rows)
{
    struct columns *columns;
    struct source_row row;
    error.text[0] = '\0';
    if (columns_open(spec, label, &columns, &error) != TN_OK) { fail_msg("%s", error.text); }
    if (columns_bind(columns, &source, true, &error) != TN_OK) { fail_msg("%s", error.text); }
    assert_int_equal(source_row_open(&row, COLUMNS, NULL), TN_OK);
    for (uint64_t i = 0; i < rows; i++) {
        assert_int_equal(source_read(&source, i, &row, NULL), TN_OK);
        assert_int_equal(columns_add(columns, &source, i, &row, &error), TN_OK);
    }
    columns_finish(columns);
    source_row_close(&row);
    return columns;
}

static enum tn_status apply(const struct columns *columns, uint64_t i, float *out)
{
    struct source_row row;
    assert_int_equal(source_row_open(&row, COLUMNS, NULL), TN_OK);
    assert_int_equal(source_read(&source, i, &row, NULL), TN_OK);
    enum tn_status status = columns_apply(columns, &source, i, &row, NULL, out, NULL, &error);
    source_row_close(&row);
    return status;
}

static void test_numbers_are_scaled(void **state)
{
    float out[3];
    (void)state;
    struct columns *columns = fitted(
        "{\"n\": {\"as\": \"number\", \"scale\": \"standard\", \"missing\": \"mean\"},"
        " \"m\": {\"as\": \"number\", \"from\": \"n\", \"scale\": \"minmax\", \"missing\": 3},"
        " \"r\": {\"as\": \"number\", \"from\": \"n\", \"missing\": -7}}",
        "\"y\"", ROWS);
    assert_int_equal(columns_inputs(columns), 3);
    assert_int_equal(apply(columns, 3, out), TN_OK); /* Mean 3, deviation the root of 8/3. */
    assert_true(out[0] == (float)(2 / sqrt(8.0 / 3)) && out[1] == 1 && out[2] == 5);
    assert_int_equal(apply(columns, 2, out), TN_OK);
    assert_true(out[0] == 0 && out[1] == 0.5F && out[2] == -7);
    columns_close(columns);
}

static void test_categories_are_one_hot(void **state)
{
    float out[32], again[32];
    (void)state;
    struct columns *columns = fitted(
        "{\"color\": {\"as\": \"category\", \"vocabulary\": [\"blue\", \"red\"], \"unknown\": 2},"
        " \"size\": {\"as\": \"bucket\", \"from\": \"n\", \"edges\": [3, 4], \"missing\": 0},"
        " \"both\": {\"as\": \"cross\", \"of\": [\"color\", \"size\"], \"hash\": 7},"
        " \"hashed\": {\"as\": \"category\", \"from\": \"color\", \"hash\": 3}}",
        "\"y\"", 0);
    assert_int_equal(columns_inputs(columns), 4 + 3 + 7 + 3);
    for (uint64_t i = 0; i < ROWS; i++) {
        float sums[4] = {0};
        assert_int_equal(apply(columns, i, out), TN_OK);
        for (int k = 0; k < 17; k++) { sums[(k >= 4) + (k >= 7) + (k >= 14)] += out[k]; }
        for (int s = 0; s < 4; s++) { assert_true(sums[s] == 1); }
        if (i < 2) { assert_true(out[i == 0] == 1); }
        assert_true(out[4 + (i == 1) + 2 * (i == 3)] == 1);
    }
    /* Other columns of the same text give the same numbers. */
    char *text = columns_write(columns);
    struct columns *copy;
    assert_int_equal(columns_read(text, &copy, &error), TN_OK);
    assert_int_equal(columns_bind(copy, &source, false, &error), TN_OK);
    assert_int_equal(apply(copy, 3, again), TN_OK);
    assert_memory_equal(out, again, 17 * sizeof *out);
    free(text);
    columns_close(copy);
    columns_close(columns);
}

/* A text is hashed once for all features that read it: each gets the id that it has alone, also
 * where the text is missing and each has another one in its place. */
static void test_features_of_one_text_have_their_own_ids(void **state)
{
    static const char *const specs[] = {
        "\"a\": {\"as\": \"category\", \"from\": \"n\", \"hash\": 1000, \"embed\": 1, \"missing\": "
        "\"x\"}",
        "\"b\": {\"as\": \"category\", \"from\": \"n\", \"hash\": 777, \"embed\": 1, \"missing\": "
        "\"y\"}",
        "\"c\": {\"as\": \"category\", \"from\": \"color\", \"hash\": 1000, \"embed\": 1}",
        "\"d\": {\"as\": \"category\", \"from\": \"n\", \"hash\": 1000, \"embed\": 1, \"missing\": "
        "\"x\"}",
    };
    enum { FEATURES = sizeof specs / sizeof *specs };
    char together[1024] = "{";
    float out[FEATURES], alone;
    (void)state;
    for (uint32_t f = 0; f < FEATURES; f++) {
        const size_t used = strlen(together);
        snprintf(together + used, sizeof together - used, "%s%s", f > 0 ? ", " : "", specs[f]);
    }
    strcat(together, "}");
    struct columns *columns = fitted(together, "\"y\"", 0);
    for (uint32_t f = 0; f < FEATURES; f++) {
        char spec[256];
        snprintf(spec, sizeof spec, "{%s}", specs[f]);
        struct columns *one = fitted(spec, "\"y\"", 0);
        for (uint64_t i = 0; i < ROWS; i++) {
            assert_int_equal(apply(columns, i, out), TN_OK);
            assert_int_equal(apply(one, i, &alone), TN_OK);
            assert_true(out[f] == alone);
        }
        columns_close(one);
    }
    columns_close(columns);
}

/* A feature of a table is an input of 0, and a key: the id of the same feature without a table, or
 * a hash of 63 bits where it has no ids. */
static void test_features_of_tables_are_keys(void **state)
{
    float out[8];
    int64_t keys[4] = {0}, again[4] = {0};
    struct columns_embedding found[4];
    struct source_row row;
    (void)state;
    struct columns *columns =
        fitted("{\"color\": {\"as\": \"category\", \"hash\": 9, \"embed\": 5, \"table\": true},"
               " \"plain\": {\"as\": \"category\", \"from\": \"color\", \"hash\": 9, \"embed\": 5},"
               " \"key\": {\"as\": \"category\", \"from\": \"color\", \"table\": true},"
               " \"both\": {\"as\": \"cross\", \"of\": [\"color\", \"key\"], \"table\": true}}",
               "\"y\"", 0);
    assert_int_equal(columns_keys(columns), 3);
    assert_int_equal(columns_inputs(columns), 4);
    assert_int_equal(columns_embedded(columns, found, 4), 2);
    assert_true(found[0].table && !found[1].table);
    assert_int_equal(source_row_open(&row, COLUMNS, NULL), TN_OK);
    for (uint64_t i = 0; i < ROWS; i++) {
        assert_int_equal(source_read(&source, i, &row, NULL), TN_OK);
        assert_int_equal(columns_apply(columns, &source, i, &row, NULL, out, keys, &error), TN_OK);
        assert_int_equal(columns_apply(columns, &source, i, &row, NULL, NULL, again, &error),
                         TN_OK);
        assert_memory_equal(keys, again, sizeof keys);
        const struct source_cell *cell = &row.cells[source_find(&source, "color")];
        const uint64_t hash = XXH64(cell->bytes, cell->size, 0);
        assert_int_equal(keys[0], hash % 9);
        assert_int_equal(keys[1], hash >> 1);
        assert_true(keys[2] >= 0 && keys[2] != keys[1]);
        assert_true(out[0] == 0 && out[1] == (float)keys[0] && out[2] == 0 && out[3] == 0);
    }
    source_row_close(&row);
    char *text = columns_write(columns);
    assert_non_null(strstr(text, "\"table\": true"));
    free(text);
    columns_close(columns);
}

/* An embedded feature is one input, the id that would have been 1. */
static void test_embedded_features_are_ids(void **state)
{
    float out[4], hot[32];
    struct columns_embedding found[4];
    (void)state;
    struct columns *columns = fitted(
        "{\"color\": {\"as\": \"category\", \"vocabulary\": [\"blue\", \"red\"], \"unknown\": 2,"
        " \"embed\": 5},"
        " \"n\": {\"as\": \"number\", \"missing\": 0},"
        " \"size\": {\"as\": \"bucket\", \"from\": \"n\", \"edges\": [3, 4], \"missing\": 0},"
        " \"both\": {\"as\": \"cross\", \"of\": [\"color\", \"size\"], \"hash\": 7, \"embed\": 1}}",
        "\"y\"", 0);
    struct columns *plain = fitted(
        "{\"color\": {\"as\": \"category\", \"vocabulary\": [\"blue\", \"red\"], \"unknown\": 2},"
        " \"size\": {\"as\": \"bucket\", \"from\": \"n\", \"edges\": [3, 4], \"missing\": 0},"
        " \"both\": {\"as\": \"cross\", \"of\": [\"color\", \"size\"], \"hash\": 7}}",
        "\"y\"", 0);
    assert_int_equal(columns_embedded(columns, found, 1), 2);
    assert_int_equal(columns_embedded(columns, found, 4), 2);
    assert_string_equal(found[1].feature, "both");
    assert_int_equal(found[0].input, 0);
    assert_int_equal(found[0].ids, 4);
    assert_int_equal(found[0].width, 5);
    assert_int_equal(found[1].input, 5);
    assert_int_equal(found[1].ids, 7);
    assert_int_equal(columns_inputs(columns), 6);
    for (uint64_t i = 0; i < ROWS; i++) {
        assert_int_equal(apply(columns, i, hot), TN_OK);
        memcpy(out, (const float[]){hot[0], hot[5]}, 2 * sizeof *out);
        assert_int_equal(apply(plain, i, hot), TN_OK);
        assert_true(hot[(int)out[0]] == 1 && hot[7 + (int)out[1]] == 1);
    }
    char *text = columns_write(columns);
    assert_non_null(strstr(text, "\"embed\": 5"));
    free(text);
    columns_close(plain);
    columns_close(columns);
}

static void test_stored_columns_have_the_statistics(void **state)
{
    float out, again;
    struct columns *copy;
    (void)state;
    struct columns *columns =
        fitted("{\"n\": {\"as\": \"number\", \"scale\": \"standard\", \"missing\": 0}}",
               "{\"column\": \"y\", \"vocabulary\": [\"a\", \"b\"]}", 2);
    char *text = columns_write(columns);
    assert_int_equal(columns_read(text, &copy, &error), TN_OK);
    assert_false(columns_need_rows(copy));
    assert_int_equal(columns_bind(copy, &source, true, &error), TN_OK);
    assert_int_equal(apply(columns, 3, &out), TN_OK);
    assert_int_equal(apply(copy, 3, &again), TN_OK);
    assert_true(out == again && out == 3);
    assert_int_equal(columns_classes(copy), 2);
    assert_string_equal(columns_class_name(copy, 1), "b");
    char *second = columns_write(copy);
    assert_string_equal(text, second);
    free(text);
    free(second);
    columns_close(copy);
    columns_close(columns);
}

static void test_labels(void **state)
{
    struct source_row row;
    int32_t label;
    (void)state;
    struct columns *columns =
        fitted("{\"n\": \"number\"}", "{\"column\": \"y\", \"vocabulary\": [\"b\", \"a\"]}", 0);
    assert_int_equal(source_row_open(&row, COLUMNS, NULL), TN_OK);
    assert_int_equal(source_read(&source, 0, &row, NULL), TN_OK);
    assert_int_equal(columns_label(columns, &source, 0, &row, 2, &label, &error), TN_OK);
    assert_int_equal(label, 1);
    columns_close(columns);
    columns = fitted("{\"color\": {\"as\": \"category\", \"hash\": 2}}", "\"n\"", 0);
    assert_int_equal(columns_label(columns, &source, 0, &row, 2, &label, &error), TN_OK);
    assert_int_equal(label, 1);
    assert_int_equal(source_read(&source, 1, &row, NULL), TN_OK);
    assert_int_equal(columns_label(columns, &source, 1, &row, 3, &label, &error), TN_EINVAL);
    assert_string_equal(error.text, "f:1: 'n': '3' is not a class: give whole numbers from 0 to 2");
    float target;
    assert_int_equal(columns_targets_count(columns), 1);
    assert_int_equal(columns_targets(columns, &source, 1, &row, &target, &error), TN_OK);
    assert_true(target == 3);
    source_row_close(&row);
    columns_close(columns);
}

/* The label that this cell gives for 2^31 classes; -1: it is refused. */
static int64_t label_of(enum source_kind kind, struct source_cell cell)
{
    struct source_column two[] = {{.name = "x", .kind = SOURCE_NUMBER},
                                  {.name = "y", .kind = kind}};
    struct source rows = {.type = &type, .count = 1, .column_count = 2, .columns = two};
    struct source_cell pair[] = {{.number = 1}, cell};
    const struct source_row row = {.cells = pair};
    struct columns *columns = NULL;
    int32_t label = -1;
    error.text[0] = '\0';
    assert_int_equal(columns_open("", "\"y\"", &columns, &error), TN_OK);
    assert_int_equal(columns_bind(columns, &rows, true, &error), TN_OK);
    const enum tn_status status =
        columns_label(columns, &rows, 0, &row, UINT32_C(1) << 31, &label, &error);
    columns_close(columns);
    return status == TN_OK ? label : -1;
}

static int64_t label_of_text(const char *text)
{
    return label_of(SOURCE_TEXT,
                    (struct source_cell){.bytes = (const uint8_t *)text, .size = strlen(text)});
}

/* Labels are exact up to the last one of 2^31 classes. */
static void test_labels_are_exact(void **state)
{
    (void)state;
    assert_int_equal(label_of_text("16777217"), 16777217);
    assert_int_equal(label_of_text("2147483647"), 2147483647);
    assert_int_equal(label_of_text("2147483648"), -1);
    assert_string_equal(error.text, "f:0: 'y': '2147483648' is not a class: give whole numbers "
                                    "from 0 to 2147483647");
    assert_int_equal(label_of_text("2147483646.5"), -1);
    assert_int_equal(label_of(SOURCE_NUMBER, (struct source_cell){.number = 2147483647}),
                     2147483647);
    assert_int_equal(label_of(SOURCE_NUMBER, (struct source_cell){.number = 2147483648}), -1);
}

/* No columns are all columns; stored ones are never none. */
static void test_empty_columns_are_all(void **state)
{
    (void)state;
    struct columns *columns = NULL;
    assert_int_equal(columns_open("{}", "\"y\"", &columns, &error), TN_OK);
    assert_int_equal(columns_bind(columns, &source, true, &error), TN_OK);
    assert_int_equal(columns_inputs(columns), 2);
    columns_close(columns);
    const char *none = "{\"version\": 1, \"columns\": {}, \"label\": \"y\"}";
    assert_int_equal(columns_read(none, &columns, &error), TN_EINVAL);
    assert_string_equal(error.text, "the stored columns are damaged or of another version");
    assert_null(columns);
}

/* A number that a 32-bit float cannot hold is not called a text. */
static void test_large_numbers_are_out_of_range(void **state)
{
    static const char *const texts[] = {"1e39", "-1e39", "1e400"};
    double out;
    char expected[128];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct source_cell cell = {.bytes = (const uint8_t *)texts[i],
                                         .size = strlen(texts[i])};
        assert_int_equal(value_number(&source, 1, 1, &cell, 0, &out, &error), TN_EINVAL);
        snprintf(expected, sizeof expected,
                 "f:1: 'color': '%s' is out of range: numbers are 32-bit floats, up to 3.4e38",
                 texts[i]);
        assert_string_equal(error.text, expected);
    }
}

static void test_bad_values_name_their_place(void **state)
{
    float out[8];
    (void)state;
    struct columns *columns = fitted("{\"color\": \"number\"}", "\"y\"", 0);
    assert_int_equal(apply(columns, 1, out), TN_EINVAL);
    assert_string_equal(
        error.text,
        "f:1: 'color': 'blue' is not a number; texts need \"as\": \"category\" in data.columns");
    columns_close(columns);
    columns = fitted("", "\"y\"", 0);
    assert_int_equal(columns_inputs(columns), 2); /* All columns but the label. */
    assert_int_equal(apply(columns, 2, out), TN_EINVAL);
    assert_non_null(strstr(error.text, "f:2: 'n': the value is missing: give"));
    columns_close(columns);
    columns = fitted("{\"color\": {\"as\": \"category\", \"vocabulary\": [\"red\"]}}", "\"y\"", 0);
    assert_int_equal(apply(columns, 1, out), TN_EINVAL);
    assert_non_null(strstr(error.text, "'blue' is not in the vocabulary: add it"));
    columns_close(columns);
}

static void test_wrong_columns_are_refused(void **state)
{
    static const char *const cases[][3] = {
        {"{\"n\": \"nubmer\"}", "\"y\"", "data.columns.n"},
        {"{\"n\": {\"as\": \"number\", \"scael\": 1}}", "\"y\"", "scael"},
        {"{\"n\": {\"as\": \"bucket\"}}", "\"y\"", "needs \"edges\""},
        {"{\"n\": {\"as\": \"bucket\", \"edges\": [2, 1]}}", "\"y\"", "not ascending"},
        {"{\"n\": {\"as\": \"category\"}}", "\"y\"", "either \"vocabulary\" or \"hash\""},
        {"{\"n\": {\"as\": \"category\", \"vocabulary\": [\"a\", \"a\"]}}", "\"y\"", "'a' twice"},
        {"{\"n\": {\"as\": \"category\", \"vocabulary\": \"/nonexistent\"}}", "\"y\"",
         "/nonexistent"},
        {"{\"n\": {\"as\": \"number\", \"hash\": 3}}", "\"y\"", "\"hash\", which"},
        {"{\"n\": {\"as\": \"number\", \"missing\": \"?\"}}", "\"y\"", "wrong \"missing\""},
        {"{\"x\": {\"as\": \"cross\", \"of\": [\"n\", \"m\"], \"hash\": 3}}", "\"y\"",
         "'n' in \"of\""},
        {"{\"n\": \"number\"}", "7", "data.label must be"},
        {"{\"n\": \"number\"}", "[]", "data.label must name"},
        {"{\"n\": \"number\"}", "{\"column\": \"y\", \"names\": []}",
         "data.label must have the keys"},
        {"{\"m\": \"number\"}", "\"y\"",
         "data.columns.m: f has no column 'm': its columns are n, color, y"},
        {"{\"n\": \"number\"}", "\"z\"", "data.label: f has no column 'z'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct columns *columns = NULL;
        enum tn_status status = columns_open(cases[i][0], cases[i][1], &columns, &error);
        if (status == TN_OK) { status = columns_bind(columns, &source, true, &error); }
        if (status == TN_OK || strstr(error.text, cases[i][2]) == NULL) {
            fail_msg("case %zu: '%s' lacks '%s'", i, error.text, cases[i][2]);
        }
        columns_close(columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_scaled),
        cmocka_unit_test(test_categories_are_one_hot),
        cmocka_unit_test(test_features_of_one_text_have_their_own_ids),
        cmocka_unit_test(test_features_of_tables_are_keys),
        cmocka_unit_test(test_embedded_features_are_ids),
        cmocka_unit_test(test_stored_columns_have_the_statistics),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_labels_are_exact),
        cmocka_unit_test(test_empty_columns_are_all),
        cmocka_unit_test(test_large_numbers_are_out_of_range),
        cmocka_unit_test(test_bad_values_name_their_place),
        cmocka_unit_test(test_wrong_columns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
