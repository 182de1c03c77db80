/* A TFRecord file of messages tf.train.Example as a source: a column for each feature, in byte
 * order of their names. One of them may have encoded images. Opening reads all records: their
 * checksums are checked, and the columns are what all records agree on. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utf8.h"
#include "data/formats/example.h"
#include "data/formats/formats.h"
#include "data/formats/picture.h"
#include "data/formats/tfrecord.h"
#include "data/source/offsets.h"

enum { FEATURES_MAX = 4096 };

/* A feature as all records seen so far have it. */
struct feature {
    char name[SOURCE_NAME_MAX];
    enum example_kind kind;
    uint64_t count; /* Values in each record that has any; 0: none had. */
    bool text;      /* Bytes: all values are texts. */
    bool even;      /* Bytes: all have `size` bytes. */
    size_t size;
    bool image; /* Bytes: all are encoded images. */
    struct picture picture;
};

struct record_options {
    struct picture_options pictures; /* The first member: see picture_keys. */
    char image[SOURCE_NAME_MAX];     /* The feature that has images. */
};

struct records {
    char *path;
    const uint8_t *bytes;
    size_t size;
    struct offsets offsets;
    struct record_options options;
    uint32_t count, capacity;
    struct feature *features;
};

static enum tn_status read_options(const char *text, struct record_options *out,
                                   struct error *error)
{
    static const struct json_field fields[] = {
        {.name = "image", .type = FIELD_TEXT, JSON_MEMBER(struct record_options, image)}};
    static const struct json_part *const parts[] = {&picture_keys, NULL};
    static const struct json_table table = {JSON_FIELDS(fields), .parts = parts,
                                            .rules = JSON_UNKNOWN_REFUSED, .status = TN_EINVAL};
    *out = (struct record_options){.image = ""};
    return formats_read_options(text, &table, out, error);
}

/* The name that TensorFlow's data sets use. */
static const char *image_name(const struct record_options *options)
{
    return options->image[0] != '\0' ? options->image : "image/encoded";
}

static bool are_given(const struct record_options *options)
{
    const struct picture_options *pictures = &options->pictures;
    return options->image[0] != '\0' || pictures->size_count > 0 || pictures->channels > 0 ||
           pictures->fit != PICTURE_CROP;
}

static void close_records(struct source *source)
{
    struct records *records = source->state;
    if (records == NULL) { return; }
    offsets_free(&records->offsets);
    free(records->features);
    free(records->path);
    free(records);
    source->state = NULL;
}

/* The feature's number; `count`: it is a new one. Records mostly have the same order, so that the
 * search begins at `guess`. */
static uint32_t find_feature(const struct records *records, const struct example_feature *wanted,
                             uint32_t guess)
{
    for (uint32_t i = 0; i < records->count; i++) {
        const uint32_t place = (guess + i) % records->count;
        const char *name = records->features[place].name;
        if (strlen(name) == wanted->name_size &&
            memcmp(name, wanted->name, wanted->name_size) == 0) {
            return place;
        }
    }
    return records->count;
}

