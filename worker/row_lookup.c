#include "worker/row_lookup.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/short_copy.h"
#include "common/cluster/row_body.h"
#include "worker/row_lookup_private.h"

enum { SECTION_BYTES = 8 };
enum { NEAR_ROWS = 8 }; /* So many are compared one by one. */

static_assert(PS_MAX <= UINT8_MAX, "the owner of a row is a byte");

/* ---------------------------------------------------------------------------- adding */

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
    for (uint64_t i = 0; i < count; i++) {
        if (keys[i] == SPARSE_KEY_NONE) { continue; }
        if (!key_list_add(&wanted->added, keys[i])) {
            return no_memory(lookup, table, wanted->added.count + 1, error);
        }
    }
    return TN_OK;
}

static bool reserve_rows(struct wanted *wanted, uint64_t rows)
{
    if (rows <= wanted->values_capacity) { return true; }
    free(wanted->keys);
    free(wanted->owners);
    free(wanted->askers);
    free(wanted->values);
    wanted->values_capacity = 0;
    wanted->keys = malloc(rows * sizeof *wanted->keys);
    wanted->owners = malloc(rows * sizeof *wanted->owners);
    wanted->askers = malloc(rows * sizeof *wanted->askers);
    wanted->values = malloc(rows * wanted->width * sizeof *wanted->values);
    if (wanted->keys == NULL || wanted->owners == NULL || wanted->askers == NULL ||
        wanted->values == NULL) {
        return false;
    }
    wanted->values_capacity = rows;
    return true;
}

/* Sort the rows of a table by their ps. The keys were copied: `added` gets the numbers of rows. */
static void group_rows(struct wanted *wanted, uint32_t ps_count, const uint64_t *counts)
{
    uint64_t next = 0;
    for (uint32_t p = 0; p < ps_count; p++) {
        wanted->ends[p] = next; /* It moves as the rows come to their places. */
        next += counts[p];
    }
    assert(next == wanted->count);
    for (uint64_t i = 0; i < wanted->count; i++) {
        wanted->added.places[wanted->ends[wanted->owners[i]]++].key = i;
    }
}

/* Sort the keys of a table, find their ps, and get memory for the rows. */
static bool settle(struct row_lookup *lookup, uint32_t table)
{
    struct wanted *wanted = &lookup->tables[table];
    uint64_t counts[PS_MAX] = {0};
    key_list_sort(&wanted->added);
    if (!reserve_rows(wanted, wanted->added.count)) { return false; }
    wanted->count = wanted->added.count;
    const struct row_hash hash = row_hash_of(table);
    for (uint64_t i = 0; i < wanted->count; i++) {
        const uint64_t key = wanted->added.places[i].key;
        wanted->keys[i] = key;
        wanted->owners[i] = lookup->owners[row_hash_bucket(hash, key)];
        wanted->askers[i] = ROW_FREE;
        counts[wanted->owners[i]]++;
    }
    for (uint32_t p = 0; p < lookup->ps; p++) {
        lookup->missing[p] += counts[p];
        lookup->free[p] += counts[p];
    }
    group_rows(wanted, lookup->ps, counts);
    return true;
}

void row_lookup_begin(struct row_lookup *lookup, uint64_t generation, uint64_t step)
{
    for (uint32_t p = 0; p < lookup->ps; p++) { row_lookup_abandon(lookup, p); }
    row_sharing_lock(lookup);
    lookup->settled = false;
    row_sharing_unlock(lookup);
    lookup->generation = generation;
    lookup->step = step;
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        struct wanted *wanted = &lookup->tables[t];
        wanted->added.count = wanted->count = 0;
        memset(wanted->ends, 0, sizeof wanted->ends);
    }
}

/* ---------------------------------------------------------------------------- pieces */

enum row_kind {
    ROW_MISSING,     /* It has not arrived. */
    ROW_ASKED,       /* This member has asked for it. */
    ROW_TO_BE_ASKED, /* Not here, and no other member has asked for it. */
};

static bool is_of_kind(const struct row_lookup *lookup, uint8_t asker, enum row_kind kind)
{
    if (asker == lookup->member.place) { return true; }
    return (kind == ROW_MISSING && asker != ROW_HERE) ||
           (kind == ROW_TO_BE_ASKED && asker == ROW_FREE);
}

/* The first row of `ps` of this kind at the cursor or behind it: `*row` is its number in its table.
 * False: there is none. */
