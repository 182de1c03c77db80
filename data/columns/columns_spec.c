/* Columns from JSON and back. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/base/text.h"
#include "data/columns/columns_private.h"

static const char *const kinds[] = {"number", "pixels", "bucket", "category", "cross", NULL};
static const char *const scales[] = {"none", "standard", "minmax", NULL};

/* The keys of a column. */
struct spec {
    enum feature_kind as;
    char from[SOURCE_NAME_MAX];
    enum feature_scale scale;
    uint32_t edge_count;
    double edges[EDGES_MAX];
    uint32_t hash, unknown, embed;
    bool table;
    uint32_t part_count;
    char of[PARTS_MAX][SOURCE_NAME_MAX];
    struct pixel_spec pixels;
};

static const struct json_field edge = {.type = FIELD_REAL, .size = sizeof(double)};
static const struct json_field part = {.type = FIELD_TEXT, .size = SOURCE_NAME_MAX};

static const struct json_field side = {
    .type = FIELD_UINT, .size = sizeof(uint32_t), .least = 1, .most = IMAGE_SIDE_MAX};
static const struct json_field positive = {
    .type = FIELD_REAL, .size = sizeof(double), .least = 1e-6, .most = 1e6};

#define AT(member) JSON_MEMBER(struct spec, member)

static const struct json_field fields[] = {
    {.name = "as", .type = FIELD_ENUM, AT(as), .names = kinds},
    {.name = "from", .type = FIELD_TEXT, AT(from), .optional = true},
    {.name = "scale", .type = FIELD_ENUM, AT(scale), .names = scales, .optional = true},
    {
        .name = "edges",
        .type = FIELD_LIST,
        AT(edges),
        .length_offset = offsetof(struct spec, edge_count),
        .element = &edge,
        .optional = true,
    },
    {.name = "hash", .type = FIELD_UINT, AT(hash), .least = 1, .most = KEYS_MAX, .optional = true},
    {.name = "unknown", .type = FIELD_UINT, AT(unknown), .most = IDS_MAX, .optional = true},
    {.name = "embed", .type = FIELD_UINT, AT(embed), .least = 1, .most = 4096, .optional = true},
    {.name = "table", .type = FIELD_BOOL, AT(table), .optional = true},
    {
        .name = "of",
        .type = FIELD_LIST,
        AT(of),
        .least = 2,
        .most = PARTS_MAX,
        .length_offset = offsetof(struct spec, part_count),
        .element = &part,
        .optional = true,
    },
    {.name = "flip", .type = FIELD_BOOL, AT(pixels.flip), .optional = true},
    {.name = "margin",
     .type = FIELD_UINT,
     AT(pixels.margin),
     .most = IMAGE_SIDE_MAX,
     .optional = true},
    {
        .name = "crop",
        .type = FIELD_LIST,
        AT(pixels.crop),
        .least = 2,
        .length_offset = offsetof(struct spec, pixels.crop_count),
        .element = &side,
        .optional = true,
    },
    {
        .name = "mean",
        .type = FIELD_LIST,
        AT(pixels.mean),
        .least = 1,
        .length_offset = offsetof(struct spec, pixels.mean_count),
        .element = &edge,
        .optional = true,
    },
    {
        .name = "deviation",
        .type = FIELD_LIST,
        AT(pixels.deviation),
        .least = 1,
        .length_offset = offsetof(struct spec, pixels.deviation_count),
        .element = &positive,
        .optional = true,
    },
    {.name = "vocabulary", .type = FIELD_OTHER, .optional = true},
    {.name = "missing", .type = FIELD_OTHER, .optional = true},
    {.name = "moments", .type = FIELD_OTHER, .optional = true},
};

static const struct json_table table = {
    JSON_FIELDS(fields),
    .rules = JSON_UNKNOWN_REFUSED | JSON_ALL_REQUIRED,
    .status = TN_EINVAL,
};

static enum tn_status refuse(const char *where, struct error *error, const char *problem)
{
    return error_set(error, TN_EINVAL, "%s %s", where, problem);
}

/* ------------------------------------------------------------------ reading */

