/* A tar shard of WebDataset as a source. Members that follow each other and whose names are equal
 * up to the first point are an example: "a/17.jpg", "a/17.cls". The rest of the name is the column,
 * and its last part decides how the value is read. Opening reads the archive. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "data/formats/formats.h"
#include "data/formats/npy.h"
#include "data/formats/picture.h"
#include "data/formats/tar.h"
#include "data/source/offsets.h"

enum { MEMBERS_MAX = 256 };

enum contents { CONTENTS_OTHER, CONTENTS_NUMBER, CONTENTS_TEXT, CONTENTS_IMAGE, CONTENTS_ARRAY };

static const struct {
    const char *ending;
    enum contents contents;
} endings[] = {
    {"jpg", CONTENTS_IMAGE},       {"jpeg", CONTENTS_IMAGE},   {"png", CONTENTS_IMAGE},
    {"cls", CONTENTS_NUMBER},      {"cls2", CONTENTS_NUMBER},  {"class", CONTENTS_NUMBER},
    {"count", CONTENTS_NUMBER},    {"index", CONTENTS_NUMBER}, {"inx", CONTENTS_NUMBER},
    {"id", CONTENTS_NUMBER},       {"txt", CONTENTS_TEXT},     {"text", CONTENTS_TEXT},
    {"transcript", CONTENTS_TEXT}, {"json", CONTENTS_TEXT},    {"npy", CONTENTS_ARRAY},
};

struct field {
    char name[SOURCE_NAME_MAX];
    enum contents contents;
    struct picture picture;
    struct npy array; /* The first one. */
};

struct shard {
    char *path;
    const uint8_t *bytes;
    size_t size;
    struct offsets samples; /* The first header of each. */
    uint32_t count;
    struct field *fields;
};

/* A member's name in its parts. */
struct parts {
    const char *key, *column; /* `key` is not terminated. */
    size_t key_size;
    enum contents contents;
};

static void close_shard(struct source *source)
{
    struct shard *shard = source->state;
    if (shard == NULL) { return; }
    offsets_free(&shard->samples);
    free(shard->fields);
    free(shard->path);
    free(shard);
    source->state = NULL;
}

/* Divide a name; endings are in lower case from here on. False: the member belongs to no
 * example. */
static bool divide(struct tar_member *member, struct parts *out)
{
    char *slash = strrchr(member->name, '/');
    char *file = slash != NULL ? slash + 1 : member->name;
    char *point = strchr(file, '.');
    if (!member->is_file || point == NULL || point == file) { return false; }
    for (char *c = point; *c != '\0'; c++) {
        if (*c >= 'A' && *c <= 'Z') { *c = (char)(*c - 'A' + 'a'); }
    }
    *out = (struct parts){
        .key = member->name, .key_size = (size_t)(point - member->name), .column = point + 1};
    const char *ending = strrchr(point, '.') + 1;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(endings[i].ending, ending) == 0) { out->contents = endings[i].contents; }
    }
    return true;
}

/* The column's number; `count`: there is none of this name. */
static uint32_t find_field(const struct shard *shard, const char *name)
{
    uint32_t place = 0;
    while (place < shard->count && strcmp(shard->fields[place].name, name) != 0) { place++; }
    return place;
}

/* ---------------------------------------------------------------- values */

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* A whole number with spaces around it. */
static bool parse_whole(const uint8_t *bytes, size_t size, double *out)
{
    while (size > 0 && is_space(bytes[0])) { bytes++, size--; }
    while (size > 0 && is_space(bytes[size - 1])) { size--; }
    const bool negative = size > 0 && bytes[0] == '-';
    if (negative) { bytes++, size--; }
    if (size == 0 || size > 15) { return false; }
    int64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < '0' || bytes[i] > '9') { return false; }
        value = 10 * value + (bytes[i] - '0');
    }
    *out = (double)(negative ? -value : value);
    return true;
}

static enum tn_status read_number(const struct tar_member *member, double *out, struct error *error)
{
    if (parse_whole(member->bytes, member->size, out)) { return TN_OK; }
    return error_set(error, TN_EINVAL, "not a whole number of up to 15 digits");
}

static enum tn_status check_text(const struct tar_member *member, struct error *error)
{
    const size_t valid = utf8_valid_bytes((const char *)member->bytes, member->size);
    if (valid == member->size) { return TN_OK; }
    return error_set(error, TN_EINVAL, "byte %zu is not valid UTF-8", valid);
}

