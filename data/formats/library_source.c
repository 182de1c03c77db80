/* The format library: rows by the code of a shared library (tanist/source.h). Its values are
 * checked like those of files. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/shared_library.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "data/formats/formats.h"
#include "tanist/source.h"

enum { PATH_MAX_BYTES = 1024, SYMBOL_MAX = 64 };

struct library_options {
    char library[PATH_MAX_BYTES], symbol[SYMBOL_MAX];
};

struct library_state {
    const struct tn_source *type;
    struct tn_source_table table;
    char *path;
};

/* The row that a library fills, and the one behind it. */
struct library_row {
    struct tn_row row;
    struct source_row *out;
};

#define AT(member) JSON_MEMBER(struct library_options, member)

static const struct json_field option_fields[] = {
    {.name = "library", .type = FIELD_TEXT, AT(library)},
    {.name = "symbol", .type = FIELD_TEXT, AT(symbol), .optional = true},
};

/* Other keys are the library's own. */
static const struct json_table option_table = {JSON_FIELDS(option_fields),
                                               .rules = JSON_ALL_REQUIRED, .status = TN_EINVAL};

/* ----------------------------------------------------------------- opening */

static enum tn_status check_source(const struct tn_source *type, const char *path,
                                   struct error *error)
{
    const uint32_t version = type->api_version;
    if (type->struct_size != sizeof *type || version >> 16 != TN_API_MAJOR ||
        (version & 0xffff) > TN_API_MINOR) {
        return error_set(error, TN_EINVAL,
                         "%s: the source was compiled with headers of another version: compile it "
                         "with those of this one",
                         path);
    }
    if (type->name != NULL && type->open != NULL && type->read != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s: the source has no name, open or read: set them", path);
}

static enum tn_status find_source(const char *options, const struct tn_source **out,
                                  struct error *error)
{
    const void *found = NULL;
    struct library_options given = {.symbol = "tanist_source"};
    enum tn_status status =
        formats_read_options(*options != '\0' ? options : "{}", &option_table, &given, error);
    if (status == TN_OK) {
        status = shared_library_find(given.library, "data.options.library", given.symbol,
                                     sizeof(struct tn_source), &found, error);
    }
    if (status != TN_OK) { return status; }
    if (found == NULL) {
        return error_set(error, TN_EINVAL,
                         "data.options.library: %s exports no source \"%s\": define it with "
                         "TN_SOURCE(), or give data.options.symbol",
                         given.library, given.symbol);
    }
    *out = found;
    return check_source(*out, given.library, error);
}

static bool is_shaped(const struct tn_column *column)
{
    return column->kind == TN_COLUMN_BYTES || column->kind == TN_COLUMN_FLOATS;
}

static bool fits(const struct tn_column *column)
{
    if (column->name == NULL || *column->name == '\0') { return false; }
    if (strlen(column->name) >= SOURCE_NAME_MAX || (unsigned)column->kind > TN_COLUMN_FLOATS) {
        return false;
    }
    if (!is_shaped(column)) { return column->rank == 0; }
    uint64_t elements = column->rank >= 1 && column->rank <= TN_COLUMN_RANK_MAX;
    for (uint32_t d = 0; elements > 0 && d < column->rank; d++) {
        elements = elements * column->shape[d] <= 1 << 24 ? elements * column->shape[d] : 0;
    }
    return elements > 0;
}

static enum tn_status take_columns(const struct tn_source_table *table, const char *path,
                                   struct source *source, struct error *error)
{
    static const enum source_kind kinds[] = {
        [TN_COLUMN_TEXT] = SOURCE_TEXT,
        [TN_COLUMN_NUMBER] = SOURCE_NUMBER,
        [TN_COLUMN_BYTES] = SOURCE_BYTES,
        [TN_COLUMN_FLOATS] = SOURCE_FLOATS,
    };
    const uint32_t count = table->column_count;
    if (table->rows < 1 || count < 1 || count > SOURCE_COLUMNS_MAX || table->columns == NULL) {
        return error_set(error, TN_EINVAL, "%s: the library gives no rows, or no columns", path);
    }
    source->columns = calloc(count, sizeof *source->columns);
    if (source->columns == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t c = 0; c < count; c++) {
        const struct tn_column *column = &table->columns[c];
        if (!fits(column)) {
            return error_set(error, TN_EINVAL,
                             "%s: column %" PRIu32 " of the library has a name of 1 to 63 bytes, "
                             "or a kind and a shape that do not fit: correct it",
                             path, c + 1);
        }
        text_set(source->columns[c].name, SOURCE_NAME_MAX, column->name);
        source->columns[c].kind = kinds[column->kind];
        source->columns[c].rank = column->rank;
        memcpy(source->columns[c].shape, column->shape, sizeof column->shape);
    }
    source->count = table->rows;
    source->column_count = count;
    return TN_OK;
}

static void close_state(struct library_state *state, bool opened)
{
    if (opened && state->type->close != NULL) { state->type->close(&state->table); }
    free(state->path);
    free(state);
}

static enum tn_status open_table(const struct source_input *input, struct library_state *state,
                                 struct error *error)
{
    struct tn_error cause = {.text = ""};
    const struct tn_file file = {input->path, input->bytes, input->size, input->options};
    const enum tn_status status = state->type->open(&file, &state->table, &cause);
    cause.text[sizeof cause.text - 1] = '\0';
    if (status == TN_OK) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s: source '%s': %s", input->path, state->type->name,
                     cause.text);
}

