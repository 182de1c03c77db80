#include "model/slice_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "graph/lookups.h"

/* The random stream that hashes keys. */
#define STREAM_KEYS UINT64_C(0x6b65797300000000)

struct slice_rows {
    const struct model *model;
    uint64_t positions;      /* The most that a table has. */
    uint64_t *keys, *unique; /* By position; ascending. */
    float *values, *asked;   /* Rows by position, and by unique key. */
    struct sparse_place *places, *spare;
};

uint64_t slice_rows_key(const struct row_table_shape *table, int64_t key)
{
    if (key == TN_KEY_NONE) { return SPARSE_KEY_NONE; }
    assert(key >= 0);
    return table->rows > 0 ? random_at(0, STREAM_KEYS, (uint64_t)key) % table->rows : (uint64_t)key;
}

/* ------------------------------------------------------------------- memory */

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
    rows->keys = calloc(rows->positions + 1, sizeof *rows->keys);
    rows->unique = calloc(rows->positions + 1, sizeof *rows->unique);
    rows->values = calloc(floats + 1, sizeof *rows->values);
    rows->asked = calloc(floats + 1, sizeof *rows->asked);
    rows->places = calloc(rows->positions + 1, sizeof *rows->places);
    rows->spare = calloc(rows->positions + 1, sizeof *rows->spare);
    if (rows->keys != NULL && rows->unique != NULL && rows->values != NULL && rows->asked != NULL &&
        rows->places != NULL && rows->spare != NULL) {
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
    free(rows->keys);
    free(rows->unique);
    free(rows->values);
    free(rows->asked);
    free(rows->places);
    free(rows->spare);
    free(rows);
}

/* ---------------------------------------------------------------- positions */

/* The lookups of one table in a program, one after another. */
struct positions {
    const struct tn_program *program;
    const struct row_table_shape *table;
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
    struct positions positions = {.program = program,
                                  .table = &rows->model->table.row_tables[table]};
    positions.lookups = program_lookups_of(program, positions.table->name, &positions.lookup_count);
    return positions;
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

static int64_t key_at(const struct lookup_view *lookup, uint64_t position)
{
    const uint64_t example = position / lookup->count, place = position % lookup->count;
    return lookup->keys[example * lookup->keys_each + lookup->first + place];
}

/* The keys of all positions of a table. Sets `*count`. */
static enum tn_status list_keys(struct slice_rows *rows, const struct tn_program *program,
                                uint32_t table, uint64_t *count, struct error *error)
{
    struct positions positions = begin(rows, program, table);
    while (next(&positions)) {
        assert(positions.first + positions.count <= rows->positions);
        for (uint64_t p = 0; p < positions.count; p++) {
            const int64_t key = key_at(&positions.lookup, p);
            if (key < TN_KEY_NONE) {
                return error_set(error, TN_EINVAL,
                                 "table '%s': a key is %" PRId64
                                 ": give numbers from 0 to 2^63-1, or TN_KEY_NONE",
                                 positions.table->name, key);
            }
            rows->keys[positions.first + p] = slice_rows_key(positions.table, key);
        }
    }
    *count = positions.first;
    return TN_OK;
}

/* ------------------------------------------------------------------- before */

/* Ask for each row once, and copy it to all positions of its key. */
static void spread(struct slice_rows *rows, uint32_t table, uint64_t count,
                   const struct row_source *source)
{
    const uint64_t width = rows->model->table.row_tables[table].width;
    uint64_t used = 0, unique = 0;
    for (uint64_t p = 0; p < count; p++) {
        if (rows->keys[p] == SPARSE_KEY_NONE) {
            memset(rows->values + p * width, 0, width * sizeof *rows->values);
            continue;
        }
        rows->places[used++] = (struct sparse_place){rows->keys[p], (uint32_t)p};
    }
    const struct sparse_place *sorted = sparse_sort(used, rows->places, rows->spare);
    for (uint64_t i = 0; i < used; i++) {
        if (i > 0 && sorted[i].key == sorted[i - 1].key) { continue; }
        rows->unique[unique++] = sorted[i].key;
    }
    if (unique > 0) { source->read(source->ctx, table, rows->unique, unique, rows->asked); }
    const float *row = rows->asked;
    for (uint64_t i = 0; i < used; i++) {
        if (i > 0 && sorted[i].key != sorted[i - 1].key) { row += width; }
        memcpy(rows->values + sorted[i].position * width, row, width * sizeof *row);
    }
}

enum tn_status slice_rows_fill(struct slice_rows *rows, struct tn_program *program,
                               const struct row_source *source, struct error *error)
{
    assert(program != NULL && source != NULL);
    for (uint32_t t = 0; t < rows->model->table.row_table_count; t++) {
        const uint64_t width = rows->model->table.row_tables[t].width;
        uint64_t count = 0;
        enum tn_status status = list_keys(rows, program, t, &count, error);
        if (status != TN_OK) { return status; }
        spread(rows, t, count, source);
        struct positions positions = begin(rows, program, t);
        while (next(&positions)) {
            memcpy(positions.lookup.rows, rows->values + positions.first * width,
                   positions.count * width * sizeof *rows->values);
        }
    }
    return TN_OK;
}

enum tn_status slice_rows_list(struct slice_rows *rows, const struct tn_program *program,
                               const struct row_sink *sink, struct error *error)
{
    enum tn_status status = TN_OK;
    assert(program != NULL && sink != NULL);
    for (uint32_t t = 0; t < rows->model->table.row_table_count && status == TN_OK; t++) {
        uint64_t count = 0;
        status = list_keys(rows, program, t, &count, error);
        if (status == TN_OK) { status = sink->add(sink->ctx, t, rows->keys, count, error); }
    }
    return status;
}

/* -------------------------------------------------------------------- after */

/* The gradients of all positions. Those of lookups that the loss does not depend on have no keys,
 * so that their rows are not trained. */
static void gather_gradients(struct slice_rows *rows, const struct tn_program *program,
                             uint32_t table)
{
    const uint64_t width = rows->model->table.row_tables[table].width;
    struct positions positions = begin(rows, program, table);
    while (next(&positions)) {
        const float *gradient = positions.lookup.gradient;
        if (gradient != NULL) {
            memcpy(rows->values + positions.first * width, gradient,
                   positions.count * width * sizeof *gradient);
            continue;
        }
        for (uint64_t p = 0; p < positions.count; p++) {
            rows->keys[positions.first + p] = SPARSE_KEY_NONE;
        }
    }
}

enum tn_status slice_rows_collect(struct slice_rows *rows, const struct tn_program *program,
                                  struct row_sums *out, struct error *error)
{
    assert(program != NULL && out->count == rows->model->table.row_table_count);
    for (uint32_t t = 0; t < out->count; t++) {
        struct row_sum *sum = &out->tables[t];
        uint64_t count = 0;
        enum tn_status status = list_keys(rows, program, t, &count, error);
        if (status == TN_OK) { status = row_sum_reserve(sum, count, error); }
        if (status != TN_OK) { return status; }
        gather_gradients(rows, program, t);
        sum->count = sparse_collect(rows->keys, rows->values, (uint32_t)count, sum->width,
                                    rows->places, rows->spare, sum->keys, sum->values);
    }
    return TN_OK;
}
