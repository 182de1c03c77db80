#include "ps/table/row_table.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/base/short_copy.h"
#include "common/faults/failpoint.h"
#include "ps/table/row_table_private.h"

enum { GROUP = ROW_TABLE_GROUP, LINE = 64, FETCHED = 6 };

/* The mean for a row: a bucket of 64 bytes has between 4.5 and 9 of its slots in use. */
enum { INDEX_BYTES = 11 };

/* ------------------------------------------------------------------------ opening */

static size_t cell_bytes_of(uint32_t row_numbers, bool expires)
{
    const size_t bytes = offsetof(struct cell, numbers) + row_numbers * sizeof(float) +
                         (expires ? sizeof(struct links) : 0);
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

uint64_t row_table_row_bytes(uint32_t width, enum sparse_kind optimizer, bool expires)
{
    return cell_bytes_of(width + sparse_state(optimizer, width), expires) + INDEX_BYTES;
}

enum tn_status row_table_open(const struct row_table_spec *spec, struct row_table **out,
                              struct error *error)
{
    assert(spec->width >= 1 && spec->width <= ROW_TABLE_WIDTH_MAX);
    *out = NULL;
    struct row_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory", spec->name);
    }
    table->spec = *spec;
    table->seed = random_at(spec->seed, digest_of(spec->name, strlen(spec->name)).low, 0);
    table->row_numbers = spec->width + sparse_state(spec->optimizer, spec->width);
    table->cell_bytes = cell_bytes_of(table->row_numbers, spec->expire_after > 0);
    const struct cell_arena *arena = spec->owner.arena;
    const size_t most = arena != NULL ? arena->size.block_bytes : BLOCK_BYTES_MOST;
    assert(table->cell_bytes <= most);
    while (table->cell_bytes << (table->block_shift + 1) <= most) { table->block_shift++; }
    table->blocks = calloc(row_table_blocks_most(table), sizeof *table->blocks);
    if (table->blocks == NULL) {
        free(table);
        return error_set(error, TN_ENOMEM, "table '%s': out of memory", spec->name);
    }
    *out = table;
    return TN_OK;
}

void row_table_close(struct row_table *table)
{
    if (table == NULL) { return; }
    row_table_free_rows(table);
    free(table->blocks);
    free(table->free_cells);
    free(table->retired);
    free(table->dirty);
    free(table->save);
    free(table->found);
    free(table);
}

/* ------------------------------------------------------------------------ reading */

static void set_initial(const struct row_table *table, uint64_t key, float *out)
{
    const float scale = table->spec.scale;
    const struct random_stream stream = random_stream_of(table->seed, key);
    for (uint32_t c = 0; c < table->spec.width; c += 2) {
        const uint64_t bits = random_stream_at(stream, c / 2);
        out[c] = ((float)(bits >> 40) * 0x1p-23F - 1) * scale;
        if (c + 1 == table->spec.width) { return; }
        out[c + 1] = ((float)(bits >> 16 & 0xffffff) * 0x1p-23F - 1) * scale;
    }
}

/* The newest cell of the key, where `cell` is the first one that the search has found. */
static uint32_t find(const struct row_table *table, uint64_t key, uint32_t cell,
                     struct key_index_search *search)
{
    while (cell != KEY_INDEX_NONE && cell_at(table, cell)->key != key) {
        cell = key_index_next(search);
    }
    return cell;
}

uint32_t row_table_find(const struct row_table *table, uint64_t key)
{
    struct key_index_search search;
    key_index_begin(&table->index, key_index_hash(key), &search);
    return find(table, key, key_index_next(&search), &search);
}

/* GCC removes calls of a function that only fetches: it treats it as one without effect. */
#define FETCHES static inline __attribute__((always_inline))

/* The lines of the first `bytes` of a cell, at most FETCHED and the last one: after several lines
 * in a row the processor fetches the next ones itself. */
FETCHES void prefetch_cell(const struct row_table *table, uint32_t cell, size_t bytes)
{
    if (cell == KEY_INDEX_NONE) { return; }
    const char *at = (const char *)cell_at(table, cell);
    __builtin_prefetch(at);
    if (bytes > LINE) { __builtin_prefetch(at + LINE); }
    for (size_t line = 2 * LINE; line < bytes && line < FETCHED * LINE; line += LINE) {
        __builtin_prefetch(at + line);
    }
    __builtin_prefetch(at + bytes - 1);
}