static bool find_next(const struct row_lookup *lookup, uint32_t ps, enum row_kind kind,
                      struct row_cursor *cursor, uint64_t *row)
{
    for (; cursor->table < lookup->variables->row_table_count; cursor->table++, cursor->index = 0) {
        const struct wanted *wanted = &lookup->tables[cursor->table];
        const struct row_group group = row_group_of(wanted, ps);
        for (; cursor->index < group.count; cursor->index++) {
            *row = group.rows[cursor->index].key;
            if (is_of_kind(lookup, wanted->askers[*row], kind)) { return true; }
        }
    }
    return false;
}

/* Move the cursor to the first row of this kind. False: there is none. */
static bool find_any(const struct row_lookup *lookup, uint32_t ps, enum row_kind kind,
                     struct row_cursor *cursor)
{
    uint64_t row;
    return find_next(lookup, ps, kind, cursor, &row);
}

enum tn_status row_lookup_settle(struct row_lookup *lookup, uint64_t *ps_set, struct error *error)
{
    *ps_set = 0;
    memset(lookup->missing, 0, sizeof lookup->missing);
    memset(lookup->free, 0, sizeof lookup->free);
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        if (!settle(lookup, t)) {
            return no_memory(lookup, t, lookup->tables[t].added.count, error);
        }
    }
    row_sharing_lock(lookup);
    lookup->settled = true;
    row_sharing_find(lookup);
    for (uint32_t p = 0; p < lookup->ps; p++) {
        lookup->begin[p] = (struct row_cursor){0};
        lookup->asked_floats[p] = 0;
        if (find_any(lookup, p, ROW_MISSING, &lookup->begin[p])) { *ps_set |= UINT64_C(1) << p; }
    }
    row_sharing_unlock(lookup);
    return TN_OK;
}

/* With the lock of the sharing held. */
static size_t ask(struct row_lookup *lookup, uint32_t ps, void *data)
{
    struct row_body body = {.data = data, .room = lookup->frame_bytes};
    struct row_cursor cursor = lookup->begin[ps];
    uint64_t row;
    size_t floats = 0;
    while (find_next(lookup, ps, ROW_TO_BE_ASKED, &cursor, &row)) {
        struct wanted *wanted = &lookup->tables[cursor.table];
        const bool fits = (floats + wanted->width) * sizeof(float) <= lookup->frame_bytes;
        if (!fits || !row_body_add(&body, cursor.table, wanted->keys[row], NULL, 0)) { break; }
        row_set_asker(lookup, wanted, row, (uint8_t)lookup->member.place);
        floats += wanted->width;
        cursor.index++;
    }
    lookup->end[ps] = cursor;
    lookup->asked_floats[ps] = floats;
    lookup->has_asked[ps] = lookup->has_asked[ps] || floats > 0;
    row_sharing_announce(lookup, ps, lookup->begin[ps], cursor, ROW_NEWS_ASKED);
    return body.size;
}

size_t row_lookup_ask(struct row_lookup *lookup, uint32_t ps, void *body)
{
    row_sharing_lock(lookup);
    const size_t size = ask(lookup, ps, body);
    row_sharing_unlock(lookup);
    return size;
}

/* Move the cursor to the next row of the piece that was asked for. Returns false behind the last
 * one. */
static bool next_asked(const struct row_lookup *lookup, uint32_t ps, struct row_cursor *cursor,
                       uint64_t *row)
{
    const struct row_cursor end = lookup->end[ps];
    return find_next(lookup, ps, ROW_ASKED, cursor, row) &&
           (cursor->table < end.table || (cursor->table == end.table && cursor->index < end.index));
}

/* With the lock of the sharing held. */
static void take(struct row_lookup *lookup, uint32_t ps, const float *values)
{
    const struct row_cursor begin = lookup->begin[ps];
    const bool alone = lookup->member.sharing == NULL;
    uint64_t row;
    for (struct row_cursor at = begin; next_asked(lookup, ps, &at, &row); at.index++) {
        struct wanted *wanted = &lookup->tables[at.table];
        short_copy(wanted->values + row * wanted->width, values, wanted->width * sizeof *values);
        values += wanted->width;
        if (alone) { row_set_asker(lookup, wanted, row, ROW_HERE); }
    }
    lookup->has_asked[ps] = false;
    if (alone) { return; }
    row_sharing_announce(lookup, ps, begin, lookup->end[ps], ROW_NEWS_ARRIVED);
    for (struct row_cursor at = begin; next_asked(lookup, ps, &at, &row); at.index++) {
        row_set_asker(lookup, &lookup->tables[at.table], row, ROW_HERE);
    }
    struct row_cursor rest = begin;
    lookup->has_asked[ps] = find_any(lookup, ps, ROW_ASKED, &rest);
}

