#include "data/columns/columns.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/text.h"
#include "data/columns/columns_private.h"

enum { COLUMNS_SHOWN = 12 }; /* In errors. */

/* Whether a feature is scaled, or replaces missing values, by statistics. */
static bool needs_moments(const struct feature *feature)
{
    return feature->scale != SCALE_NONE || feature->missing == MISSING_MEAN;
}

/* ------------------------------------------------------------------ opening */

static enum tn_status open_json(const json_t *features, const json_t *label, struct columns **out,
                                struct error *error)
{
    struct columns *columns = calloc(1, sizeof *columns);
    if (columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory for columns"); }
    enum tn_status status = TN_OK;
    if (json_object_size(features) > 0) { status = spec_read_features(features, columns, error); }
    if (status == TN_OK) { status = spec_read_label(label, columns, error); }
    if (status == TN_OK) {
        *out = columns;
    } else {
        columns_close(columns);
    }
    return status;
}

enum tn_status columns_open(const char *columns, const char *label, struct columns **out,
                            struct error *error)
{
    *out = NULL;
    json_t *features = *columns != '\0' ? json_loads(columns, 0, NULL) : NULL;
    json_t *names = *label != '\0' ? json_loads(label, JSON_DECODE_ANY, NULL) : NULL;
    enum tn_status status = TN_OK;
    if (*columns != '\0' && !json_is_object(features)) {
        status = error_set(error, TN_EINVAL, "data.columns is not a JSON object");
    }
    if (status == TN_OK) { status = open_json(features, names, out, error); }
    json_decref(features);
    json_decref(names);
    return status;
}

enum tn_status columns_read(const char *text, struct columns **out, struct error *error)
{
    *out = NULL;
    json_t *root = json_loads(text, 0, NULL);
    const json_t *features = json_object_get(root, "columns");
    enum tn_status status = TN_OK;
    if (json_object_size(features) == 0 ||
        json_integer_value(json_object_get(root, "version")) != 1) {
        status =
            error_set(error, TN_EINVAL, "the stored columns are damaged or of another version");
    }
    if (status == TN_OK) {
        status = open_json(features, json_object_get(root, "label"), out, error);
    }
    for (uint32_t i = 0; status == TN_OK && i < (*out)->count; i++) {
        const struct feature *feature = &(*out)->features[i];
        if (!needs_moments(feature) || feature->moments != NULL) { continue; }
        status = error_set(error, TN_EINVAL, "the stored columns lack the statistics of '%s'",
                           feature->name);
    }
    if (status == TN_OK) {
        (*out)->fitted = true;
    } else {
        columns_close(*out);
        *out = NULL;
    }
    json_decref(root);
    return status;
}

void columns_close(struct columns *columns)
{
    if (columns == NULL) { return; }
    for (uint32_t i = 0; i < columns->count; i++) {
        vocabulary_close(columns->features[i].vocabulary);
        free(columns->features[i].moments);
    }
    vocabulary_close(columns->classes);
    free(columns->features);
    free(columns->label_names);
    free(columns->label_columns);
    free(columns);
}

char *columns_write(const struct columns *columns)
{
    json_t *root = spec_build(columns);
    char *text = root != NULL ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    return text;
}

/* ------------------------------------------------------------------ binding */

static bool is_label(const struct columns *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->label_count; i++) {
        if (strcmp(columns->label_names[i], name) == 0) { return true; }
    }
    return false;
}

/* Each column of the source but the label's becomes a feature. */
static enum tn_status take_all(struct columns *columns, const struct source *source,
                               struct error *error)
{
    assert(columns->features == NULL);
    columns->features = calloc(source->column_count, sizeof *columns->features);
    if (columns->features == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct source_column *column = &source->columns[c];
        if (is_label(columns, column->name)) { continue; }
        struct feature *feature = &columns->features[columns->count++];
        text_set(feature->name, sizeof feature->name, column->name);
        text_set(feature->from, sizeof feature->from, column->name);
        feature->kind = column->kind == SOURCE_BYTES ? FEATURE_PIXELS : FEATURE_NUMBER;
    }
    return TN_OK;
}

