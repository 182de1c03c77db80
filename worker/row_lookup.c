#include "worker/row_lookup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/short_copy.h"
#include "common/cluster/row_body.h"
#include "common/cluster/row_owner.h"
#include "common/cluster/task.h"

enum { LEAST_ROOM = 256, SECTION_BYTES = 8 };

static_assert(PS_MAX <= UINT8_MAX, "the owner of a row is a byte");

/* The rows of one table. */
struct wanted {
    uint32_t width;
    uint64_t count, capacity;    /* Keys, ascending after row_lookup_settle(). */
    struct sparse_place *places; /* The keys; positions are not used. [capacity] */
    struct sparse_place *spare;  /* [capacity] */
    uint64_t *keys;              /* [count] of the settled lookup, ... */
    uint8_t *owners;             /* ... the ps that have their rows, ... */
    float *values;               /* ... and these. */
    uint64_t values_capacity;
};

/* A row of the lookup: the `index`-th of a table. */
struct cursor {
    uint32_t table;
    uint64_t index;
};

struct row_lookup {
    const struct variable_table *variables;
    uint32_t ps;
    size_t frame_bytes;
    struct row_sink sink;
    struct row_source source;
    struct cursor begin[PS_MAX], end[PS_MAX]; /* The piece that was asked for. */
    size_t asked_floats[PS_MAX];
    uint8_t owners[ROW_BUCKETS]; /* The ps of each bucket. */
    struct wanted tables[];
};

/* ---------------------------------------------------------------------------- adding */

static bool reserve(struct wanted *wanted, uint64_t least)
{
    if (least <= wanted->capacity) { return true; }
    const uint64_t larger = u64_max(least, u64_max(2 * wanted->capacity, LEAST_ROOM));
    struct sparse_place *places = realloc(wanted->places, larger * sizeof *places);
    if (places != NULL) { wanted->places = places; }
    struct sparse_place *spare = realloc(wanted->spare, larger * sizeof *spare);
    if (spare != NULL) { wanted->spare = spare; }
    if (places == NULL || spare == NULL) { return false; }
    wanted->capacity = larger;
    return true;
}

static enum tn_status no_memory(const struct row_lookup *lookup, uint32_t table, uint64_t rows,
                                struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for %" PRIu64 " rows of the table '%s'", rows,
                     lookup->variables->row_tables[table].name);
}

static enum tn_status add(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count,
                          struct error *error)
{
    struct row_lookup *lookup = ctx;
    assert(table < lookup->variables->row_table_count);
    struct wanted *wanted = &lookup->tables[table];
    if (!reserve(wanted, wanted->count + count)) {
        return no_memory(lookup, table, wanted->count + count, error);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (keys[i] == SPARSE_KEY_NONE) { continue; }
        wanted->places[wanted->count++] = (struct sparse_place){.key = keys[i]};
    }
    return TN_OK;
}

static bool reserve_rows(struct wanted *wanted, uint64_t rows)
{
    if (rows <= wanted->values_capacity) { return true; }
    free(wanted->keys);
    free(wanted->owners);
    free(wanted->values);
    wanted->values_capacity = 0;
    wanted->keys = malloc(rows * sizeof *wanted->keys);
    wanted->owners = malloc(rows * sizeof *wanted->owners);
    wanted->values = malloc(rows * wanted->width * sizeof *wanted->values);
    if (wanted->keys == NULL || wanted->owners == NULL || wanted->values == NULL) { return false; }
    wanted->values_capacity = rows;
    return true;
}

/* Sort the keys of a table, remove the repeated ones, find the ps of the others, and get memory for
 * the rows. */
static bool settle(struct row_lookup *lookup, uint32_t table)
{
    struct wanted *wanted = &lookup->tables[table];
    uint64_t unique = 0;
    struct sparse_place *sorted = sparse_sort(wanted->count, wanted->places, wanted->spare);
    for (uint64_t i = 0; i < wanted->count; i++) {
        if (unique > 0 && sorted[unique - 1].key == sorted[i].key) { continue; }
        sorted[unique++] = sorted[i];
    }
    if (!reserve_rows(wanted, unique)) { return false; }
    for (uint64_t i = 0; i < unique; i++) {
        wanted->keys[i] = sorted[i].key;
        wanted->owners[i] = lookup->owners[row_bucket(table, sorted[i].key)];
    }
    wanted->count = unique;
    return true;
}

void row_lookup_begin(struct row_lookup *lookup)
{
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        lookup->tables[t].count = 0;
    }
}

/* ---------------------------------------------------------------------------- pieces */

/* The first row of `ps` at the cursor or behind it. False: there is none. */
static bool find_next(const struct row_lookup *lookup, uint32_t ps, struct cursor *cursor)
{
    for (; cursor->table < lookup->variables->row_table_count; cursor->table++, cursor->index = 0) {
        const struct wanted *wanted = &lookup->tables[cursor->table];
        for (; cursor->index < wanted->count; cursor->index++) {
            if (wanted->owners[cursor->index] == ps) { return true; }
        }
    }
    return false;
}