void row_table_find_group(const struct row_table *table, const uint64_t *keys, uint64_t count,
                          size_t bytes, uint32_t *cells)
{
    uint64_t hashes[GROUP];
    struct key_index_search searches[GROUP];
    assert(count <= GROUP);
    for (uint64_t k = 0; k < count; k++) {
        hashes[k] = key_index_hash(keys[k]);
        __builtin_prefetch(key_index_bucket_of(&table->index, hashes[k]));
    }
    for (uint64_t k = 0; k < count; k++) {
        key_index_begin(&table->index, hashes[k], &searches[k]);
        cells[k] = key_index_next(&searches[k]);
        prefetch_cell(table, cells[k], bytes);
    }
    for (uint64_t k = 0; k < count; k++) {
        cells[k] = find(table, keys[k], cells[k], &searches[k]);
    }
}

uint32_t row_table_cell_of(const struct row_table *table, uint32_t cell, uint64_t step)
{
    while (cell != KEY_INDEX_NONE && cell_at(table, cell)->step > step) {
        cell = cell_at(table, cell)->older;
    }
    return cell != KEY_INDEX_NONE && has_expired(table, cell, step) ? KEY_INDEX_NONE : cell;
}

static void read_row(const struct row_table *table, uint64_t step, uint64_t key, uint32_t newest,
                     float *out)
{
    const uint32_t cell = row_table_cell_of(table, newest, step);
    if (cell == KEY_INDEX_NONE) {
        set_initial(table, key, out);
    } else {
        short_copy(out, cell_at(table, cell)->numbers, table->spec.width * sizeof *out);
    }
}

void row_table_read(const struct row_table *table, uint64_t step, const uint64_t *keys,
                    uint64_t count, float *out)
{
    uint32_t cells[GROUP];
    const size_t bytes = offsetof(struct cell, numbers) + table->spec.width * sizeof(float);
    assert(step >= table->floor && step <= table->step);
    for (uint64_t first = 0; first < count; first += GROUP) {
        const uint64_t size = u64_min(GROUP, count - first);
        row_table_find_group(table, keys + first, size, bytes, cells);
        for (uint64_t k = 0; k < size; k++) {
            read_row(table, step, keys[first + k], cells[k], out + (first + k) * table->spec.width);
        }
    }
}

void row_table_have(const struct row_table *table, const uint64_t *keys, uint64_t count, bool *out)
{
    uint32_t cells[GROUP];
    for (uint64_t first = 0; first < count; first += GROUP) {
        const uint64_t size = u64_min(GROUP, count - first);
        row_table_find_group(table, keys + first, size, sizeof(struct cell), cells);
        for (uint64_t k = 0; k < size; k++) {
            out[first + k] =
                cells[k] != KEY_INDEX_NONE && !has_expired(table, cells[k], table->step);
        }
    }
}

/* ----------------------------------------------------------------------- applying */

static uint32_t take_cell(struct row_table *table)
{
    if (table->free_count > 0) { return table->free_cells[--table->free_count]; }
    assert(table->cells < table->block_count << table->block_shift);
    const uint32_t cell = (uint32_t)++table->cells;
    /* Tables that are small get no huge page. */
    if (cell > 1 && table->kept_blocks > 0) {
        cell_arena_first_use(table->spec.owner.arena, cell_at(table, cell), table->cell_bytes);
    }
    return cell;
}

/* Cells come last: until they are taken, they are not among the bytes in use. */
static bool reserve_rows(struct row_table *table, struct sparse_rows rows)
{
    uint64_t absent = 0;
    for (uint64_t k = 0; k < rows.count; k++) { absent += table->found[k] == KEY_INDEX_NONE; }
    if (absent > 0) { row_table_divide_index(table, absent, rows.count); }
    for (uint64_t k = 0; k < rows.count; k++) {
        if (table->found[k] == KEY_INDEX_NONE && !row_table_reserve_slot(table, rows.keys[k])) {
            return false;
        }
    }
    return row_table_reserve_cells(table, rows.count);
}

static bool lists_changes(const struct row_table *table)
{
    return !table->spec.full_saves && table->spec.expire_after == 0;
}

/* Every cell that is retired or expired after this step may become free before the next one. */
static bool reserve_lists(struct row_table *table, uint64_t rows)
{
    return row_table_reserve_list(table, (void **)&table->found, sizeof *table->found,
                                  &table->found_room, rows) &&
           row_table_reserve_list(table, (void **)&table->dirty, sizeof *table->dirty,
                                  &table->dirty_room,
                                  lists_changes(table) ? table->dirty_count + rows : 0) &&
           row_table_reserve_list(table, (void **)&table->free_cells, sizeof *table->free_cells,
                                  &table->free_room,
                                  table->free_count + table->pinned_count + table->retired_count +
                                      rows + table->expired + row_table_expiring(table)) &&
           row_table_reserve_retired(table, rows);
}