/* The names of the first columns, and how many follow. */
static void list_columns(const struct source *source, char *out, size_t size)
{
    const uint32_t shown = u32_min(source->column_count, COLUMNS_SHOWN);
    assert(source->columns != NULL);
    struct text text = text_begin(out, size);
    for (uint32_t c = 0; c < shown; c++) {
        text_add(&text, c > 0 ? ", " : "");
        text_add(&text, source->columns[c].name);
    }
    if (shown == source->column_count) { return; }
    text_add(&text, " and ");
    text_add_number(&text, source->column_count - shown);
    text_add(&text, " more");
}

static enum tn_status find_column(const struct source *source, const char *key, const char *name,
                                  uint32_t *out, struct error *error)
{
    *out = source_find(source, name);
    if (*out < source->column_count) { return TN_OK; }
    char first[SOURCE_PLACE_MAX];
    source_locate(source, 0, 0, first);
    char *colon = strchr(first, ':');
    if (colon != NULL) { *colon = '\0'; }
    char names[COLUMNS_SHOWN * 64];
    list_columns(source, names, sizeof names);
    return error_set(error, TN_EINVAL, "%s: %s has no column '%s': its columns are %s", key, first,
                     name, names);
}

static uint32_t ids_of(const struct feature *feature)
{
    if (feature->kind == FEATURE_BUCKET) { return feature->edge_count + 1; }
    if (feature->hash > 0) { return feature->hash; }
    if (feature->vocabulary == NULL) { return 0; }
    return vocabulary_count(feature->vocabulary) + feature->unknown;
}

static enum tn_status bind_feature(struct columns *columns, struct feature *feature,
                                   const struct source *source, struct error *error)
{
    char key[SOURCE_NAME_MAX + 16];
    uint64_t width = 1;
    snprintf(key, sizeof key, "data.columns.%s", feature->name);
    const bool numbers = feature->kind == FEATURE_NUMBER || feature->kind == FEATURE_PIXELS;
    if (feature->kind != FEATURE_CROSS) {
        enum tn_status status = find_column(source, key, feature->from, &feature->column, error);
        if (status != TN_OK) { return status; }
        const struct source_column *column = &source->columns[feature->column];
        const bool single = column->kind == SOURCE_TEXT || column->kind == SOURCE_NUMBER;
        if (!numbers && !single) {
            return error_set(error, TN_EINVAL, "%s: the column holds many numbers: use \"number\"",
                             key);
        }
        if (feature->kind == FEATURE_PIXELS && column->kind != SOURCE_BYTES) {
            return error_set(error, TN_EINVAL, "%s: the column does not hold bytes: use \"number\"",
                             key);
        }
        width = source_elements(column);
        if (feature->kind == FEATURE_PIXELS) {
            status = pixels_bind(feature, column, &width, error);
            if (status != TN_OK) { return status; }
        }
    }
    if (feature->embed > 0 && !feature->table && ids_of(feature) > 1 << 24) {
        return error_set(error, TN_EINVAL,
                         "%s: an embedding has at most 2^24 rows: give \"table\": true, too", key);
    }
    if (!numbers) { width = feature->embed > 0 || feature->table ? 1 : ids_of(feature); }
    if (feature->moments != NULL && feature->width != width) {
        return error_set(error, TN_EINVAL, "%s: the column has %" PRIu64 " numbers, not %" PRIu32,
                         key, width, feature->width);
    }
    if (width > UINT32_MAX - columns->inputs || columns->inputs + width > 1 << 24) {
        return error_set(error, TN_EINVAL, "%s: there are over 2^24 inputs", key);
    }
    feature->at = columns->inputs;
    feature->width = (uint32_t)width;
    columns->inputs += (uint32_t)width;
    feature->key = columns->keys;
    columns->keys += feature->table;
    return TN_OK;
}

static enum tn_status bind_label(struct columns *columns, const struct source *source,
                                 struct error *error)
{
    columns->targets = 0;
    for (uint32_t i = 0; i < columns->label_count; i++) {
        uint32_t *column = &columns->label_columns[i];
        enum tn_status status =
            find_column(source, "data.label", columns->label_names[i], column, error);
        if (status != TN_OK) { return status; }
        columns->targets += (uint32_t)source_elements(&source->columns[*column]);
    }
    return TN_OK;
}

/* The columns whose texts are hashed, by slot. */
struct hashed_columns {
    uint32_t count, columns[HASH_SLOTS];
};

