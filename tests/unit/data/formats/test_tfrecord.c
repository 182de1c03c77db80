/* TFRecord files and messages tf.train.Example from bytes: valid ones, and every kind of damage. */
#include "data/formats/tfrecord.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/crc32c.h"
#include "data/formats/formats.h"
#include "data/image/image.h"

/* Bytes that grow. */
struct bytes {
    uint8_t at[4096];
    size_t size;
};

static void add(struct bytes *out, const void *from, size_t size)
{
    memcpy(out->at + out->size, from, size);
    out->size += size;
}

static void add_number(struct bytes *out, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++) { out->at[out->size++] = (uint8_t)(number >> 8 * i); }
}

static void add_varint(struct bytes *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) { add_number(out, value | 0x80, 1); }
    add_number(out, value, 1);
}

/* A field with bytes, below 128 of them. */
static void add_field(struct bytes *out, unsigned number, const void *from, size_t size)
{
    add_number(out, number << 3 | 2, 1);
    add_varint(out, size);
    add(out, from, size);
}

/* A feature with this list, of kind 1 (bytes), 2 (floats) or 3 (integers). */
static void add_feature(struct bytes *features, const char *name, unsigned kind,
                        const struct bytes *list)
{
    struct bytes feature = {.size = 0}, entry = {.size = 0};
    add_field(&feature, kind, list->at, list->size);
    add_field(&entry, 1, name, strlen(name));
    add_field(&entry, 2, feature.at, feature.size);
    add_field(features, 1, entry.at, entry.size);
}

static void add_text(struct bytes *features, const char *name, const void *bytes, size_t size)
{
    struct bytes list = {.size = 0};
    add_field(&list, 1, bytes, size);
    add_feature(features, name, 1, &list);
}

static void add_floats(struct bytes *features, const char *name, const float *values, size_t count)
{
    struct bytes list = {.size = 0};
    add_field(&list, 1, values, count * sizeof *values);
    add_feature(features, name, 2, &list);
}

static void add_integers(struct bytes *features, const char *name, const int64_t *values,
                         size_t count)
{
    struct bytes list = {.size = 0}, packed = {.size = 0};
    for (size_t i = 0; i < count; i++) { add_varint(&packed, (uint64_t)values[i]); }
    add_field(&list, 1, packed.at, packed.size);
    add_feature(features, name, 3, &list);
}

static void add_record(struct bytes *file, const void *bytes, size_t size)
{
    const size_t at = file->size;
    add_number(file, size, 8);
    add_number(file, crc32c_masked(file->at + at, 8), 4);
    add(file, bytes, size);
    add_number(file, crc32c_masked(bytes, size), 4);
}

static void add_example(struct bytes *file, const struct bytes *features)
{
    struct bytes example = {.size = 0};
    add_field(&example, 1, features->at, features->size);
    add_record(file, example.at, example.size);
}

static void add_typical(struct bytes *file, int64_t label)
{
    struct bytes features = {.size = 0};
    const float floats[] = {1.5F, -2.5F, (float)label};
    const int64_t ids[] = {label, -1};
    add_text(&features, "city", "K\xc3\xb6ln", 5);
    add_integers(&features, "label", &label, 1);
    add_floats(&features, "x", floats, 3);
    add_integers(&features, "ids", ids, 2);
    add_text(&features, "raw", "\x00\xff\x80", 3);
    add_example(file, &features);
}

static const char *options = "{}"; /* For open_file(). */

static enum tn_status open_file(const struct bytes *file, struct source *source,
                                struct error *error)
{
    const struct source_input input = {
        .path = "f", .bytes = file->at, .size = file->size, .options = options};
    *source = (struct source){.type = &tfrecord_type};
    return tfrecord_type.open(&input, source, error);
}

