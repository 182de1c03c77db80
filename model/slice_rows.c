#include "model/slice_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/base/short_copy.h"
#include "graph/lookups.h"

/* The random stream that hashes keys. */
#define STREAM_KEYS UINT64_C(0x6b65797300000000)

/* A table in the program that was filled last. */
struct filled {
    const uint32_t *lookups; /* The lookups of the program; borrowed. */
    uint32_t lookup_count;
    uint64_t count; /* Positions that have a key. */
    struct sparse_place *sorted;
};

struct slice_rows {
    const struct model *model;
    const struct tn_program *program; /* The one filled last. */
    struct filled *tables;
    uint64_t positions;      /* The most that a table has. */
    uint64_t *keys, *unique; /* By position; ascending. */
    float *values, *asked;   /* Rows by position, and by unique key. */
    struct sparse_place *spare;
};

/* The row of a key: the key itself, or its hash. Keys are below 2^63 or TN_KEY_NONE, which
 * stays. */
static uint64_t row_of_key(const struct row_table_shape *table, int64_t key)
{
    if (key == TN_KEY_NONE) { return SPARSE_KEY_NONE; }
    assert(key >= 0);
    return table->rows > 0 ? random_at(0, STREAM_KEYS, (uint64_t)key) % table->rows : (uint64_t)key;
}

/* ------------------------------------------------------------------- memory */

/* `floats`: the most numbers that the rows of a table have. */
static bool reserve(struct slice_rows *rows, uint32_t examples, uint64_t floats)
{
    const struct variable_table *variables = &rows->model->table;
    bool reserved = true;
    rows->tables = calloc((size_t)variables->row_table_count + 1, sizeof *rows->tables);
    rows->keys = calloc(rows->positions + 1, sizeof *rows->keys);
    rows->unique = calloc(rows->positions + 1, sizeof *rows->unique);
    rows->values = calloc(floats + 1, sizeof *rows->values);
    rows->asked = calloc(floats + 1, sizeof *rows->asked);
    rows->spare = calloc(rows->positions + 1, sizeof *rows->spare);
    for (uint32_t t = 0; t < variables->row_table_count && rows->tables != NULL; t++) {
        struct filled *table = &rows->tables[t];
        table->sorted = calloc(examples * variables->row_tables[t].keys + 1, sizeof *table->sorted);
        reserved = reserved && table->sorted != NULL;
    }
    return reserved && rows->tables != NULL && rows->keys != NULL && rows->unique != NULL &&
           rows->values != NULL && rows->asked != NULL && rows->spare != NULL;
}

enum tn_status slice_rows_open(const struct model *model, uint32_t examples,
                               struct slice_rows **out, struct error *error)
{
    uint64_t floats = 0;
    assert(model != NULL && examples >= 1);
    *out = NULL;
    struct slice_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL) { return error_set(error, TN_ENOMEM, "out of memory for table rows"); }
    rows->model = model;
    for (uint32_t t = 0; t < model->table.row_table_count; t++) {
        const uint64_t positions = examples * model->table.row_tables[t].keys;
        rows->positions = u64_max(rows->positions, positions);
        floats = u64_max(floats, positions * model->table.row_tables[t].width);
    }
    if (reserve(rows, examples, floats)) {
        *out = rows;
        return TN_OK;
    }
    const uint64_t positions = rows->positions;
    slice_rows_close(rows);
    return error_set(error, TN_ENOMEM,
                     "out of memory for %" PRIu64 " table rows of %" PRIu32
                     " examples: use more slices or a smaller batch",
                     positions, examples);
}

void slice_rows_close(struct slice_rows *rows)
{
    if (rows == NULL) { return; }
    for (uint32_t t = 0; t < rows->model->table.row_table_count && rows->tables != NULL; t++) {
        free(rows->tables[t].sorted);
    }
    free(rows->tables);
    free(rows->keys);
    free(rows->unique);
    free(rows->values);
    free(rows->asked);
    free(rows->spare);
    free(rows);
}

uint64_t slice_rows_bytes(const struct variable_table *variables, uint32_t examples)
{
    uint64_t positions = 0, floats = 0, places = 0;
    for (uint32_t t = 0; t < variables->row_table_count; t++) {
        const uint64_t own = examples * variables->row_tables[t].keys;
        positions = u64_max(positions, own);
        floats = u64_max(floats, own * variables->row_tables[t].width);
        places += own;
    }
    return (places + positions) * sizeof(struct sparse_place) + 2 * positions * sizeof(uint64_t) +
           2 * floats * sizeof(float);
}