static void bind_hash(struct feature *feature, struct hashed_columns *hashed)
{
    uint32_t slot =
        feature->kind == FEATURE_CATEGORY && feature->vocabulary == NULL ? 0 : HASH_SLOTS;
    while (slot < hashed->count && hashed->columns[slot] != feature->column) { slot++; }
    feature->hash_slot = slot;
    if (slot != hashed->count || slot == HASH_SLOTS) { return; }
    hashed->columns[slot] = feature->column;
    hashed->count++;
}

enum tn_status columns_bind(struct columns *columns, const struct source *source, bool with_label,
                            struct error *error)
{
    enum tn_status status = columns->count == 0 ? take_all(columns, source, error) : TN_OK;
    columns->inputs = columns->keys = 0;
    struct hashed_columns hashed = {.count = 0};
    for (uint32_t i = 0; i < columns->count && status == TN_OK; i++) {
        status = bind_feature(columns, &columns->features[i], source, error);
        bind_hash(&columns->features[i], &hashed);
    }
    if (status == TN_OK && columns->inputs == 0) {
        status = error_set(error, TN_EINVAL, "data.columns: there are no features");
    }
    return status == TN_OK && with_label ? bind_label(columns, source, error) : status;
}

/* ------------------------------------------------------------------ fitting */

bool columns_need_rows(const struct columns *columns)
{
    if (columns->fitted) { return false; }
    for (uint32_t i = 0; i < columns->count; i++) {
        if (needs_moments(&columns->features[i])) { return true; }
    }
    return false;
}

/* Welford, "Note on a method for calculating corrected sums of squares", 1962. */
static void add_number(struct moments *moments, double number)
{
    const bool first = moments->count == 0;
    moments->count++;
    const double deviation = number - moments->mean;
    moments->mean += deviation / (double)moments->count;
    moments->squares += deviation * (number - moments->mean);
    if (first || number < moments->least) { moments->least = number; }
    if (first || number > moments->most) { moments->most = number; }
}

enum tn_status columns_add(struct columns *columns, const struct source *source, uint64_t i,
                           const struct source_row *row, struct error *error)
{
    assert(!columns->fitted);
    for (uint32_t f = 0; f < columns->count; f++) {
        struct feature *feature = &columns->features[f];
        if (!needs_moments(feature)) { continue; }
        if (feature->moments == NULL) {
            feature->moments = calloc(feature->width, sizeof *feature->moments);
            if (feature->moments == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
        }
        const struct source_cell *cell = &row->cells[feature->column];
        if (value_is_missing(source, feature->column, cell)) { continue; }
        for (uint32_t k = 0; k < feature->width; k++) {
            double number;
            enum tn_status status =
                value_number(source, i, feature->column, cell, k, &number, error);
            if (status != TN_OK) { return status; }
            add_number(&feature->moments[k], number);
        }
    }
    return TN_OK;
}

void columns_finish(struct columns *columns)
{
    for (uint32_t f = 0; f < columns->count; f++) {
        struct feature *feature = &columns->features[f];
        for (uint32_t k = 0; feature->moments != NULL && k < feature->width; k++) {
            struct moments *m = &feature->moments[k];
            m->deviation = m->count > 0 ? sqrt(m->squares / (double)m->count) : 0;
        }
    }
    columns->fitted = true;
}

uint32_t columns_inputs(const struct columns *columns)
{
    assert(columns->inputs > 0);
    return columns->inputs;
}

uint32_t columns_keys(const struct columns *columns)
{
    return columns->keys;
}

uint32_t columns_embedded(const struct columns *columns, struct columns_embedding *out,
                          uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < columns->count; f++) {
        const struct feature *feature = &columns->features[f];
        if (feature->embed == 0) { continue; }
        if (count < room) {
            out[count] = (struct columns_embedding){
                .feature = feature->name,
                .input = feature->at,
                .ids = ids_of(feature),
                .width = feature->embed,
                .table = feature->table,
                .key = feature->key,
            };
        }
        count++;
    }
    return count;
}

bool columns_have_label(const struct columns *columns)
{
    return columns->label_count > 0;
}

uint32_t columns_classes(const struct columns *columns)
{
    return columns->classes != NULL ? vocabulary_count(columns->classes) : 0;
}

const char *columns_class_name(const struct columns *columns, uint32_t number)
{
    assert(columns->classes != NULL);
    return vocabulary_text(columns->classes, number);
}

uint32_t columns_targets_count(const struct columns *columns)
{
    return columns->targets;
}