static void expect_refused(const struct bytes *file, const char *text)
{
    struct source source;
    struct error error = {.text = ""};
    assert_int_equal(open_file(file, &source, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("'%s' is not in '%s'", text, error.text); }
    assert_null(source.columns);
    assert_null(source.state);
}

/* Each kind of list becomes a column; columns are ordered by name. */
static void test_features_become_columns(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum source_kind kind;
        uint32_t size;
    } expected[] = {
        {"city", SOURCE_TEXT, 0}, {"ids", SOURCE_FLOATS, 2}, {"label", SOURCE_NUMBER, 0},
        {"raw", SOURCE_BYTES, 3}, {"x", SOURCE_FLOATS, 3},
    };
    struct bytes file = {.size = 0};
    struct source source;
    struct source_row row;
    for (int64_t i = 0; i < 3; i++) { add_typical(&file, 100 * i - 100); }
    assert_int_equal(open_file(&file, &source, NULL), TN_OK);
    assert_int_equal(source.count, 3);
    assert_int_equal(source.column_count, 5);
    for (uint32_t c = 0; c < 5; c++) {
        assert_string_equal(source.columns[c].name, expected[c].name);
        assert_int_equal(source.columns[c].kind, expected[c].kind);
        assert_int_equal(source.columns[c].shape[0], expected[c].size);
    }
    assert_int_equal(source_row_open(&row, 5, NULL), TN_OK);
    assert_int_equal(source_read(&source, 2, &row, NULL), TN_OK);
    assert_memory_equal(row.cells[0].bytes, "K\xc3\xb6ln", 5);
    assert_int_equal(row.cells[0].size, 5);
    assert_true(row.cells[1].floats[0] == 100.0F && row.cells[1].floats[1] == -1.0F);
    assert_true(row.cells[2].number == 100.0);
    assert_memory_equal(row.cells[3].bytes, "\x00\xff\x80", 3);
    assert_true(row.cells[4].floats[1] == -2.5F && row.cells[4].floats[2] == 100.0F);
    assert_int_equal(source_read(&source, 0, &row, NULL), TN_OK);
    assert_true(row.cells[2].number == -100.0);
    source_row_close(&row);
    source_close(&source);
}

/* A feature that a record lacks, that is empty or not a number, is missing. */
static void test_absent_features_are_missing(void **state)
{
    (void)state;
    struct bytes file = {.size = 0}, one = {.size = 0}, two = {.size = 0}, three = {.size = 0};
    const float number = 4, nan = NAN;
    struct source source;
    struct source_row row;
    add_floats(&one, "a", &number, 1);
    add_floats(&two, "b", &number, 1);
    add_floats(&two, "a", &number, 0);
    add_floats(&three, "a", &nan, 1);
    add_example(&file, &one);
    add_example(&file, &two);
    add_example(&file, &three);
    assert_int_equal(open_file(&file, &source, NULL), TN_OK);
    assert_int_equal(source_row_open(&row, 2, NULL), TN_OK);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(source_read(&source, i, &row, NULL), TN_OK);
        assert_int_equal(row.cells[0].missing, i != 0);
        assert_int_equal(row.cells[1].missing, i != 1);
    }
    source_row_close(&row);
    source_close(&source);
}

/* Numbers that are not packed, as old writers write them, are the same numbers. */
static void test_unpacked_numbers_are_read(void **state)
{
    (void)state;
    struct bytes file = {.size = 0}, features = {.size = 0}, floats = {.size = 0};
    struct bytes integers = {.size = 0};
    struct source source;
    struct source_row row;
    add(&floats, "\x0d\x00\x00\x80\x3f\x0d\x00\x00\x00\x40", 10);
    add(&integers, "\x08\x96\x01", 3);
    add_feature(&features, "f", 2, &floats);
    add_feature(&features, "i", 3, &integers);
    add_example(&file, &features);
    assert_int_equal(open_file(&file, &source, NULL), TN_OK);
    assert_int_equal(source_row_open(&row, 2, NULL), TN_OK);
    assert_int_equal(source_read(&source, 0, &row, NULL), TN_OK);
    assert_true(row.cells[0].floats[0] == 1.0F && row.cells[0].floats[1] == 2.0F);
    assert_true(row.cells[1].number == 150.0);
    source_row_close(&row);
    source_close(&source);
}

/* A file truncated anywhere but between records is refused, and so is any damaged byte. */
static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    struct bytes file = {.size = 0};
    add_typical(&file, 1);
    const size_t first = file.size;
    add_typical(&file, 2);
    for (size_t cut = 1; cut < file.size; cut++) {
        struct bytes part = {.size = cut};
        memcpy(part.at, file.at, cut);
        if (cut != first) { expect_refused(&part, "f: record "); }
    }
    for (size_t i = 0; i < file.size; i++) {
        file.at[i] ^= 0x10;
        expect_refused(&file, i < first ? "f: record 0: " : "f: record 1: byte ");
        file.at[i] ^= 0x10;
    }
}