/* Find the cells of all rows and reserve all memory that they need. */
static bool prepare(struct row_table *table, struct sparse_rows rows)
{
    if (!reserve_lists(table, rows.count)) { return false; }
    for (uint64_t first = 0; first < rows.count; first += GROUP) {
        row_table_find_group(table, rows.keys + first, u64_min(GROUP, rows.count - first),
                             table->cell_bytes, table->found + first);
    }
    if (reserve_rows(table, rows)) { return true; }
    key_index_cancel(&table->index);
    return false;
}

static void retire(struct row_table *table, uint32_t cell, uint64_t step)
{
    table->retired[retired_place(table, table->retired_count)] =
        (struct retired){.cell = cell, .step = step};
    table->retired_count++;
}

/* Publish `fresh` as the newest cell of its key, of which `old` is the one before. */
static void publish(struct row_table *table, uint32_t old, uint32_t fresh)
{
    const struct cell *cell = cell_at(table, fresh);
    const uint64_t hash = key_index_hash(cell->key);
    row_table_renew(table, old, fresh);
    if (old == KEY_INDEX_NONE) {
        key_index_add(&table->index, hash, fresh);
        return;
    }
    key_index_replace(&table->index, hash, old, fresh);
    retire(table, old, cell->step);
}

static void update_row(struct row_table *table, const struct sparse_constants *constants,
                       uint64_t key, uint32_t old, const float *gradient)
{
    float initial[3 * ROW_TABLE_WIDTH_MAX];
    const uint32_t fresh = take_cell(table), width = table->spec.width;
    struct cell *cell = cell_at(table, fresh);
    const float *in = initial;
    cell->step = table->step + 1;
    atomic_signal_fence(memory_order_seq_cst);
    cell->key = key;
    cell->older = old;
    FAILPOINT("ps.mid_rows");
    if (old != KEY_INDEX_NONE && !has_expired(table, old, table->step)) {
        in = cell_at(table, old)->numbers;
    } else {
        set_initial(table, key, initial);
        memset(initial + width, 0, (table->row_numbers - width) * sizeof *initial);
    }
    sparse_update(table->spec.optimizer, width, constants, gradient, in, cell->numbers);
    if (lists_changes(table) &&
        (old == KEY_INDEX_NONE || cell_at(table, old)->step <= table->mark)) {
        table->dirty[table->dirty_count++] = key;
    }
    publish(table, old, fresh);
}

/* Fetch the cells and buckets that the updates of at most GROUP rows use, after those of `before`
 * rows, each of which takes a cell. */
FETCHES void prefetch_updates(const struct row_table *table, struct sparse_rows rows,
                              uint64_t first, uint64_t before)
{
    const uint64_t end = u64_min(rows.count, first + GROUP);
    const uint64_t begin = u64_min(rows.count, first);
    for (uint64_t k = first - before; k < begin && table->spec.expire_after > 0; k++) {
        row_table_fetch_links(table, table->found[k]);
    }
    for (uint64_t k = first; k < end; k++) {
        const uint64_t taken = k - first + before;
        prefetch_cell(table, table->found[k], table->cell_bytes);
        if (taken < table->free_count) {
            prefetch_cell(table, table->free_cells[table->free_count - 1 - taken],
                          table->cell_bytes);
        }
        __builtin_prefetch(key_index_bucket_of(&table->index, key_index_hash(rows.keys[k])));
    }
}

enum tn_status row_table_apply(struct row_table *table, const struct sparse_constants *constants,
                               struct sparse_rows rows, struct error *error)
{
    if (!prepare(table, rows)) {
        return row_table_refuse(table, rows.count * table->cell_bytes, error);
    }
    prefetch_updates(table, rows, 0, 0);
    for (uint64_t k = 0; k < rows.count; k++) {
        assert(k == 0 || rows.keys[k] > rows.keys[k - 1]);
        if (k % GROUP == 0) { prefetch_updates(table, rows, k + GROUP, GROUP); }
        update_row(table, constants, rows.keys[k], table->found[k],
                   rows.values + k * table->spec.width);
    }
    table->step++;
    row_table_expire(table);
    return TN_OK;
}

void row_table_free_cell(struct row_table *table, uint32_t cell, uint64_t replaced)
{
    assert(table->free_count + table->pinned_count < table->free_room);
    /* Reading the cell, which is seldom in a cache, takes as long as all else. */
    if (table->saving && table->save_step < replaced &&
        cell_at(table, cell)->step <= table->save_step) {
        cell_at(table, cell)->older = table->pinned;
        table->pinned = cell;
        table->pinned_count++;
    } else {
        table->free_cells[table->free_count++] = cell;
    }
}

