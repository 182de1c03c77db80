/* A file in libsvm's format as a source: the columns `label` and `features`, which are dense.
 * Opening reads all lines. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/formats/formats.h"
#include "data/formats/libsvm.h"
#include "data/source/offsets.h"

enum { LABEL, FEATURES, COLUMNS };

struct svm {
    char *path;
    const uint8_t *bytes;
    size_t size;
    struct offsets rows;
    uint32_t base;  /* The first index: 1, or 0 by the option zero_based. */
    uint32_t width; /* Features. */
};

static void close_svm(struct source *source)
{
    struct svm *svm = source->state;
    if (svm == NULL) { return; }
    offsets_free(&svm->rows);
    free(svm->path);
    free(svm);
    source->state = NULL;
}

/* The size of the line at `at`, without its end. */
static size_t line_size(const struct svm *svm, size_t at)
{
    const uint8_t *end = memchr(svm->bytes + at, '\n', svm->size - at);
    return end != NULL ? (size_t)(end - svm->bytes) - at : svm->size - at;
}

static uint64_t line_number(const struct svm *svm, size_t at)
{
    uint64_t number = 1;
    const uint8_t *end = svm->bytes + at;
    for (const uint8_t *line = svm->bytes;
         (line = memchr(line, '\n', (size_t)(end - line))) != NULL; line++) {
        number++;
    }
    return number;
}

static enum tn_status check_index(const struct svm *svm, uint32_t index, uint32_t width,
                                  struct error *error)
{
    if (index < svm->base) {
        return error_set(error, TN_EINVAL,
                         "index 0: indices begin with 1, unless data.options has \"zero_based\": "
                         "true");
    }
    if (index - svm->base < width) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "index %" PRIu32 ", but data.options has \"features\": %" PRIu32, index,
                     width);
}

/* The number of features that a line needs is kept in `*needed`, if it is larger. */
static enum tn_status check_line(const struct svm *svm, struct libsvm_line *line, uint32_t *needed,
                                 struct error *error)
{
    double label;
    struct libsvm_pair pair;
    bool more = true;
    enum tn_status status = libsvm_label(line, &label, error);
    while (status == TN_OK) {
        status = libsvm_pair(line, &pair, &more, error);
        if (status != TN_OK || !more) { return status; }
        status = check_index(svm, pair.index, svm->width > 0 ? svm->width : UINT32_MAX, error);
        if (status == TN_OK && pair.index - svm->base >= *needed) {
            *needed = pair.index - svm->base + 1;
        }
    }
    return status;
}

static enum tn_status check_all(struct svm *svm, struct error *error)
{
    uint32_t needed = 1;
    size_t size;
    const bool has_mark = svm->size >= 3 && memcmp(svm->bytes, "\xef\xbb\xbf", 3) == 0;
    for (size_t at = has_mark ? 3 : 0; at < svm->size; at += size + 1) {
        struct libsvm_line line;
        size = line_size(svm, at);
        if (!libsvm_begin(svm->bytes + at, size, &line)) { continue; }
        enum tn_status status = check_line(svm, &line, &needed, error);
        if (status != TN_OK && error != NULL) {
            return error_context(error, "%s:%" PRIu64, svm->path, line_number(svm, at));
        }
        if (status == TN_OK) { status = offsets_add(&svm->rows, at, error); }
        if (status != TN_OK) { return status; }
    }
    if (svm->width == 0) { svm->width = needed; }
    if (svm->rows.count > 0) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s has no examples", svm->path);
}

static enum tn_status make_columns(const struct svm *svm, struct source *source,
                                   struct error *error)
{
    source->columns = calloc(COLUMNS, sizeof *source->columns);
    if (source->columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    source->columns[LABEL] = (struct source_column){.name = "label", .kind = SOURCE_NUMBER};
    source->columns[FEATURES] = (struct source_column){
        .name = "features", .kind = SOURCE_FLOATS, .rank = 1, .shape = {svm->width}};
    source->column_count = COLUMNS;
    source->count = svm->rows.count;
    return TN_OK;
}

struct options {
    bool zero_based;
    uint32_t features;
};

static enum tn_status read_options(struct svm *svm, const char *text, struct error *error)
{
    static const struct json_field fields[] = {
        {.name = "zero_based", .type = FIELD_BOOL, JSON_MEMBER(struct options, zero_based)},
        {.name = "features",
         .type = FIELD_UINT,
         JSON_MEMBER(struct options, features),
         .least = 1,
         .most = LIBSVM_INDEX_MAX},
    };
    static const struct json_table table = {JSON_FIELDS(fields), .rules = JSON_UNKNOWN_REFUSED,
                                            .status = TN_EINVAL};
    struct options options = {.features = 0};
    enum tn_status status = formats_read_options(text, &table, &options, error);
    svm->base = options.zero_based ? 0 : 1;
    svm->width = options.features;
    return status;
}

static enum tn_status open_svm(const struct source_input *input, struct source *source,
                               struct error *error)
{
    assert(input->bytes != NULL && input->size > 0);
    struct svm *svm = calloc(1, sizeof *svm);
    char *path = strdup(input->path);
    if (svm == NULL || path == NULL) {
        free(svm);
        free(path);
        return error_set(error, TN_ENOMEM, "%s: out of memory", input->path);
    }
    *svm = (struct svm){.path = path, .bytes = input->bytes, .size = input->size};
    source->state = svm;
    enum tn_status status = read_options(svm, input->options, error);
    if (status == TN_OK) { status = check_all(svm, error); }
    if (status == TN_OK) { status = make_columns(svm, source, error); }
    if (status != TN_OK) { close_svm(source); }
    return status;
}

static enum tn_status read_line(const struct svm *svm, struct libsvm_line *line,
                                struct source_row *row, float *features, struct error *error)
{
    struct libsvm_pair pair;
    bool more = true;
    enum tn_status status = libsvm_label(line, &row->cells[LABEL].number, error);
    while (status == TN_OK) {
        status = libsvm_pair(line, &pair, &more, error);
        if (status != TN_OK || !more) { return status; }
        status = check_index(svm, pair.index, svm->width, error);
        if (status == TN_OK) { features[pair.index - svm->base] = (float)pair.value; }
    }
    return status;
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct svm *svm = source->state;
    const size_t at = (size_t)svm->rows.at[i];
    struct libsvm_line line;
    float *features = source_row_take(row, svm->width * sizeof *features);
    if (features == NULL) { return error_set(error, TN_ENOMEM, "%s: out of memory", svm->path); }
    memset(features, 0, svm->width * sizeof *features);
    row->cells[FEATURES].floats = features;
    row->cells[FEATURES].size = svm->width;
    enum tn_status status = TN_EINVAL;
    if (libsvm_begin(svm->bytes + at, line_size(svm, at), &line)) {
        status = read_line(svm, &line, row, features, error);
    } else {
        status = error_set(error, TN_EINVAL, "the file changed while it was read");
    }
    if (status == TN_OK || error == NULL) { return status; }
    return error_context(error, "%s:%" PRIu64, svm->path, line_number(svm, at));
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct svm *svm = source->state;
    snprintf(place, SOURCE_PLACE_MAX, "%s:%" PRIu64 ": %s", svm->path,
             line_number(svm, (size_t)svm->rows.at[i]), source->columns[column].name);
}

const struct source_type libsvm_type = {
    .name = "libsvm",
    .contents = "lines \"LABEL INDEX:VALUE INDEX:VALUE ...\", as libsvm and scikit-learn write",
    .version = 1,
    .open = open_svm,
    .read = read_row,
    .locate = locate,
    .close = close_svm,
};