bool row_lookup_take(struct row_lookup *lookup, uint32_t ps, const void *rows, size_t size,
                     bool *more)
{
    if (size != lookup->asked_floats[ps] * sizeof(float) || size == 0) { return false; }
    lookup->asked_floats[ps] = 0;
    row_sharing_lock(lookup);
    take(lookup, ps, rows);
    *more = find_any(lookup, ps, ROW_MISSING, &lookup->begin[ps]);
    row_sharing_unlock(lookup);
    return true;
}

void row_lookup_abandon(struct row_lookup *lookup, uint32_t ps)
{
    lookup->asked_floats[ps] = 0;
    if (!lookup->has_asked[ps]) { return; }
    lookup->has_asked[ps] = false;
    row_sharing_lock(lookup);
    const struct row_cursor begin = lookup->begin[ps];
    const struct row_cursor end = {.table = lookup->variables->row_table_count};
    row_sharing_announce(lookup, ps, begin, end, ROW_NEWS_ABANDONED);
    uint64_t row;
    for (struct row_cursor at = begin; find_next(lookup, ps, ROW_ASKED, &at, &row); at.index++) {
        row_set_asker(lookup, &lookup->tables[at.table], row, ROW_FREE);
    }
    row_sharing_unlock(lookup);
}

enum row_lookup_state row_lookup_state(struct row_lookup *lookup, uint32_t ps)
{
    assert(lookup->settled);
    row_sharing_lock(lookup);
    const uint64_t missing = lookup->missing[ps], free = lookup->free[ps];
    row_sharing_unlock(lookup);
    if (missing == 0) { return ROWS_COMPLETE; }
    return free > 0 ? ROWS_MISSING : ROWS_ASKED;
}

/* --------------------------------------------------------------------------- reading */

uint64_t row_wanted_at(const struct wanted *wanted, uint64_t from, uint64_t key)
{
    const uint64_t near = u64_min(from + NEAR_ROWS, wanted->count);
    while (from < near && wanted->keys[from] < key) { from++; }
    if (from < near) { return from; }
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
        at = row_wanted_at(wanted, at, keys[i]);
        assert(at < wanted->count && wanted->keys[at] == keys[i]);
        assert(wanted->askers[at] == ROW_HERE);
        short_copy(out + i * wanted->width, wanted->values + at * wanted->width,
                   wanted->width * sizeof *out);
    }
}

uint64_t row_lookup_bytes(const struct row_lookup *lookup)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        const struct wanted *wanted = &lookup->tables[t];
        const uint64_t row = sizeof *wanted->keys + sizeof *wanted->owners +
                             sizeof *wanted->askers + wanted->width * sizeof *wanted->values;
        bytes += key_list_bytes(&wanted->added) + wanted->values_capacity * row;
    }
    return bytes;
}

uint64_t row_lookup_bytes_of(uint32_t width, uint64_t rows)
{
    const struct wanted *wanted = NULL;
    const uint64_t row = sizeof *wanted->keys + sizeof *wanted->owners + sizeof *wanted->askers +
                         width * sizeof *wanted->values;
    return key_list_bytes_of(rows) + rows * row;
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

enum tn_status row_lookup_open(const struct row_lookup_config *config, struct row_lookup **out,
                               struct error *error)
{
    const struct variable_table *variables = config->variables;
    const struct row_borders *borders = config->borders;
    const uint32_t count = variables->row_table_count, ps = config->ps;
    const size_t frame_bytes = config->frame_bytes;
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
    lookup->member = config->member;
    lookup->sink = (struct row_sink){.add = add, .ctx = lookup};
    lookup->source = (struct row_source){.read = read_rows, .ctx = lookup};
    for (uint32_t t = 0; t < count; t++) {
        lookup->tables[t].width = variables->row_tables[t].width;
    }
    row_sharing_join(lookup);
    *out = lookup;
    return TN_OK;
}

void row_lookup_close(struct row_lookup *lookup)
{
    if (lookup == NULL) { return; }
    row_sharing_part(lookup);
    for (uint32_t t = 0; t < lookup->variables->row_table_count; t++) {
        struct wanted *wanted = &lookup->tables[t];
        key_list_free(&wanted->added);
        free(wanted->keys);
        free(wanted->owners);
        free(wanted->askers);
        free(wanted->values);
    }
    free(lookup);
}
