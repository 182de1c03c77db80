/* The formats csv and tsv: a text file whose first record has the names of the columns. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/base/utf8.h"
#include "data/formats/csv.h"
#include "data/formats/formats.h"
#include "data/source/offsets.h"

struct csv_state {
    char *path;
    struct csv_text text;
    struct offsets rows;
};

static uint64_t line_of(const struct csv_text *text, size_t at)
{
    uint64_t line = 1;
    const uint8_t *byte = text->bytes, *end = byte + at;
    while ((byte = memchr(byte, '\n', (size_t)(end - byte))) != NULL) {
        byte++;
        line++;
    }
    return line;
}

static enum tn_status refuse_at(const struct csv_state *state, size_t at, const char *problem,
                                struct error *error)
{
    return error_set(error, TN_EINVAL, "%s:%" PRIu64 ": %s", state->path, line_of(&state->text, at),
                     problem);
}

static enum tn_status check_utf8(const struct csv_state *state, struct error *error)
{
    const struct csv_text *text = &state->text;
    const size_t valid = utf8_valid_bytes((const char *)text->bytes, text->size);
    if (valid == text->size) { return TN_OK; }
    char problem[96];
    snprintf(problem, sizeof problem, "byte 0x%02x is not valid UTF-8: convert the file",
             text->bytes[valid]);
    return refuse_at(state, valid, problem, error);
}

/* ---------------------------------------------------------------- columns */

static uint64_t count_values(const struct csv_text *text, size_t at)
{
    uint64_t count = 0;
    for (;;) {
        const struct csv_value value = csv_value_at(text, at);
        count++;
        if (value.last) { return count; }
        at = value.next;
    }
}