enum tn_status row_lookup_settle(struct row_lookup *lookup, uint64_t *ps_set, struct error *error)
{
    *ps_set = 0;
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        if (!settle(lookup, t)) { return no_memory(lookup, t, lookup->tables[t].count, error); }
    }
    for (uint32_t p = 0; p < lookup->ps; p++) {
        lookup->begin[p] = (struct cursor){0};
        lookup->asked_floats[p] = 0;
        if (find_next(lookup, p, &lookup->begin[p])) { *ps_set |= UINT64_C(1) << p; }
    }
    return TN_OK;
}

size_t row_lookup_ask(struct row_lookup *lookup, uint32_t ps, void *data)
{
    struct row_body body = {.data = data, .room = lookup->frame_bytes};
    struct cursor cursor = lookup->begin[ps];
    size_t floats = 0;
    while (find_next(lookup, ps, &cursor)) {
        const struct wanted *wanted = &lookup->tables[cursor.table];
        const bool fits = (floats + wanted->width) * sizeof(float) <= lookup->frame_bytes;
        if (!fits || !row_body_add(&body, cursor.table, wanted->keys[cursor.index], NULL, 0)) {
            break;
        }
        floats += wanted->width;
        cursor.index++;
    }
    assert(body.size > 0);
    lookup->end[ps] = cursor;
    lookup->asked_floats[ps] = floats;
    return body.size;
}

bool row_lookup_take(struct row_lookup *lookup, uint32_t ps, const void *rows, size_t size,
                     bool *more)
{
    const float *row = rows;
    struct cursor cursor = lookup->begin[ps];
    const struct cursor end = lookup->end[ps];
    if (size != lookup->asked_floats[ps] * sizeof *row || size == 0) { return false; }
    lookup->asked_floats[ps] = 0;
    while (find_next(lookup, ps, &cursor) &&
           (cursor.table < end.table || (cursor.table == end.table && cursor.index < end.index))) {
        const struct wanted *wanted = &lookup->tables[cursor.table];
        short_copy(wanted->values + cursor.index * wanted->width, row, wanted->width * sizeof *row);
        row += wanted->width;
        cursor.index++;
    }
    lookup->begin[ps] = cursor;
    *more = find_next(lookup, ps, &cursor);
    return true;
}

/* --------------------------------------------------------------------------- reading */

/* The first of keys[from..count) that is at least `key`, which is usually near. */
static uint64_t lower_bound(const struct wanted *wanted, uint64_t from, uint64_t key)
{
    uint64_t end = from;
    for (uint64_t more = 1; end < wanted->count && wanted->keys[end] < key; more *= 2) {
        from = end + 1;
        end += more;
    }
    end = u64_min(end, wanted->count);
    while (from < end) {
        const uint64_t middle = from + (end - from) / 2;
        if (wanted->keys[middle] < key) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from;
}

static void read_rows(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count, float *out)
{
    const struct row_lookup *lookup = ctx;
    const struct wanted *wanted = &lookup->tables[table];
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        at = lower_bound(wanted, at, keys[i]);
        assert(at < wanted->count && wanted->keys[at] == keys[i]);
        short_copy(out + i * wanted->width, wanted->values + at * wanted->width,
                   wanted->width * sizeof *out);
    }
}

const struct row_sink *row_lookup_sink(const struct row_lookup *lookup)
{
    return &lookup->sink;
}

const struct row_source *row_lookup_source(const struct row_lookup *lookup)
{
    return &lookup->source;
}

/* --------------------------------------------------------------------------- opening */

enum tn_status row_lookup_open(const struct variable_table *variables,
                               const struct row_borders *borders, uint32_t ps, size_t frame_bytes,
                               struct row_lookup **out, struct error *error)
{
    const uint32_t count = variables->row_table_count;
    assert(ps >= 1 && ps <= PS_MAX);
    *out = NULL;
    for (uint32_t t = 0; t < count; t++) {
        const struct row_table_shape *shape = &variables->row_tables[t];
        if (SECTION_BYTES + sizeof(uint64_t) + shape->width * sizeof(float) <= frame_bytes) {
            continue;
        }
        return error_set(error, TN_EINVAL,
                         "table '%s': a row of width %" PRIu32
                         " does not fit in a frame of %zu bytes",
                         shape->name, shape->width, frame_bytes);
    }
    struct row_lookup *lookup = calloc(1, sizeof *lookup + count * sizeof lookup->tables[0]);
    if (lookup == NULL) { return error_set(error, TN_ENOMEM, "out of memory for lookups"); }
    lookup->variables = variables;
    lookup->ps = ps;
    for (uint32_t p = 0; p < ps; p++) {
        const struct row_part part = row_part_of(borders, ps, p);
        memset(lookup->owners + part.first, (int)p, part.end - part.first);
    }
    lookup->frame_bytes = frame_bytes;
    lookup->sink = (struct row_sink){.add = add, .ctx = lookup};
    lookup->source = (struct row_source){.read = read_rows, .ctx = lookup};
    for (uint32_t t = 0; t < count; t++) {
        lookup->tables[t].width = variables->row_tables[t].width;
    }
    *out = lookup;
    return TN_OK;
}

void row_lookup_close(struct row_lookup *lookup)
{
    if (lookup == NULL) { return; }
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        struct wanted *wanted = &lookup->tables[t];
        free(wanted->places);
        free(wanted->spare);
        free(wanted->keys);
        free(wanted->owners);
        free(wanted->values);
    }
    free(lookup);
}