static enum tn_status read_missing(const json_t *value, const char *where, struct feature *feature,
                                   struct error *error)
{
    const bool category = feature->kind == FEATURE_CATEGORY;
    const char *text = json_string_value(value);
    if (value == NULL || (text != NULL && strcmp(text, "error") == 0)) { return TN_OK; }
    if (feature->kind == FEATURE_CROSS || feature->kind == FEATURE_PIXELS) {
        return refuse(where, error, "has \"missing\": give it in the columns that it is made of");
    }
    if (category && text != NULL && strlen(text) < sizeof feature->missing_text) {
        feature->missing = MISSING_TEXT;
        memcpy(feature->missing_text, text, strlen(text) + 1);
        return TN_OK;
    }
    if (!category && text != NULL && strcmp(text, "mean") == 0) {
        feature->missing = MISSING_MEAN;
        return TN_OK;
    }
    if (!category && json_is_number(value)) {
        feature->missing = MISSING_NUMBER;
        feature->missing_number = json_number_value(value);
        return TN_OK;
    }
    return refuse(where, error,
                  category ? "has a wrong \"missing\": give \"error\" or a text that stands for it"
                           : "has a wrong \"missing\": give \"error\", \"mean\" or a number");
}

static enum tn_status read_vocabulary(const json_t *value, const char *where,
                                      struct feature *feature, struct error *error)
{
    char place[JSON_WHERE_MAX + 16];
    if (value == NULL) { return TN_OK; }
    snprintf(place, sizeof place, "%s.vocabulary", where);
    return vocabulary_open(value, place, &feature->vocabulary, error);
}

static enum tn_status read_moments(const json_t *list, const char *where, struct feature *feature,
                                   struct error *error)
{
    if (list == NULL) { return TN_OK; }
    const size_t count = json_array_size(list);
    feature->moments = count > 0 ? calloc(count, sizeof *feature->moments) : NULL;
    if (feature->moments == NULL) { return refuse(where, error, "has moments without elements"); }
    for (size_t k = 0; k < count; k++) {
        const json_t *one = json_array_get(list, k);
        struct moments *moments = &feature->moments[k];
        moments->mean = json_number_value(json_array_get(one, 0));
        moments->deviation = json_number_value(json_array_get(one, 1));
        moments->least = json_number_value(json_array_get(one, 2));
        moments->most = json_number_value(json_array_get(one, 3));
        if (json_array_size(one) != 4) { return refuse(where, error, "has damaged moments"); }
    }
    feature->width = (uint32_t)count;
    return TN_OK;
}

/* A key that the column's kind ignores; NULL: there is none. */
static const char *stray_key(const struct feature *feature, const struct spec *spec)
{
    const bool category = feature->kind == FEATURE_CATEGORY, cross = feature->kind == FEATURE_CROSS;
    const bool has_ids = category || cross || feature->kind == FEATURE_BUCKET;
    if (spec->scale != SCALE_NONE && feature->kind != FEATURE_NUMBER) { return "scale"; }
    if (spec->edge_count > 0 && feature->kind != FEATURE_BUCKET) { return "edges"; }
    if (spec->hash > 0 && !category && !cross) { return "hash"; }
    if (spec->unknown > 0 && feature->vocabulary == NULL) { return "unknown"; }
    if (feature->vocabulary != NULL && !category) { return "vocabulary"; }
    if (spec->part_count > 0 && !cross) { return "of"; }
    if (spec->embed > 0 && !has_ids) { return "embed"; }
    if (spec->table && !has_ids) { return "table"; }
    if (feature->kind != FEATURE_PIXELS && pixels_are_changed(&spec->pixels)) {
        return "flip, margin, crop, mean or deviation";
    }
    return spec->from[0] != '\0' && cross ? "from" : NULL;
}

/* Whether rows without a value would be refused although "missing" names a text. */
static bool missing_is_unknown(const struct feature *feature)
{
    const char *text = feature->missing_text;
    return feature->missing == MISSING_TEXT && feature->vocabulary != NULL &&
           feature->unknown == 0 &&
           vocabulary_find(feature->vocabulary, text, strlen(text)) == VOCABULARY_NONE;
}

static enum tn_status check_feature(const struct feature *feature, const struct spec *spec,
                                    const char *where, struct error *error)
{
    const char *stray = stray_key(feature, spec);
    if (stray != NULL) {
        return error_set(error, TN_EINVAL,
                         "%s has \"%s\", which \"as\": \"%s\" does not use: "
                         "remove it",
                         where, stray, kinds[feature->kind]);
    }
    for (uint32_t i = 1; i < spec->edge_count; i++) {
        if (spec->edges[i - 1] >= spec->edges[i]) {
            return refuse(where, error, "has \"edges\" that are not ascending");
        }
    }
    if (feature->kind == FEATURE_BUCKET && spec->edge_count == 0) {
        return refuse(where, error, "needs \"edges\", a list of numbers");
    }
    if (feature->kind == FEATURE_CATEGORY && (feature->vocabulary == NULL) == (spec->hash == 0) &&
        (feature->vocabulary != NULL || !spec->table)) {
        return refuse(where, error, "needs either \"vocabulary\" or \"hash\"");
    }
    if (spec->hash > IDS_MAX && !spec->table) {
        return error_set(error, TN_EINVAL,
                         "%s.hash is %" PRIu32
                         ": give a whole number from 1 to %d, or \"table\": true, which permits %d",
                         where, spec->hash, IDS_MAX, KEYS_MAX);
    }
    if (missing_is_unknown(feature)) {
        return refuse(where, error,
                      "has a \"missing\" that is not in its vocabulary: add it, or give "
                      "\"unknown\": 1");
    }
    if (feature->kind == FEATURE_CROSS &&
        (spec->part_count == 0 || (spec->hash == 0 && !spec->table))) {
        return refuse(where, error, "needs \"of\", a list of columns, and \"hash\"");
    }
    return TN_OK;
}