static enum tn_status add_feature(struct records *records, const struct example_feature *new,
                                  struct error *error)
{
    if (new->name_size == 0 || new->name_size >= SOURCE_NAME_MAX ||
        memchr(new->name, '\0', new->name_size) != NULL) {
        return error_set(error, TN_EINVAL, "the name of a feature has %zu bytes: 1 to %d are read",
                         new->name_size, SOURCE_NAME_MAX - 1);
    }
    if (records->count == FEATURES_MAX) {
        return error_set(error, TN_EINVAL, "over %d features are not read", FEATURES_MAX);
    }
    if (records->count == records->capacity) {
        const uint32_t capacity = 2 * records->capacity + 16;
        struct feature *grown = realloc(records->features, capacity * sizeof *grown);
        if (grown == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
        records->features = grown;
        records->capacity = capacity;
    }
    struct feature *feature = &records->features[records->count++];
    *feature = (struct feature){.text = true, .even = true};
    memcpy(feature->name, new->name, new->name_size);
    if (utf8_is_valid(feature->name)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the name of a feature is not valid UTF-8");
}

/* Printable UTF-8; pixels hardly ever are. */
static bool is_text(struct wire bytes)
{
    for (const uint8_t *at = bytes.at; at < bytes.end; at++) {
        if (*at < ' ' && *at != '\n' && *at != '\r' && *at != '\t') { return false; }
    }
    const size_t size = wire_size(&bytes);
    return utf8_valid_bytes((const char *)bytes.at, size) == size;
}

static enum tn_status in_feature(enum tn_status status, const struct feature *feature,
                                 struct error *error)
{
    if (status == TN_OK || error == NULL) { return status; }
    return error_context(error, "feature '%s'", feature->name);
}

static const char *kind_name(enum example_kind kind)
{
    static const char *const names[] = {
        [EXAMPLE_NONE] = "nothing",
        [EXAMPLE_BYTES] = "a bytes_list",
        [EXAMPLE_FLOATS] = "a float_list",
        [EXAMPLE_INTEGERS] = "an int64_list",
    };
    return names[kind];
}

/* Check an encoded image; the first one decides the shape. */
static enum tn_status learn_image(struct feature *feature, struct wire bytes,
                                  const struct picture_options *options, struct error *error)
{
    const size_t size = wire_size(&bytes);
    enum tn_status status = feature->image
                                ? picture_check(&feature->picture, bytes.at, size, error)
                                : picture_begin(options, bytes.at, size, &feature->picture, error);
    feature->image = true;
    return in_feature(status, feature, error);
}

/* Check that the feature is like those before, and learn what it has. */
static enum tn_status learn(const struct records *records, struct feature *feature,
                            const struct example_feature *seen, struct error *error)
{
    if (seen->kind == EXAMPLE_NONE || seen->count == 0) { return TN_OK; }
    if (feature->count == 0) {
        feature->kind = seen->kind;
        feature->count = seen->count;
        if (seen->kind == EXAMPLE_BYTES) {
            struct wire first = example_bytes(seen);
            feature->size = wire_size(&first);
        }
    }
    if (seen->kind != feature->kind) {
        return error_set(error, TN_EINVAL, "feature '%s' is %s, but %s in records before",
                         feature->name, kind_name(seen->kind), kind_name(feature->kind));
    }
    if (seen->count != feature->count || seen->count > UINT32_MAX) {
        return error_set(error, TN_EINVAL,
                         "feature '%s' has %" PRIu64 " values, but %" PRIu64
                         " in records before: write equally many in all records",
                         feature->name, seen->count, feature->count);
    }
    if (seen->kind != EXAMPLE_BYTES) { return TN_OK; }
    if (seen->count > 1) {
        return error_set(error, TN_EINVAL,
                         "feature '%s' is a list of %" PRIu64 " texts: only one is read",
                         feature->name, seen->count);
    }
    struct wire bytes = example_bytes(seen);
    if (strcmp(feature->name, image_name(&records->options)) == 0) {
        return learn_image(feature, bytes, &records->options.pictures, error);
    }
    feature->text = feature->text && is_text(bytes);
    feature->even = feature->even && wire_size(&bytes) == feature->size;
    if (feature->text || feature->even) { return TN_OK; }
    return error_set(
        error, TN_EINVAL,
        "feature '%s' has %zu bytes, but %zu in the first record, and is not a text in "
        "UTF-8: bytes have the same length in all records, and encoded images need "
        "data.options {\"image\": \"%s\"}",
        feature->name, wire_size(&bytes), feature->size, feature->name);
}

static enum tn_status unreadable(enum example_result result, struct error *error)
{
    if (result == EXAMPLE_SEQUENCE) {
        return error_set(error, TN_EINVAL,
                         "a tf.train.SequenceExample: write tf.train.Example with lists of a fixed "
                         "length");
    }
    return error_set(error, TN_EINVAL, "not a tf.train.Example");
}

static enum tn_status learn_record(struct records *records, const struct tfrecord *record,
                                   struct error *error)
{
    struct example_cursor cursor = EXAMPLE_CURSOR(record->bytes, record->size);
    struct example_feature seen;
    uint32_t guess = 0;
    enum example_result result;
    while ((result = example_next(&cursor, &seen)) == EXAMPLE_FEATURE) {
        const uint32_t place = find_feature(records, &seen, guess);
        enum tn_status status = TN_OK;
        if (place == records->count) { status = add_feature(records, &seen, error); }
        if (status == TN_OK) { status = learn(records, &records->features[place], &seen, error); }
        if (status != TN_OK) { return status; }
        guess = place + 1;
    }
    return result == EXAMPLE_END ? TN_OK : unreadable(result, error);
}

static enum tn_status in_record(enum tn_status status, uint64_t number, struct error *error)
{
    if (status == TN_OK || error == NULL) { return status; }
    return error_context(error, "record %" PRIu64, number);
}

static enum tn_status learn_all(struct records *records, struct error *error)
{
    struct tfrecord record;
    for (size_t at = 0; at < records->size; at = record.next) {
        const uint64_t number = records->offsets.count;
        enum tn_status status = tfrecord_read(records->bytes, records->size, at, &record, error);
        if (status == TN_OK) { status = learn_record(records, &record, error); }
        if (status != TN_OK) { return in_record(status, number, error); }
        status = offsets_add(&records->offsets, at, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct feature *)a)->name, ((const struct feature *)b)->name);
}

static void describe(const struct feature *feature, struct source_column *column)
{
    memcpy(column->name, feature->name, sizeof column->name);
    if (feature->image) {
        picture_describe(&feature->picture, column);
        return;
    }
    const bool bytes = feature->kind == EXAMPLE_BYTES;
    const bool many = bytes ? !feature->text : feature->count > 1;
    column->kind =
        bytes ? (many ? SOURCE_BYTES : SOURCE_TEXT) : (many ? SOURCE_FLOATS : SOURCE_NUMBER);
    if (!many) { return; }
    column->rank = 1;
    column->shape[0] = (uint32_t)(bytes ? feature->size : feature->count);
}

/* Options of images need images. */
static enum tn_status check_options(const struct records *records, struct error *error)
{
    if (!are_given(&records->options)) { return TN_OK; }
    for (uint32_t i = 0; i < records->count; i++) {
        if (records->features[i].image) { return TN_OK; }
    }
    return error_set(error, TN_EINVAL,
                     "data.options describes images, but no record has images in the feature '%s': "
                     "give its name as \"image\", or remove the options",
                     image_name(&records->options));
}

/* A feature without a value in any record is not a column. */
static enum tn_status make_columns(struct records *records, struct source *source,
                                   struct error *error)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < records->count; i++) {
        if (records->features[i].count > 0) { records->features[kept++] = records->features[i]; }
    }
    records->count = kept;
    if (kept == 0) { return error_set(error, TN_EINVAL, "no record has a feature"); }
    qsort(records->features, kept, sizeof records->features[0], by_name);
    source->columns = calloc(kept, sizeof *source->columns);
    if (source->columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t i = 0; i < kept; i++) { describe(&records->features[i], &source->columns[i]); }
    source->column_count = kept;
    source->count = records->offsets.count;
    return TN_OK;
}