static enum tn_status open_library(const struct source_input *input, struct source *source,
                                   struct error *error)
{
    struct library_state *state = calloc(1, sizeof *state);
    if (state == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    state->path = strdup(input->path);
    enum tn_status status = state->path != NULL ? find_source(input->options, &state->type, error)
                                                : error_set(error, TN_ENOMEM, "out of memory");
    if (status == TN_OK) { status = open_table(input, state, error); }
    const bool opened = status == TN_OK;
    if (opened) { status = take_columns(&state->table, input->path, source, error); }
    if (status == TN_OK) {
        const uint32_t version = state->type->version;
        source->digest = digest_of(&version, sizeof version);
        source->state = state;
        return TN_OK;
    }
    free(source->columns);
    source->columns = NULL;
    close_state(state, opened);
    return status;
}

/* ----------------------------------------------------------------- reading */

static void *take(struct tn_row *row, size_t size)
{
    return source_row_take(((struct library_row *)row)->out, size);
}

/* The reason why a cell is not valid; NULL: it is. */
static const char *problem_of(const struct source_column *column, const struct tn_cell *cell)
{
    if (column->kind == SOURCE_NUMBER) {
        return isfinite(cell->number) ? NULL : "is not a finite number";
    }
    if (cell->data == NULL && cell->size > 0) { return "has no data"; }
    if (column->kind != SOURCE_TEXT) {
        return cell->size == source_elements(column) ? NULL : "has another size than the column";
    }
    return utf8_valid_bytes(cell->data, cell->size) == cell->size ? NULL : "is not valid UTF-8";
}

static enum tn_status take_cells(const struct source *source, uint64_t i,
                                 const struct tn_cell *cells, struct source_row *row,
                                 struct error *error)
{
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct source_column *column = &source->columns[c];
        const struct tn_cell *cell = &cells[c];
        const char *problem = cell->missing ? NULL : problem_of(column, cell);
        if (problem != NULL) {
            char place[SOURCE_PLACE_MAX];
            source_locate(source, i, c, place);
            return error_set(error, TN_EINVAL, "%s: the value %s", place, problem);
        }
        row->cells[c] = (struct source_cell){
            .missing = cell->missing,
            .number = cell->number,
            .bytes = column->kind == SOURCE_FLOATS ? NULL : cell->data,
            .floats = column->kind == SOURCE_FLOATS ? cell->data : NULL,
            .size = cell->size,
        };
    }
    return TN_OK;
}

static enum tn_status read_library(const struct source *source, uint64_t i, struct source_row *row,
                                   struct error *error)
{
    const struct library_state *state = source->state;
    struct tn_error cause = {.text = ""};
    struct library_row given = {.row = {.take = take}, .out = row};
    const size_t size = source->column_count * sizeof *given.row.cells;
    given.row.cells = source_row_take(row, size);
    if (given.row.cells == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a row"); }
    memset(given.row.cells, 0, size);
    if (state->type->read(&state->table, i, &given.row, &cause) == TN_OK) {
        return take_cells(source, i, given.row.cells, row, error);
    }
    cause.text[sizeof cause.text - 1] = '\0';
    return error_set(error, TN_EINVAL, "%s: source '%s': row %" PRIu64 ": %s", state->path,
                     state->type->name, i, cause.text);
}

static void locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    const struct library_state *state = source->state;
    (void)snprintf(place, SOURCE_PLACE_MAX, "%.300s: source '%.32s': row %" PRIu64 ": '%s'",
                   state->path, state->type->name, i, source->columns[column].name);
}

static void close_library(struct source *source)
{
    close_state(source->state, true);
}

const struct source_type library_type = {
    .name = "library",
    .contents = "files that the code of a shared library reads",
    .version = 1,
    .open = open_library,
    .read = read_library,
    .locate = locate,
    .close = close_library,
};
