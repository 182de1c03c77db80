/* Columns of pixels: changes while training, the middle otherwise, and keys that do not fit. */
#include "data/columns/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t image[4] = {0, 51, 102, 255}; /* 2 x 2 pixels. */
static struct error error;

static enum tn_status read_image(const struct source *source, uint64_t i, struct source_row *row,
                                 struct error *out)
{
    (void)source;
    (void)i;
    (void)out;
    row->cells[0].bytes = image;
    row->cells[0].size = sizeof image;
    return TN_OK;
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    (void)source;
    (void)i;
    (void)column;
    snprintf(place, SOURCE_PLACE_MAX, "file:1");
}

static const struct source_type type = {.read = read_image, .locate = locate};
static struct source_column column = {
    .name = "image", .kind = SOURCE_BYTES, .rank = 2, .shape = {2, 2}};
static const struct source source = {
    .type = &type, .count = 1, .column_count = 1, .columns = &column};

static enum tn_status open_columns(const char *text, struct columns **out)
{
    error.text[0] = '\0';
    enum tn_status status = columns_open(text, "", out, &error);
    if (status == TN_OK) { status = columns_bind(*out, &source, false, &error); }
    return status;
}

static void apply(const struct columns *columns, const struct columns_draw *draw, float *out)
{
    struct source_row row;
    assert_int_equal(source_row_open(&row, 1, NULL), TN_OK);
    assert_int_equal(source_read(&source, 0, &row, NULL), TN_OK);
    assert_int_equal(columns_apply(columns, &source, 0, &row, draw, out, NULL, &error), TN_OK);
    source_row_close(&row);
}

static bool equal(const float a[4], const float b[4])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* Images are mirrored in some epochs, and only while training. */
static void test_images_change_only_while_training(void **state)
{
    (void)state;
    static const float plain[4] = {0, 0.2F, 0.4F, 1}, mirrored[4] = {0.2F, 0, 1, 0.4F};
    struct columns *columns;
    float out[4];
    uint32_t changed = 0;
    assert_int_equal(open_columns("{\"image\": {\"as\": \"pixels\", \"flip\": true}}", &columns),
                     TN_OK);
    columns_finish(columns);
    assert_int_equal(columns_inputs(columns), 4);
    apply(columns, NULL, out);
    assert_memory_equal(out, plain, sizeof out);
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        const struct columns_draw draw = {.seed = 1, .epoch = epoch};
        apply(columns, &draw, out);
        const bool flipped = equal(out, mirrored);
        assert_true(flipped || equal(out, plain));
        changed += flipped;
    }
    assert_in_range(changed, 4, 16);
    columns_close(columns);
}

/* A part has its own size; columns that were written can be read. */
static void test_parts_survive_writing(void **state)
{
    (void)state;
    struct columns *columns, *again;
    float out[3], out_again[3];
    assert_int_equal(
        open_columns("{\"image\": {\"as\": \"pixels\", \"crop\": [1, 3], \"margin\": 1, "
                     "\"mean\": [0.5], \"deviation\": [0.25]}}",
                     &columns),
        TN_OK);
    columns_finish(columns);
    assert_int_equal(columns_inputs(columns), 3);
    apply(columns, NULL, out);
    assert_true(out[0] == -2 && out[1] == -2); /* The margin, and a black pixel. */
    char *text = columns_write(columns);
    assert_non_null(text);
    assert_int_equal(columns_read(text, &again, &error), TN_OK);
    assert_int_equal(columns_bind(again, &source, false, &error), TN_OK);
    apply(again, NULL, out_again);
    assert_memory_equal(out, out_again, sizeof out);
    free(text);
    columns_close(columns);
    columns_close(again);
}

/* Keys that do not fit the image, or the kind of the column, are refused. */
static void test_other_keys_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{\"image\": {\"as\": \"pixels\", \"crop\": [3, 2]}}", "crop is 3 x 2, but the image"},
        {"{\"image\": {\"as\": \"pixels\", \"crop\": [3]}}", "crop"},
        {"{\"image\": {\"as\": \"pixels\", \"crop\": [0, 1]}}", "crop"},
        {"{\"image\": {\"as\": \"pixels\", \"mean\": [0, 0, 0]}}", "need 1 numbers"},
        {"{\"image\": {\"as\": \"pixels\", \"deviation\": [0]}}", "deviation"},
        {"{\"image\": {\"as\": \"number\", \"flip\": true}}", "flip"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct columns *columns = NULL;
        assert_int_equal(open_columns(cases[i].text, &columns), TN_EINVAL);
        if (strstr(error.text, cases[i].expected) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].expected, error.text);
        }
        columns_close(columns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_change_only_while_training),
        cmocka_unit_test(test_parts_survive_writing),
        cmocka_unit_test(test_other_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