/* ---------------------------------------------------------------- positions */

/* The lookups of one table in a program, one after another. */
struct positions {
    const struct tn_program *program;
    const uint32_t *lookups; /* [lookup_count] */
    uint32_t lookup_count;
    uint32_t at;    /* The next lookup. */
    uint64_t first; /* Position of the present one. */
    uint64_t count; /* Its positions. */
    struct lookup_view lookup;
};

static struct positions begin(const struct slice_rows *rows, const struct tn_program *program,
                              uint32_t table)
{
    struct positions positions = {.program = program};
    const char *name = rows->model->table.row_tables[table].name;
    positions.lookups = program_lookups_of(program, name, &positions.lookup_count);
    return positions;
}

/* Begin with the program that was filled last, whose lookups were found then. */
static struct positions begin_filled(const struct slice_rows *rows, uint32_t table)
{
    const struct filled *filled = &rows->tables[table];
    return (struct positions){
        .program = rows->program,
        .lookups = filled->lookups,
        .lookup_count = filled->lookup_count,
    };
}

/* Go to the next lookup of the table. False: there is none. */
static bool next(struct positions *positions)
{
    positions->first += positions->count;
    positions->count = 0;
    while (positions->at < positions->lookup_count) {
        positions->lookup = program_lookup(positions->program, positions->lookups[positions->at++]);
        if (positions->lookup.rows == NULL) { continue; }
        positions->count = (uint64_t)positions->program->options.examples * positions->lookup.count;
        return true;
    }
    return false;
}

/* Whether one lookup has all positions. If so, it is the present one. */
static bool next_is_only(struct positions *positions)
{
    return positions->lookup_count == 1 && next(positions);
}

/* The keys of the present lookup. */
static enum tn_status put_keys(const struct positions *positions,
                               const struct row_table_shape *table, uint64_t *out,
                               struct error *error)
{
    const struct lookup_view *lookup = &positions->lookup;
    const int64_t *keys = lookup->keys + lookup->first;
    for (uint32_t e = 0; e < positions->program->options.examples; e++, keys += lookup->keys_each) {
        for (uint32_t k = 0; k < lookup->count; k++) {
            if (keys[k] < TN_KEY_NONE) {
                return error_set(error, TN_EINVAL,
                                 "table '%s': a key is %" PRId64
                                 ": give numbers from 0 to 2^63-1, or TN_KEY_NONE",
                                 table->name, keys[k]);
            }
            *out++ = row_of_key(table, keys[k]);
        }
    }
    return TN_OK;
}

/* The keys of all positions of a table, to `rows->keys`. Sets `*count`. */
static enum tn_status list_keys(struct slice_rows *rows, struct positions positions, uint32_t table,
                                uint64_t *count, struct error *error)
{
    enum tn_status status = TN_OK;
    while (status == TN_OK && next(&positions)) {
        assert(positions.first + positions.count <= rows->positions);
        status = put_keys(&positions, &rows->model->table.row_tables[table],
                          rows->keys + positions.first, error);
    }
    *count = positions.first;
    return status;
}

/* ------------------------------------------------------------------- before */

/* Sort the places of `rows->keys`. Rows of positions without a key are zeros. */
static void sort_places(struct slice_rows *rows, uint32_t t, uint64_t count, float *values)
{
    const uint64_t width = rows->model->table.row_tables[t].width;
    struct filled *table = &rows->tables[t];
    table->count = 0;
    for (uint64_t p = 0; p < count; p++) {
        if (rows->keys[p] == SPARSE_KEY_NONE) {
            memset(values + p * width, 0, width * sizeof *values);
            continue;
        }
        table->sorted[table->count++] = (struct sparse_place){rows->keys[p], (uint32_t)p};
    }
    const struct sparse_place *sorted = sparse_sort(table->count, table->sorted, rows->spare);
    if (sorted != table->sorted) { memcpy(table->sorted, sorted, table->count * sizeof *sorted); }
}