static enum tn_status read_feature(const char *name, const json_t *value, struct feature *feature,
                                   struct spec *spec, struct error *error)
{
    char where[JSON_WHERE_MAX];
    snprintf(where, sizeof where, "data.columns.%s", name);
    if (strlen(name) >= sizeof feature->name || *name == '\0') {
        return refuse(where, error, "has a name that is empty or too long");
    }
    json_t *object = json_is_string(value) ? json_pack("{s:O}", "as", value)
                                           : json_incref((json_t *)(uintptr_t)value);
    *spec = (struct spec){0};
    enum tn_status status = json_codec_read(&table, object, where, spec, error);
    if (status == TN_OK) {
        text_set(feature->name, sizeof feature->name, name);
        text_set(feature->from, sizeof feature->from, spec->from[0] != '\0' ? spec->from : name);
        feature->kind = spec->as;
        feature->scale = spec->scale;
        feature->hash = spec->hash;
        feature->unknown = spec->unknown;
        feature->embed = spec->embed;
        feature->table = spec->table;
        feature->edge_count = spec->edge_count;
        feature->pixels = spec->pixels;
        memcpy(feature->edges, spec->edges, sizeof feature->edges);
        status = read_vocabulary(json_object_get(object, "vocabulary"), where, feature, error);
    }
    if (status == TN_OK) {
        status = read_missing(json_object_get(object, "missing"), where, feature, error);
    }
    if (status == TN_OK) {
        status = read_moments(json_object_get(object, "moments"), where, feature, error);
    }
    if (status == TN_OK) { status = check_feature(feature, spec, where, error); }
    json_decref(object);
    return status;
}

/* A cross is of categories and buckets, which need not come before it. */
static enum tn_status find_parts(struct columns *columns, struct feature *cross,
                                 const struct spec *spec, struct error *error)
{
    cross->part_count = spec->part_count;
    for (uint32_t p = 0; p < spec->part_count; p++) {
        uint32_t found = 0;
        while (found < columns->count && strcmp(columns->features[found].name, spec->of[p]) != 0) {
            found++;
        }
        const bool valid =
            found < columns->count && (columns->features[found].kind == FEATURE_CATEGORY ||
                                       columns->features[found].kind == FEATURE_BUCKET);
        if (!valid) {
            return error_set(error, TN_EINVAL,
                             "data.columns.%s: '%s' in \"of\" is not a column with \"as\": "
                             "\"category\" or \"bucket\"",
                             cross->name, spec->of[p]);
        }
        cross->parts[p] = found;
    }
    return TN_OK;
}

enum tn_status spec_read_features(const json_t *object, struct columns *columns,
                                  struct error *error)
{
    const char *name;
    json_t *value;
    uint32_t i = 0;
    const size_t count = json_object_size(object);
    assert(json_is_object(object));
    if (count > SOURCE_COLUMNS_MAX) { return refuse("data.columns", error, "has too many keys"); }
    columns->features = calloc(count + 1, sizeof *columns->features);
    struct spec *specs = calloc(count + 1, sizeof *specs);
    enum tn_status status = TN_OK;
    if (columns->features == NULL || specs == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory for columns");
    }
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (status != TN_OK) { break; }
        columns->count = i + 1; /* A feature that failed has to be freed, too. */
        status = read_feature(name, value, &columns->features[i], &specs[i], error);
        i++;
    }
    for (i = 0; i < columns->count && status == TN_OK; i++) {
        status = find_parts(columns, &columns->features[i], &specs[i], error);
    }
    free(specs);
    return status;
}