/* An array is one value of the column: all of its dimensions are the value's. */
static enum tn_status read_array(const struct field *field, const struct tar_member *member,
                                 struct npy *out, struct error *error)
{
    enum tn_status status = npy_parse(member->bytes, member->size, out, error);
    if (status != TN_OK) { return status; }
    const struct npy *first = field->array.items != NULL ? &field->array : out;
    if (out->rank > SOURCE_RANK_MAX || out->rows * out->columns > UINT32_MAX) {
        return error_set(error, TN_EINVAL, "the array has over %d dimensions, or is too large",
                         SOURCE_RANK_MAX);
    }
    if (out->rank == first->rank &&
        memcmp(out->dimensions, first->dimensions, sizeof out->dimensions) == 0) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL, "the array has another shape than the first one");
}

/* --------------------------------------------------------------- opening */

static enum tn_status add_field(struct shard *shard, const struct parts *parts, struct error *error)
{
    if (strlen(parts->column) >= SOURCE_NAME_MAX || !utf8_is_valid(parts->column)) {
        return error_set(error, TN_EINVAL, "the ending has over %d bytes, or is not valid UTF-8",
                         SOURCE_NAME_MAX - 1);
    }
    if (shard->count == MEMBERS_MAX) {
        return error_set(error, TN_EINVAL, "over %d endings of names are not read", MEMBERS_MAX);
    }
    struct field *field = &shard->fields[shard->count++];
    *field = (struct field){.contents = parts->contents};
    text_set(field->name, sizeof field->name, parts->column);
    return TN_OK;
}

/* Check a value; the first one of a column decides its shape. */
static enum tn_status learn(struct field *field, const struct tar_member *member,
                            const struct picture_options *options, struct error *error)
{
    double number;
    struct npy array;
    enum tn_status status = TN_OK;
    switch (field->contents) {
    case CONTENTS_NUMBER: return read_number(member, &number, error);
    case CONTENTS_TEXT: return check_text(member, error);
    case CONTENTS_ARRAY:
        status = read_array(field, member, &array, error);
        if (status == TN_OK && field->array.items == NULL) { field->array = array; }
        return status;
    case CONTENTS_IMAGE:
        if (field->picture.shape.channels > 0) {
            return picture_check(&field->picture, member->bytes, member->size, error);
        }
        return picture_begin(options, member->bytes, member->size, &field->picture, error);
    case CONTENTS_OTHER: break;
    }
    return TN_OK;
}

/* The example that members are added to. */
struct sample {
    char key[TAR_NAME_MAX];
    bool seen[MEMBERS_MAX];
};

static enum tn_status learn_member(struct shard *shard, const struct picture_options *options,
                                   size_t at, struct tar_member *member, struct sample *sample,
                                   struct error *error)
{
    struct parts parts;
    if (!divide(member, &parts) || parts.contents == CONTENTS_OTHER) { return TN_OK; }
    enum tn_status status = TN_OK;
    if (shard->samples.count == 0 || strlen(sample->key) != parts.key_size ||
        memcmp(sample->key, parts.key, parts.key_size) != 0) {
        *sample = (struct sample){.key = ""};
        memcpy(sample->key, parts.key, parts.key_size);
        status = offsets_add(&shard->samples, at, error);
    }
    const uint32_t place = find_field(shard, parts.column);
    if (status == TN_OK && place == shard->count) { status = add_field(shard, &parts, error); }
    if (status == TN_OK && sample->seen[place]) {
        status = error_set(error, TN_EINVAL, "the example has two members with this ending");
    }
    if (status == TN_OK) { status = learn(&shard->fields[place], member, options, error); }
    if (status == TN_OK) { sample->seen[place] = true; }
    return status;
}

static enum tn_status in_member(enum tn_status status, const char *name, struct error *error)
{
    if (status == TN_OK || error == NULL) { return status; }
    return error_context(error, "'%s'", name);
}

static enum tn_status learn_all(struct shard *shard, const struct picture_options *options,
                                struct error *error)
{
    struct tar_member member = {.next = 0};
    struct sample sample = {.key = ""};
    for (size_t at = 0;; at = member.next) {
        bool more;
        enum tn_status status = tar_next(shard->bytes, shard->size, at, &member, &more, error);
        if (status != TN_OK || !more) { return status; }
        status = learn_member(shard, options, at, &member, &sample, error);
        if (status != TN_OK) { return in_member(status, member.name, error); }
    }
}