/* Ask for each row once, and copy it to all positions of its key. */
static void spread(struct slice_rows *rows, uint32_t t, const struct row_source *source,
                   float *values)
{
    const uint64_t width = rows->model->table.row_tables[t].width;
    const struct filled *table = &rows->tables[t];
    const struct sparse_place *sorted = table->sorted;
    uint64_t unique = 0;
    for (uint64_t i = 0; i < table->count; i++) {
        if (i > 0 && sorted[i].key == sorted[i - 1].key) { continue; }
        rows->unique[unique++] = sorted[i].key;
    }
    if (unique > 0) { source->read(source->ctx, t, rows->unique, unique, rows->asked); }
    const float *row = rows->asked;
    for (uint64_t i = 0; i < table->count; i++) {
        if (i > 0 && sorted[i].key != sorted[i - 1].key) { row += width; }
        short_copy(values + sorted[i].position * width, row, width * sizeof *row);
    }
}

static enum tn_status fill_table(struct slice_rows *rows, uint32_t t,
                                 const struct row_source *source, struct error *error)
{
    const uint64_t width = rows->model->table.row_tables[t].width;
    struct positions positions = begin(rows, rows->program, t);
    uint64_t count = 0;
    rows->tables[t].lookups = positions.lookups;
    rows->tables[t].lookup_count = positions.lookup_count;
    enum tn_status status = list_keys(rows, positions, t, &count, error);
    if (status != TN_OK) { return status; }
    const bool is_only = next_is_only(&positions);
    float *values = is_only ? positions.lookup.rows : rows->values;
    sort_places(rows, t, count, values);
    spread(rows, t, source, values);
    while (!is_only && next(&positions)) {
        memcpy(positions.lookup.rows, values + positions.first * width,
               positions.count * width * sizeof *values);
    }
    return TN_OK;
}

enum tn_status slice_rows_fill(struct slice_rows *rows, struct tn_program *program,
                               const struct row_source *source, struct error *error)
{
    enum tn_status status = TN_OK;
    assert(program != NULL && source != NULL);
    rows->program = program;
    for (uint32_t t = 0; t < rows->model->table.row_table_count && status == TN_OK; t++) {
        status = fill_table(rows, t, source, error);
    }
    return status;
}

enum tn_status slice_rows_list(struct slice_rows *rows, const struct tn_program *program,
                               const struct row_sink *sink, struct error *error)
{
    enum tn_status status = TN_OK;
    assert(program != NULL && sink != NULL);
    for (uint32_t t = 0; t < rows->model->table.row_table_count && status == TN_OK; t++) {
        uint64_t count = 0;
        status = list_keys(rows, begin(rows, program, t), t, &count, error);
        if (status == TN_OK) { status = sink->add(sink->ctx, t, rows->keys, count, error); }
    }
    return status;
}

/* -------------------------------------------------------------------- after */

static void leave_out(struct filled *table, uint64_t first, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < table->count; i++) {
        const uint64_t position = table->sorted[i].position;
        if (position < first || position >= first + count) {
            table->sorted[kept++] = table->sorted[i];
        }
    }
    table->count = kept;
}

/* The gradients of all positions. Those of lookups that the loss does not depend on are left out,
 * so that their rows are not trained. */
static const float *gather_gradients(struct slice_rows *rows, uint32_t t)
{
    const uint64_t width = rows->model->table.row_tables[t].width;
    struct positions positions = begin_filled(rows, t);
    if (next_is_only(&positions) && positions.lookup.gradient != NULL) {
        return positions.lookup.gradient;
    }
    positions = begin_filled(rows, t);
    while (next(&positions)) {
        const float *gradient = positions.lookup.gradient;
        if (gradient == NULL) {
            leave_out(&rows->tables[t], positions.first, positions.count);
            continue;
        }
        memcpy(rows->values + positions.first * width, gradient,
               positions.count * width * sizeof *gradient);
    }
    return rows->values;
}

enum tn_status slice_rows_collect(struct slice_rows *rows, const struct tn_program *program,
                                  struct row_sums *out, struct error *error)
{
    assert(program != NULL && program == rows->program);
    assert(out->count == rows->model->table.row_table_count);
    for (uint32_t t = 0; t < out->count; t++) {
        const struct filled *table = &rows->tables[t];
        struct row_sum *sum = &out->tables[t];
        const float *gradients = gather_gradients(rows, t);
        enum tn_status status = row_sum_reserve(sum, table->count, error);
        if (status != TN_OK) { return status; }
        sum->count =
            sparse_sum(table->sorted, table->count, gradients, sum->width, sum->keys, sum->values);
    }
    return TN_OK;
}
