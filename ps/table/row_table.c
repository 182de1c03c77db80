#include "ps/table/row_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "ps/table/row_table_private.h"

/* Keys that are looked up together, so that their cache lines are fetched at the same time. */
enum { GROUP = 16, LEAST_ROOM = 64, LINE = 64 };

/* ------------------------------------------------------------------------ opening */

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
    const size_t bytes = offsetof(struct cell, numbers) + table->row_numbers * sizeof(float);
    table->cell_bytes = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
    while (table->cell_bytes << (table->block_shift + 1) <= BLOCK_BYTES_MOST) {
        table->block_shift++;
    }
    table->blocks = calloc((size_t)1 << (CELL_BITS - table->block_shift), sizeof *table->blocks);
    if (table->blocks == NULL) {
        free(table);
        return error_set(error, TN_ENOMEM, "table '%s': out of memory", spec->name);
    }
    *out = table;
    return TN_OK;
}

static void free_rows(struct row_table *table)
{
    for (uint64_t b = 0; b < table->block_count; b++) {
        free(table->blocks[b]);
        table->blocks[b] = NULL;
    }
    key_index_clear(&table->index);
    table->block_count = table->cells = table->rows = table->free_count = 0;
    table->free_cell = KEY_INDEX_NONE;
    table->retired_count = table->dirty_count = 0;
}

void row_table_close(struct row_table *table)
{
    if (table == NULL) { return; }
    free_rows(table);
    free(table->blocks);
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
    for (uint32_t c = 0; c < table->spec.width; c += 2) {
        const uint64_t bits = random_at(table->seed, key, c / 2);
        out[c] = ((float)(bits >> 40) * 0x1p-23F - 1) * scale;
        if (c + 1 == table->spec.width) { return; }
        out[c + 1] = ((float)(bits >> 16 & 0xffffff) * 0x1p-23F - 1) * scale;
    }
}

static uint32_t find(const struct row_table *table, uint64_t key, uint64_t hash,
                     struct key_index_search *search)
{
    *search = key_index_begin(&table->index, hash);
    for (;;) {
        const uint32_t cell = key_index_next(search);
        if (cell == KEY_INDEX_NONE || cell_at(table, cell)->key == key) { return cell; }
    }
}

uint32_t row_table_find(const struct row_table *table, uint64_t key)
{
    struct key_index_search search;
    return find(table, key, key_index_hash(key), &search);
}

/* The lines of a cell of at most two lines. Not a loop, which the compiler would remove. */
static void prefetch_cell(const struct row_table *table, uint32_t cell)
{
    if (cell == KEY_INDEX_NONE) { return; }
    const char *at = (const char *)cell_at(table, cell);
    __builtin_prefetch(at);
    __builtin_prefetch(at + LINE);
}

/* The newest cells of at most GROUP keys. */
static void find_group(const struct row_table *table, const uint64_t *keys, uint64_t count,
                       uint32_t *cells)
{
    uint64_t hashes[GROUP];
    assert(count <= GROUP);
    for (uint64_t k = 0; k < count; k++) {
        hashes[k] = key_index_hash(keys[k]);
        __builtin_prefetch(key_index_bucket_of(&table->index, hashes[k]));
    }
    for (uint64_t k = 0; k < count; k++) {
        struct key_index_search search = key_index_begin(&table->index, hashes[k]);
        prefetch_cell(table, key_index_next(&search));
    }
    for (uint64_t k = 0; k < count; k++) {
        struct key_index_search search;
        cells[k] = find(table, keys[k], hashes[k], &search);
    }
}

uint32_t row_table_cell_of(const struct row_table *table, uint32_t cell, uint64_t step)
{
    while (cell != KEY_INDEX_NONE && cell_at(table, cell)->step > step) {
        cell = cell_at(table, cell)->older;
    }
    return cell;
}

static void read_row(const struct row_table *table, uint64_t step, uint64_t key, uint32_t newest,
                     float *out)
{
    const uint32_t cell = row_table_cell_of(table, newest, step);
    if (cell == KEY_INDEX_NONE) {
        set_initial(table, key, out);
    } else {
        memcpy(out, cell_at(table, cell)->numbers, table->spec.width * sizeof *out);
    }
}

void row_table_read(const struct row_table *table, uint64_t step, const uint64_t *keys,
                    uint64_t count, float *out)
{
    uint32_t cells[GROUP];
    assert(step >= table->floor && step <= table->step);
    for (uint64_t first = 0; first < count; first += GROUP) {
        const uint64_t size = u64_min(GROUP, count - first);
        find_group(table, keys + first, size, cells);
        for (uint64_t k = 0; k < size; k++) {
            read_row(table, step, keys[first + k], cells[k], out + (first + k) * table->spec.width);
        }
    }
}

/* ------------------------------------------------------------------------- memory */

static uint64_t bytes_of(const struct row_table *table)
{
    return table->cells * table->cell_bytes + table->index.bytes +
           table->retired_room * sizeof *table->retired + table->dirty_room * sizeof *table->dirty +
           table->found_room * sizeof *table->found;
}