/* Records that do not form a table: the error names the record and the feature. */
static void test_records_that_differ_are_refused(void **state)
{
    (void)state;
    const float floats[3] = {1, 2, 3};
    const int64_t integer = 5;
    struct bytes first = {.size = 0};
    add_floats(&first, "x", floats, 2);
    add_text(&first, "raw", "\xff\xfe", 2);
    for (int kind = 0; kind < 5; kind++) {
        static const char *const texts[] = {
            "f: record 1: feature 'x' has 3 values, but 2 in records before",
            "f: record 1: feature 'x' is an int64_list, but a float_list in records before",
            "f: record 1: feature 'raw' has 3 bytes, but 2 in the first record",
            "f: record 1: a tf.train.SequenceExample",
            "f: record 1: not a tf.train.Example",
        };
        struct bytes file = {.size = 0}, second = {.size = 0};
        add_example(&file, &first);
        if (kind == 0) { add_floats(&second, "x", floats, 3); }
        if (kind == 1) { add_integers(&second, "x", &integer, 1); }
        if (kind == 2) { add_text(&second, "raw", "\xff\xfe\xfd", 3); }
        if (kind < 3) { add_example(&file, &second); }
        if (kind == 3) { add_record(&file, "\x12\x00", 2); }
        if (kind == 4) { add_record(&file, "plain text", 10); }
        expect_refused(&file, texts[kind]);
    }
    struct bytes empty = {.size = 0};
    add_record(&empty, "", 0);
    expect_refused(&empty, "f: no record has a feature");
}

/* A record with a grey PNG image of this size, whose pixels are `pixel`, in feature `name`. */
static void add_picture(struct bytes *file, const char *name, uint32_t height, uint32_t width,
                        int pixel)
{
    struct bytes features = {.size = 0};
    const int64_t label = pixel;
    uint8_t pixels[64], *png;
    size_t size;
    const struct image image = {{height, width, 1}, pixels};
    assert_true(height * width <= sizeof pixels);
    memset(pixels, pixel, sizeof pixels);
    assert_int_equal(image_encode_png(&image, &png, &size, NULL), TN_OK);
    add_text(&features, name, png, size);
    add_integers(&features, "label", &label, 1);
    add_example(file, &features);
    free(png);
}

/* The pixels of the only image column of row 1, all of which are equal. */
static void expect_pixels(const struct bytes *file, uint32_t height, uint32_t width,
                          uint32_t channels, uint8_t pixel)
{
    struct source source;
    struct source_row row;
    struct error error = {.text = ""};
    if (open_file(file, &source, &error) != TN_OK) { fail_msg("%s", error.text); }
    const struct source_column *column = &source.columns[0];
    assert_int_equal(column->kind, SOURCE_BYTES);
    assert_int_equal(column->rank, 3);
    assert_int_equal(column->shape[0], height);
    assert_int_equal(column->shape[1], width);
    assert_int_equal(column->shape[2], channels);
    assert_int_equal(source_row_open(&row, source.column_count, NULL), TN_OK);
    assert_int_equal(source_read(&source, 1, &row, NULL), TN_OK);
    assert_int_equal(row.cells[0].size, height * width * channels);
    for (size_t i = 0; i < row.cells[0].size; i++) {
        assert_int_equal(row.cells[0].bytes[i], pixel);
    }
    source_row_close(&row);
    source_close(&source);
}

/* Images are decoded, and get the shape of the first one or that of the options. */
static void test_images_are_decoded(void **state)
{
    (void)state;
    struct bytes same = {.size = 0}, mixed = {.size = 0}, named = {.size = 0}, texts = {.size = 0};
    add_picture(&same, "image/encoded", 3, 5, 0);
    add_picture(&same, "image/encoded", 3, 5, 77);
    add_picture(&mixed, "image/encoded", 3, 5, 0);
    add_picture(&mixed, "image/encoded", 4, 4, 77);
    add_picture(&named, "a", 3, 5, 77);
    add_picture(&named, "a", 3, 5, 77);
    add_text(&texts, "image/encoded", "a text", 6);
    struct bytes wrong = same;
    add_example(&wrong, &texts);
    expect_pixels(&same, 3, 5, 1, 77);
    expect_refused(&mixed, "f: record 1: feature 'image/encoded': the image is 4 x 4, but the "
                           "first one is 3 x 5: give one for all");
    expect_refused(&wrong, "f: record 2: feature 'image/encoded': not a JPEG or PNG image");
    options = "{\"size\": [2, 6], \"channels\": 3}";
    expect_pixels(&mixed, 2, 6, 3, 77);
    expect_refused(&named, "f: data.options describes images, but no record has images in the "
                           "feature 'image/encoded': give its name as \"image\"");
    add_picture(&named, "a", 3, 5, 0);
    options = "{}";
    expect_refused(&named, "f: record 2: feature 'a' has 81 bytes, but 84 in the first record");
    expect_refused(&named, "encoded images need data.options {\"image\": \"a\"}");
    options = "{\"image\": \"a\"}";
    expect_pixels(&named, 3, 5, 1, 77);
    options = "{\"size\": [2]}";
    expect_refused(&same, "size");
    options = "{\"sizes\": 2}";
    expect_refused(&same, "sizes");
    options = "{}";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features_become_columns),
        cmocka_unit_test(test_absent_features_are_missing),
        cmocka_unit_test(test_unpacked_numbers_are_read),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_records_that_differ_are_refused),
        cmocka_unit_test(test_images_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