void row_table_unpin(struct row_table *table)
{
    assert(!table->saving);
    while (table->pinned != KEY_INDEX_NONE) {
        const uint32_t cell = table->pinned;
        table->pinned = cell_at(table, cell)->older;
        table->pinned_count--;
        table->free_cells[table->free_count++] = cell;
    }
    assert(table->pinned_count == 0);
}

void row_table_collect(struct row_table *table)
{
    while (table->retired_count > 0 && table->retired[table->retired_first].step <= table->floor) {
        const struct retired first = table->retired[table->retired_first];
        table->retired_first = retired_place(table, 1);
        table->retired_count--;
        row_table_free_cell(table, first.cell, first.step);
    }
    row_table_remove_expired(table, table->floor);
}

void row_table_release(struct row_table *table, uint64_t from)
{
    assert(from <= table->step);
    table->floor = u64_max(table->floor, from);
    row_table_collect(table);
}

/* ------------------------------------------------------------------------ loading */

void row_table_begin_load(struct row_table *table)
{
    assert(!table->saving);
    row_table_free_rows(table);
    table->step = table->floor = table->mark = table->base = 0;
}

static bool add_loaded(struct row_table *table, uint64_t key, uint32_t *number)
{
    row_table_divide_index(table, 1, 1);
    if (!row_table_reserve_slot(table, key)) { return false; }
    if (!row_table_reserve_cells(table, 1)) {
        key_index_cancel(&table->index);
        return false;
    }
    *number = take_cell(table);
    struct cell *cell = cell_at(table, *number);
    cell->key = key;
    cell->older = KEY_INDEX_NONE;
    key_index_add(&table->index, key_index_hash(key), *number);
    table->rows++;
    return true;
}

/* The next rows that are of the table's part, from rows.keys[*at] on. Returns their number. */
static uint64_t pick_group(const struct row_table *table, struct sparse_rows rows, uint64_t *at,
                           uint64_t keys[static GROUP], uint64_t places[static GROUP])
{
    const struct row_hash hash = row_hash_of(table->spec.number);
    uint64_t size = 0;
    for (; *at < rows.count && size < GROUP; (*at)++) {
        const uint32_t bucket = row_hash_bucket(hash, rows.keys[*at]);
        if (!row_part_has_bucket(&table->spec.part, bucket)) { continue; }
        keys[size] = rows.keys[*at];
        places[size++] = *at;
    }
    return size;
}

enum tn_status row_table_load(struct row_table *table, struct sparse_rows rows,
                              const uint64_t *steps, struct error *error)
{
    uint32_t cells[GROUP];
    uint64_t keys[GROUP], places[GROUP], at = 0, size;
    const uint32_t numbers = table->row_numbers;
    assert(!table->saving && table->step == 0 && table->retired_count == 0);
    assert((steps != NULL) == (table->spec.expire_after > 0));
    while ((size = pick_group(table, rows, &at, keys, places)) > 0) {
        row_table_find_group(table, keys, size, sizeof(struct cell), cells);
        for (uint64_t k = 0; k < size; k++) {
            if (cells[k] == KEY_INDEX_NONE && !add_loaded(table, keys[k], &cells[k])) {
                return row_table_refuse(table, table->cell_bytes, error);
            }
            struct cell *cell = cell_at(table, cells[k]);
            cell->step = steps != NULL ? steps[places[k]] : 0;
            memcpy(cell->numbers, rows.values + places[k] * numbers, numbers * sizeof(float));
        }
    }
    return TN_OK;
}

enum tn_status row_table_end_load(struct row_table *table, uint64_t step, struct error *error)
{
    assert(table->step == 0);
    table->step = table->floor = table->mark = table->base = step;
    return row_table_order(table) ? TN_OK : row_table_refuse(table, 0, error);
}

/* ---------------------------------------------------------------------- questions */

uint64_t row_table_step(const struct row_table *table)
{
    return table->step;
}

const struct row_table_spec *row_table_spec_of(const struct row_table *table)
{
    return &table->spec;
}

uint32_t row_table_numbers(const struct row_table *table)
{
    return table->row_numbers;
}

struct row_table_stats row_table_stats(const struct row_table *table)
{
    return (struct row_table_stats){
        .rows = table->rows,
        .cells = table->cells - table->free_count,
        .bytes = row_table_bytes(table),
        .dirty = table->dirty_count,
    };
}