static enum tn_status refuse(const struct row_table *table, uint64_t wanted, struct error *error)
{
    if (table->spec.memory_bytes == 0) {
        return error_set(error, TN_ENOMEM, "table '%s': out of memory with %" PRIu64 " rows",
                         table->spec.name, table->rows);
    }
    return error_set(error, TN_ENOMEM,
                     "table '%s': %" PRIu64 " rows take %" PRIu64 " bytes, and %" PRIu64
                     " more would exceed the limit of %" PRIu64
                     " bytes: raise the limit, or use more ps, narrower rows or fewer keys",
                     table->spec.name, table->rows, bytes_of(table), wanted,
                     table->spec.memory_bytes);
}

static bool fits(const struct row_table *table, uint64_t bytes)
{
    const uint64_t most = table->spec.memory_bytes, used = bytes_of(table);
    return most == 0 || (used <= most && bytes <= most - used);
}

/* A list that has room for `wanted` elements; it doubles. False: neither limit nor memory suffice.
 */
static bool reserve_list(const struct row_table *table, void **list, size_t size, uint64_t *room,
                         uint64_t wanted)
{
    if (wanted <= *room) { return true; }
    const uint64_t larger = u64_max(wanted, u64_max(2 * *room, LEAST_ROOM));
    if (!fits(table, (larger - *room) * size)) { return false; }
    void *grown = realloc(*list, larger * size);
    if (grown == NULL) { return false; }
    *list = grown;
    *room = larger;
    return true;
}

static bool reserve_retired(struct row_table *table, uint64_t more)
{
    const uint64_t wanted = table->retired_count + more;
    if (wanted <= table->retired_room) { return true; }
    const uint64_t room = u64_max(wanted, u64_max(2 * table->retired_room, LEAST_ROOM));
    if (!fits(table, (room - table->retired_room) * sizeof *table->retired)) { return false; }
    struct retired *ring = malloc(room * sizeof *ring);
    if (ring == NULL) { return false; }
    for (uint64_t i = 0; i < table->retired_count; i++) {
        ring[i] = table->retired[(table->retired_first + i) % table->retired_room];
    }
    free(table->retired);
    table->retired = ring;
    table->retired_first = 0;
    table->retired_room = room;
    return true;
}

static void give_cell(struct row_table *table, uint32_t number)
{
    cell_at(table, number)->older = table->free_cell;
    table->free_cell = number;
    table->free_count++;
}