static enum tn_status open_records(const struct source_input *input, struct source *source,
                                   struct error *error)
{
    assert(input->bytes != NULL && input->size > 0);
    struct records *records = calloc(1, sizeof *records);
    char *path = strdup(input->path);
    if (records == NULL || path == NULL) {
        free(records);
        free(path);
        return error_set(error, TN_ENOMEM, "%s: out of memory", input->path);
    }
    *records = (struct records){.path = path, .bytes = input->bytes, .size = input->size};
    source->state = records;
    enum tn_status status = read_options(input->options, &records->options, error);
    if (status == TN_OK) { status = learn_all(records, error); }
    if (status == TN_OK) { status = check_options(records, error); }
    if (status == TN_OK) { status = make_columns(records, source, error); }
    if (status == TN_OK) { return TN_OK; }
    close_records(source);
    return formats_wrong_file(status, input->path, error);
}

/* The value of a feature; its kind and count were checked. */
static enum tn_status read_cell(const struct feature *feature, const struct example_feature *seen,
                                struct source_row *row, struct source_cell *cell,
                                struct error *error)
{
    cell->missing = false;
    cell->size = (size_t)seen->count;
    if (seen->kind == EXAMPLE_BYTES) {
        struct wire bytes = example_bytes(seen);
        cell->bytes = bytes.at;
        cell->size = wire_size(&bytes);
        if (feature->image) {
            enum tn_status status =
                picture_read(&feature->picture, bytes.at, cell->size, row, cell, error);
            return in_feature(status, feature, error);
        }
        if (feature->text || cell->size == feature->size) { return TN_OK; }
        return error_set(error, TN_EINVAL, "the file changed while it was read");
    }
    if (seen->count == 1) {
        cell->number = example_number(seen);
        cell->missing = isnan(cell->number);
        return TN_OK;
    }
    float *floats = source_row_take(row, cell->size * sizeof *floats);
    if (floats == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    example_floats(seen, floats);
    cell->floats = floats;
    return TN_OK;
}

static enum tn_status read_features(const struct records *records, const struct tfrecord *record,
                                    struct source_row *row, struct error *error)
{
    struct example_cursor cursor = EXAMPLE_CURSOR(record->bytes, record->size);
    struct example_feature seen;
    uint32_t guess = 0;
    while (example_next(&cursor, &seen) == EXAMPLE_FEATURE) {
        const uint32_t place = find_feature(records, &seen, guess);
        if (place == records->count || seen.count == 0) { continue; }
        const struct feature *feature = &records->features[place];
        guess = place + 1;
        if (seen.kind != feature->kind || seen.count != feature->count) {
            return error_set(error, TN_EINVAL, "the file changed while it was read");
        }
        enum tn_status status = read_cell(feature, &seen, row, &row->cells[place], error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct records *records = source->state;
    struct tfrecord record;
    for (uint32_t c = 0; c < records->count; c++) { row->cells[c].missing = true; }
    enum tn_status status = tfrecord_read(records->bytes, records->size,
                                          (size_t)records->offsets.at[i], &record, error);
    if (status == TN_OK) { status = read_features(records, &record, row, error); }
    return formats_wrong_file(in_record(status, i, error), records->path, error);
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct records *records = source->state;
    snprintf(place, SOURCE_PLACE_MAX, "%s: record %" PRIu64 " (byte %" PRIu64 "): feature '%s'",
             records->path, i, records->offsets.at[i], source->columns[column].name);
}

const struct source_type tfrecord_type = {
    .name = "tfrecord",
    .contents = "TFRecord files of tf.train.Example",
    .version = 2,
    .open = open_records,
    .read = read_row,
    .locate = locate,
    .close = close_records,
};