static void describe(const struct field *field, struct source_column *column)
{
    memcpy(column->name, field->name, sizeof column->name);
    switch (field->contents) {
    case CONTENTS_IMAGE: picture_describe(&field->picture, column); break;
    case CONTENTS_TEXT: column->kind = SOURCE_TEXT; break;
    case CONTENTS_ARRAY:
        column->kind = SOURCE_FLOATS;
        column->rank = field->array.rank;
        for (uint32_t d = 0; d < column->rank; d++) {
            column->shape[d] = (uint32_t)field->array.dimensions[d];
        }
        break;
    default: column->kind = SOURCE_NUMBER;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct field *)a)->name, ((const struct field *)b)->name);
}

static enum tn_status make_columns(struct shard *shard, struct source *source, struct error *error)
{
    if (shard->count == 0) {
        return error_set(error, TN_EINVAL,
                         "the archive has no examples: names end with .jpg, .png, .cls, .txt, "
                         ".json or .npy");
    }
    qsort(shard->fields, shard->count, sizeof shard->fields[0], by_name);
    source->columns = calloc(shard->count, sizeof *source->columns);
    if (source->columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t i = 0; i < shard->count; i++) {
        describe(&shard->fields[i], &source->columns[i]);
    }
    source->column_count = shard->count;
    source->count = shard->samples.count;
    return TN_OK;
}

static enum tn_status open_shard(const struct source_input *input, struct source *source,
                                 struct error *error)
{
    struct picture_options options;
    assert(input->bytes != NULL && input->size > 0);
    enum tn_status status = picture_read_options(input->options, &options, error);
    if (status != TN_OK) { return status; }
    struct shard *shard = calloc(1, sizeof *shard);
    source->state = shard;
    if (shard != NULL) {
        *shard = (struct shard){.bytes = input->bytes, .size = input->size};
        shard->path = strdup(input->path);
        shard->fields = calloc(MEMBERS_MAX, sizeof *shard->fields);
    }
    if (shard == NULL || shard->path == NULL || shard->fields == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory");
    }
    if (status == TN_OK) { status = learn_all(shard, &options, error); }
    if (status == TN_OK) { status = make_columns(shard, source, error); }
    if (status == TN_OK) { return TN_OK; }
    close_shard(source);
    return formats_wrong_file(status, input->path, error);
}

/* --------------------------------------------------------------- reading */

static enum tn_status read_cell(const struct field *field, const struct tar_member *member,
                                struct source_row *row, struct source_cell *cell,
                                struct error *error)
{
    struct npy array;
    enum tn_status status;
    cell->missing = false;
    cell->bytes = member->bytes;
    cell->size = member->size;
    switch (field->contents) {
    case CONTENTS_NUMBER: return read_number(member, &cell->number, error);
    case CONTENTS_IMAGE:
        return picture_read(&field->picture, member->bytes, member->size, row, cell, error);
    case CONTENTS_ARRAY: break;
    default: return TN_OK;
    }
    status = read_array(field, member, &array, error);
    if (status != TN_OK) { return status; }
    cell->size = (size_t)(array.rows * array.columns);
    float *floats = source_row_take(row, cell->size * sizeof *floats);
    if (floats == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint64_t i = 0; i < array.rows; i++) { npy_row(&array, i, floats + i * array.columns); }
    cell->floats = floats;
    return TN_OK;
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct shard *shard = source->state;
    const size_t end =
        i + 1 < shard->samples.count ? (size_t)shard->samples.at[i + 1] : shard->size;
    for (uint32_t c = 0; c < shard->count; c++) { row->cells[c].missing = true; }
    struct tar_member member = {.next = 0};
    enum tn_status status = TN_OK;
    for (size_t at = (size_t)shard->samples.at[i]; at < end && status == TN_OK; at = member.next) {
        bool more;
        struct parts parts;
        status = tar_next(shard->bytes, shard->size, at, &member, &more, error);
        if (status != TN_OK || !more) { break; }
        if (!divide(&member, &parts) || parts.contents == CONTENTS_OTHER) { continue; }
        const uint32_t place = find_field(shard, parts.column);
        if (place == shard->count) { continue; }
        status = read_cell(&shard->fields[place], &member, row, &row->cells[place], error);
        status = in_member(status, member.name, error);
    }
    return formats_wrong_file(status, shard->path, error);
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct shard *shard = source->state;
    snprintf(place, SOURCE_PLACE_MAX, "%s: example %" PRIu64 " (byte %" PRIu64 "): '%s'",
             shard->path, i, shard->samples.at[i], source->columns[column].name);
}

const struct source_type tar_type = {
    .name = "tar",
    .contents = "tar shards of WebDataset: 17.jpg and 17.cls are an example",
    .version = 1,
    .open = open_shard,
    .read = read_row,
    .locate = locate,
    .close = close_shard,
};