static enum tn_status set_name(const struct csv_state *state, const struct csv_value *value,
                               uint32_t number, struct source_column *column, struct error *error)
{
    if (value->problem != NULL) { return refuse_at(state, 0, value->problem, error); }
    if (value->size >= sizeof column->name) {
        return error_set(error, TN_EINVAL,
                         "%s:1: the name of column %" PRIu32 " has %zu bytes: give less than %zu",
                         state->path, number + 1, value->size, sizeof column->name);
    }
    const size_t size = csv_unquote(value, (uint8_t *)column->name);
    if (size == 0) { snprintf(column->name, sizeof column->name, "column%" PRIu32, number + 1); }
    column->kind = SOURCE_TEXT;
    return TN_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum tn_status check_names(const struct csv_state *state, const struct source *source,
                                  struct error *error)
{
    const char **names = calloc(source->column_count, sizeof *names);
    enum tn_status status = TN_OK;
    if (names == NULL) { return error_set(error, TN_ENOMEM, "out of memory for columns"); }
    for (uint32_t i = 0; i < source->column_count; i++) { names[i] = source->columns[i].name; }
    qsort(names, source->column_count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < source->column_count && status == TN_OK; i++) {
        if (strcmp(names[i - 1], names[i]) != 0) { continue; }
        status = error_set(error, TN_EINVAL,
                           "%s:1: two columns have the name '%s': the first line must have a name "
                           "for each column",
                           state->path, names[i]);
    }
    free(names);
    return status;
}

/* Read the first record. `*first`: the position behind it. */
static enum tn_status read_names(const struct csv_state *state, struct source *source,
                                 size_t *first, struct error *error)
{
    const struct csv_text *text = &state->text;
    const bool has_mark = text->size >= 3 && memcmp(text->bytes, "\xef\xbb\xbf", 3) == 0;
    size_t at = has_mark ? 3 : 0;
    const uint64_t count = count_values(text, at);
    if (count > SOURCE_COLUMNS_MAX) {
        return error_set(error, TN_EINVAL,
                         "%s:1: there are %" PRIu64 " columns: at most %d are read", state->path,
                         count, SOURCE_COLUMNS_MAX);
    }
    source->column_count = (uint32_t)count;
    source->columns = calloc(count, sizeof *source->columns);
    if (source->columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t i = 0; i < count; i++) {
        const struct csv_value value = csv_value_at(text, at);
        enum tn_status status = set_name(state, &value, i, &source->columns[i], error);
        if (status != TN_OK) { return status; }
        at = value.next;
    }
    *first = at;
    return check_names(state, source, error);
}

/* ------------------------------------------------------------------- rows */

/* Empty lines are skipped, unless an empty value is a row. */
static enum tn_status index_rows(struct csv_state *state, struct source *source, size_t at,
                                 struct error *error)
{
    const struct csv_text *text = &state->text;
    while (at < text->size) {
        const char *problem;
        const bool counts = source->column_count == 1 || !csv_is_blank(text, at);
        const size_t end = csv_record_end(text, at, &problem);
        if (problem != NULL) { return refuse_at(state, at, problem, error); }
        enum tn_status status = counts ? offsets_add(&state->rows, at, error) : TN_OK;
        if (status != TN_OK) { return status; }
        at = end;
    }
    source->count = state->rows.count;
    if (source->count > 0) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s has no rows behind the line of names", state->path);
}

static void close_state(struct csv_state *state)
{
    offsets_free(&state->rows);
    free(state->path);
    free(state);
}

static enum tn_status open_separated(const struct source_input *input, uint8_t separator,
                                     struct source *source, struct error *error)
{
    size_t first = 0;
    assert(input->bytes != NULL && input->size > 0);
    struct csv_state *state = calloc(1, sizeof *state);
    if (state == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    state->text = (struct csv_text){input->bytes, input->size, separator};
    state->path = strdup(input->path);
    enum tn_status status = state->path != NULL ? check_utf8(state, error)
                                                : error_set(error, TN_ENOMEM, "out of memory");
    if (status == TN_OK) { status = read_names(state, source, &first, error); }
    if (status == TN_OK) { status = index_rows(state, source, first, error); }
    if (status == TN_OK) {
        source->state = state;
        return TN_OK;
    }
    free(source->columns);
    source->columns = NULL;
    close_state(state);
    return status;
}

static enum tn_status open_csv(const struct source_input *input, struct source *source,
                               struct error *error)
{
    return open_separated(input, ',', source, error);
}

static enum tn_status open_tsv(const struct source_input *input, struct source *source,
                               struct error *error)
{
    return open_separated(input, '\t', source, error);
}

static enum tn_status refuse_count(const struct source *source, uint64_t i, size_t at,
                                   struct error *error)
{
    const struct csv_state *state = source->state;
    const uint64_t count = count_values(&state->text, at);
    return error_set(error, TN_EINVAL,
                     "%s:%" PRIu64 ": the row has %" PRIu64 " value%s, but there are %" PRIu32
                     " columns: quote values that contain separators",
                     state->path, line_of(&state->text, (size_t)state->rows.at[i]), count,
                     text_plural(count), source->column_count);
}

static enum tn_status set_cell(const struct csv_value *value, struct source_row *row,
                               struct source_cell *cell, struct error *error)
{
    *cell = (struct source_cell){
        .missing = value->size == 0 && !value->quoted,
        .bytes = value->bytes,
        .size = value->size,
    };
    if (!value->doubled) { return TN_OK; }
    uint8_t *copy = source_row_take(row, value->size);
    if (copy == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a row"); }
    cell->bytes = copy;
    cell->size = csv_unquote(value, copy);
    return TN_OK;
}

static enum tn_status read_row(const struct source *source, uint64_t i, struct source_row *row,
                               struct error *error)
{
    const struct csv_state *state = source->state;
    assert(i < state->rows.count);
    const size_t first = (size_t)state->rows.at[i];
    size_t at = first;
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct csv_value value = csv_value_at(&state->text, at);
        enum tn_status status = set_cell(&value, row, &row->cells[c], error);
        if (status != TN_OK) { return status; }
        if (value.last != (c + 1 == source->column_count)) {
            return refuse_count(source, i, first, error);
        }
        at = value.next;
    }
    return TN_OK;
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct csv_state *state = source->state;
    snprintf(place, SOURCE_PLACE_MAX, "%s:%" PRIu64 ": column %" PRIu32 " '%s'", state->path,
             line_of(&state->text, (size_t)state->rows.at[i]), column + 1,
             source->columns[column].name);
}

static void close_csv(struct source *source)
{
    close_state(source->state);
}

const struct source_type csv_type = {
    .name = "csv",
    .contents = "values separated by commas (RFC 4180); the first line has their names",
    .version = 1,
    .open = open_csv,
    .read = read_row,
    .locate = locate,
    .close = close_csv,
};

const struct source_type tsv_type = {
    .name = "tsv",
    .contents = "the same, separated by tabs",
    .version = 1,
    .open = open_tsv,
    .read = read_row,
    .locate = locate,
    .close = close_csv,
};