/* The next block; its pages take no memory yet. */
static bool add_block(struct row_table *table)
{
    const size_t bytes = table->cell_bytes << table->block_shift;
    const size_t rounded = (bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    uint8_t *block = aligned_alloc(BLOCK_ALIGNMENT, rounded);
    if (block == NULL) { return false; }
    (void)madvise(block, rounded, MADV_HUGEPAGE); /* Without huge pages it is only slower. */
    table->blocks[table->block_count++] = block;
    return true;
}

/* Free cells, or cells that were never taken. */
static bool reserve_cells(struct row_table *table, uint64_t wanted)
{
    const uint64_t fresh = wanted - u64_min(wanted, table->free_count);
    const uint64_t cells = table->cells + fresh;
    if (!fits(table, fresh * table->cell_bytes) || cells > UINT32_MAX) { return false; }
    while (table->block_count << table->block_shift < cells) {
        if (!add_block(table)) { return false; }
    }
    return true;
}

static uint32_t take_cell(struct row_table *table)
{
    const uint32_t number = table->free_cell;
    if (number == KEY_INDEX_NONE) {
        assert(table->cells < table->block_count << table->block_shift);
        return (uint32_t)++table->cells;
    }
    table->free_cell = cell_at(table, number)->older;
    table->free_count--;
    return number;
}

static uint64_t hash_of_cell(const void *ctx, uint32_t cell)
{
    return key_index_hash(cell_at(ctx, cell)->key);
}

static bool reserve_slot(struct row_table *table, uint64_t key)
{
    const uint64_t hash = key_index_hash(key), growth = key_index_growth(&table->index, hash);
    return (growth == 0 || fits(table, growth)) &&
           key_index_reserve(&table->index, hash, hash_of_cell, table);
}

/* ----------------------------------------------------------------------- applying */

/* Cells come last: until they are taken, they are not among the bytes in use. */
static bool reserve_rows(struct row_table *table, struct sparse_rows rows)
{
    for (uint64_t k = 0; k < rows.count; k++) {
        if (table->found[k] == KEY_INDEX_NONE && !reserve_slot(table, rows.keys[k])) {
            return false;
        }
    }
    return reserve_cells(table, rows.count);
}

/* Find the cells of all rows and reserve all memory that they need. */
static bool prepare(struct row_table *table, struct sparse_rows rows)
{
    if (!reserve_list(table, (void **)&table->found, sizeof *table->found, &table->found_room,
                      rows.count) ||
        !reserve_list(table, (void **)&table->dirty, sizeof *table->dirty, &table->dirty_room,
                      table->spec.full_saves ? 0 : table->dirty_count + rows.count) ||
        !reserve_retired(table, rows.count)) {
        return false;
    }
    for (uint64_t first = 0; first < rows.count; first += GROUP) {
        find_group(table, rows.keys + first, u64_min(GROUP, rows.count - first),
                   table->found + first);
    }
    if (reserve_rows(table, rows)) { return true; }
    key_index_cancel(&table->index);
    return false;
}

static void retire(struct row_table *table, uint32_t cell, uint32_t newer)
{
    const uint64_t at = (table->retired_first + table->retired_count) % table->retired_room;
    table->retired[at] = (struct retired){.cell = cell, .newer = newer};
    table->retired_count++;
}

/* Publish `fresh` as the newest cell of its key, of which `old` is the one before. */
static void publish(struct row_table *table, uint32_t old, uint32_t fresh)
{
    const uint64_t key = cell_at(table, fresh)->key, hash = key_index_hash(key);
    struct key_index_search search;
    if (old == KEY_INDEX_NONE) {
        key_index_add(&table->index, hash, fresh);
        table->rows++;
        return;
    }
    const uint32_t same = find(table, key, hash, &search);
    assert(same == old);
    key_index_replace(&search, fresh);
    retire(table, old, fresh);
}

static void update_row(struct row_table *table, const struct sparse_constants *constants,
                       uint64_t key, uint32_t old, const float *gradient)
{
    float initial[3 * ROW_TABLE_WIDTH_MAX];
    const uint32_t fresh = take_cell(table), width = table->spec.width;
    struct cell *cell = cell_at(table, fresh);
    const float *in = initial;
    cell->key = key;
    cell->step = table->step + 1;
    cell->older = old;
    if (old != KEY_INDEX_NONE) {
        in = cell_at(table, old)->numbers;
    } else {
        set_initial(table, key, initial);
        memset(initial + width, 0, (table->row_numbers - width) * sizeof *initial);
    }
    sparse_update(table->spec.optimizer, width, constants, gradient, in, cell->numbers);
    if (!table->spec.full_saves &&
        (old == KEY_INDEX_NONE || cell_at(table, old)->step <= table->mark)) {
        table->dirty[table->dirty_count++] = key;
    }
    publish(table, old, fresh);
}

enum tn_status row_table_apply(struct row_table *table, const struct sparse_constants *constants,
                               struct sparse_rows rows, struct error *error)
{
    if (!prepare(table, rows)) { return refuse(table, rows.count * table->cell_bytes, error); }
    for (uint64_t k = 0; k < rows.count; k++) {
        assert(k == 0 || rows.keys[k] > rows.keys[k - 1]);
        update_row(table, constants, rows.keys[k], table->found[k],
                   rows.values + k * table->spec.width);
    }
    table->step++;
    return TN_OK;
}

void row_table_collect(struct row_table *table)
{
    const uint64_t floor = table->saving ? u64_min(table->floor, table->mark) : table->floor;
    while (table->retired_count > 0) {
        const struct retired first = table->retired[table->retired_first];
        struct cell *newer = cell_at(table, first.newer);
        if (newer->step > floor) { return; }
        newer->older = KEY_INDEX_NONE;
        give_cell(table, first.cell);
        table->retired_first = (table->retired_first + 1) % table->retired_room;
        table->retired_count--;
    }
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
    free_rows(table);
    table->step = table->floor = table->mark = 0;
}

static bool add_loaded(struct row_table *table, uint64_t key, uint32_t *number)
{
    if (!reserve_slot(table, key)) { return false; }
    if (!reserve_cells(table, 1)) {
        key_index_cancel(&table->index);
        return false;
    }
    *number = take_cell(table);
    struct cell *cell = cell_at(table, *number);
    cell->key = key;
    cell->step = 0;
    cell->older = KEY_INDEX_NONE;
    publish(table, KEY_INDEX_NONE, *number);
    return true;
}

enum tn_status row_table_load(struct row_table *table, struct sparse_rows rows, struct error *error)
{
    uint32_t cells[GROUP];
    const uint32_t numbers = table->row_numbers;
    assert(!table->saving && table->step == 0 && table->retired_count == 0);
    for (uint64_t first = 0; first < rows.count; first += GROUP) {
        const uint64_t size = u64_min(GROUP, rows.count - first);
        find_group(table, rows.keys + first, size, cells);
        for (uint64_t k = 0; k < size; k++) {
            const uint64_t at = first + k;
            if (cells[k] == KEY_INDEX_NONE && !add_loaded(table, rows.keys[at], &cells[k])) {
                return refuse(table, table->cell_bytes, error);
            }
            memcpy(cell_at(table, cells[k])->numbers, rows.values + at * numbers,
                   numbers * sizeof(float));
        }
    }
    return TN_OK;
}

void row_table_end_load(struct row_table *table, uint64_t step)
{
    assert(table->step == 0);
    table->step = table->floor = table->mark = step;
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
        .bytes = bytes_of(table),
        .dirty = table->dirty_count,
    };
}