static enum tn_status read_label_names(const json_t *names, struct columns *columns,
                                       struct error *error)
{
    const size_t count = json_is_array(names) ? json_array_size(names) : 1;
    if (count == 0 || count > SOURCE_COLUMNS_MAX) {
        return refuse("data.label", error, "must name at least one column");
    }
    columns->label_names = calloc(count, sizeof *columns->label_names);
    columns->label_columns = calloc(count, sizeof *columns->label_columns);
    if (columns->label_names == NULL || columns->label_columns == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for columns");
    }
    for (size_t i = 0; i < count; i++) {
        const char *name =
            json_string_value(json_is_array(names) ? json_array_get(names, i) : names);
        if (name == NULL || *name == '\0' || strlen(name) >= SOURCE_NAME_MAX) {
            return refuse("data.label", error,
                          "must be a column's name, a list of them, or {\"column\": NAME, "
                          "\"vocabulary\": [...]}");
        }
        text_set(columns->label_names[i], SOURCE_NAME_MAX, name);
    }
    columns->label_count = (uint32_t)count;
    return TN_OK;
}

enum tn_status spec_read_label(const json_t *label, struct columns *columns, struct error *error)
{
    if (label == NULL) { return TN_OK; }
    if (!json_is_object(label)) { return read_label_names(label, columns, error); }
    const json_t *vocabulary = json_object_get(label, "vocabulary");
    if (json_object_size(label) != 1 + (size_t)(vocabulary != NULL)) {
        return refuse("data.label", error,
                      "must have the keys \"column\" and \"vocabulary\" alone");
    }
    enum tn_status status = read_label_names(json_object_get(label, "column"), columns, error);
    if (status != TN_OK || vocabulary == NULL) { return status; }
    if (columns->label_count != 1) {
        return refuse("data.label", error, "has a vocabulary, but more than one column");
    }
    return vocabulary_open(vocabulary, "data.label.vocabulary", &columns->classes, error);
}

/* ------------------------------------------------------------------ writing */

static json_t *build_moments(const struct feature *feature)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < feature->width; k++) {
        const struct moments *m = &feature->moments[k];
        json_array_append_new(list,
                              json_pack("[f,f,f,f]", m->mean, m->deviation, m->least, m->most));
    }
    return list;
}

static void set(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

static void build_missing(const struct feature *feature, json_t *object)
{
    switch (feature->missing) {
    case MISSING_ERROR: break;
    case MISSING_NUMBER: set(object, "missing", json_real(feature->missing_number)); break;
    case MISSING_MEAN: set(object, "missing", json_string("mean")); break;
    case MISSING_TEXT: set(object, "missing", json_string(feature->missing_text)); break;
    }
}

static json_t *build_feature(const struct columns *columns, const struct feature *feature)
{
    json_t *object = json_pack("{s:s}", "as", kinds[feature->kind]);
    if (feature->kind != FEATURE_CROSS) { set(object, "from", json_string(feature->from)); }
    if (feature->scale != SCALE_NONE) { set(object, "scale", json_string(scales[feature->scale])); }
    if (feature->edge_count > 0) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < feature->edge_count; i++) {
            json_array_append_new(list, json_real(feature->edges[i]));
        }
        set(object, "edges", list);
    }
    if (feature->vocabulary != NULL) {
        set(object, "vocabulary", vocabulary_build(feature->vocabulary));
    }
    if (feature->unknown > 0) { set(object, "unknown", json_integer(feature->unknown)); }
    if (feature->hash > 0) { set(object, "hash", json_integer(feature->hash)); }
    if (feature->embed > 0) { set(object, "embed", json_integer(feature->embed)); }
    if (feature->table) { set(object, "table", json_true()); }
    if (feature->part_count > 0) {
        json_t *list = json_array();
        for (uint32_t p = 0; p < feature->part_count; p++) {
            json_array_append_new(list, json_string(columns->features[feature->parts[p]].name));
        }
        set(object, "of", list);
    }
    build_missing(feature, object);
    pixels_build(&feature->pixels, object);
    if (feature->moments != NULL && columns->fitted) {
        set(object, "moments", build_moments(feature));
    }
    return object;
}

static json_t *build_label(const struct columns *columns)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < columns->label_count; i++) {
        json_array_append_new(names, json_string(columns->label_names[i]));
    }
    json_t *label = json_object();
    set(label, "column", names);
    if (columns->classes != NULL) { set(label, "vocabulary", vocabulary_build(columns->classes)); }
    return label;
}

json_t *spec_build(const struct columns *columns)
{
    json_t *root = json_pack("{s:i, s:I}", "version", 1, "inputs", (json_int_t)columns->inputs);
    json_t *object = json_object();
    for (uint32_t i = 0; i < columns->count && object != NULL; i++) {
        set(object, columns->features[i].name, build_feature(columns, &columns->features[i]));
    }
    if (json_object_size(object) != columns->count) {
        json_decref(object);
        json_decref(root);
        return NULL;
    }
    set(root, "columns", object);
    if (columns->label_count > 0) { set(root, "label", build_label(columns)); }
    return root;
}
