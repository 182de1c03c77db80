/*
 * Fuzz target: the cells of a table that a killed process has left, of which everything may be
 * damaged: the directory of the arena, cells, and the number of cells in the record. Rows that
 * row_table_recover() accepts are read, saved, updated and recovered again: no memory beside the
 * arena is touched, and no key has two rows.
 *
 * The first byte of the input is added to the number of cells, as a signed one; with 127 the number
 * is the largest. Each edit is 4 bytes: an offset of 16 bits, of a byte of the directory if it is
 * at least 60000, else of a cell; an operation; and a value. With one byte more, the cells are
 * counts of keys (A18), of which some have expired.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    WIDTH = 3,
    KEYS = 1500, /* Two blocks. */
    STEPS = 4,
    PAGE_BYTES = 4096,
    BLOCK_BYTES = 16 * PAGE_BYTES,
    BLOCKS = 5,
    DIRECTORY_BYTES = BLOCKS * 16,
    BYTES = BLOCKS * BLOCK_BYTES + DIRECTORY_BYTES,
    ROOM = BLOCKS * BLOCK_BYTES + PAGE_BYTES,
    EDIT_BYTES = 4,
    INPUT_MAX = 64, /* More edits are contradictions nearly always. */
    DIRECTORY_FROM = 60000,
};

static const struct cell_arena_size arena_size = {.blocks = BLOCKS, .block_bytes = BLOCK_BYTES};

/* A table as the killed process has left it. */
struct scene {
    struct row_table_spec spec;
    struct row_table_kept kept;
    uint64_t set;
    uint8_t intact[ROOM];
};

static struct scene scenes[] = {
    {
        .spec = {.name = "rows",
                 .width = WIDTH,
                 .optimizer = SPARSE_ROW_ADAGRAD,
                 .seed = 3,
                 .scale = 0.5F,
                 .number = 1},
        .kept = {.step = STEPS, .floor = STEPS - 1, .base = 1},
    },
    {
        .spec = {.name = "counts of rows",
                 .width = 1,
                 .optimizer = SPARSE_SGD,
                 .seed = 3,
                 .number = 1,
                 .expire_after = 2,
                 .counts = true},
        .kept = {.step = STEPS, .floor = STEPS - 1, .base = 1},
    },
};
static struct scene *scene;
static struct cell_arena arena;
static struct row_table *table;
static uint8_t *memory;

static void open_table(uint64_t owner)
{
    cell_arena_open(&arena, memory, arena_size);
    cell_arena_keep(&arena, owner);
    scene->spec.owner = owner == 0 ? cell_arena_new_set(&arena)
                                   : (struct cell_owner){.arena = &arena, .set = owner};
    enum tn_status status = row_table_open(&scene->spec, &table, NULL);
    assert(status == TN_OK);
}

static void close_table(void)
{
    cell_arena_close(&arena);
    row_table_close(table);
}

/* Every third key. */
static void train(uint64_t step)
{
    const struct sparse_optimizer optimizer = {.kind = scene->spec.optimizer, .epsilon = 1e-8};
    const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.1, step);
    uint64_t keys[KEYS], count = 0;
    float values[KEYS * WIDTH];
    for (uint64_t k = step % 3; k < KEYS; k += 3) { keys[count++] = k * 1000; }
    for (uint64_t i = 0; i < count * scene->spec.width; i++) { values[i] = (float)(i % 7) - 3; }
    const struct sparse_rows rows = {.count = count, .keys = keys, .values = values};
    enum tn_status status = row_table_apply(table, &constants, rows, NULL);
    assert(status == TN_OK);
    row_table_release(table, step);
}

static void set_up(struct scene *one)
{
    scene = one;
    memset(memory, 0, ROOM);
    open_table(0);
    scene->set = scene->spec.owner.set;
    for (uint64_t step = 0; step < STEPS; step++) { train(step); }
    const bool whole = row_table_describe(table, &scene->kept.cells);
    assert(whole);
    train(STEPS); /* The record does not have this step. */
    close_table();
    memcpy(scene->intact, memory, ROOM);
}

static void edit(const uint8_t *edits, size_t size)
{
    for (size_t at = 0; at + EDIT_BYTES <= size; at += EDIT_BYTES) {
        const uint8_t *one = edits + at;
        const uint32_t offset = (uint32_t)one[0] << 8 | one[1];
        uint8_t *byte = memory + (offset >= DIRECTORY_FROM
                                      ? BYTES - 1 - (offset - DIRECTORY_FROM) % DIRECTORY_BYTES
                                      : offset);
        *byte = one[2] % 2 == 0 ? one[3] : (uint8_t)(*byte + one[3]);
    }
}

/* All rows, in ascending order and none twice. */
static void save(bool all)
{
    uint64_t count;
    enum tn_status status = row_table_begin_save(table, STEPS, all, &count, NULL);
    assert(status == TN_OK && count <= row_table_stats(table).rows);
    status = row_table_sort_save(table, NULL);
    assert(status == TN_OK);
    for (uint64_t i = 1; i < count; i++) {
        assert(row_table_saved_row(table, i - 1).key < row_table_saved_row(table, i).key);
    }
    row_table_end_save(table, false);
}

static void use_table(void)
{
    uint64_t keys[KEYS];
    float values[KEYS * WIDTH];
    for (uint64_t k = 0; k < KEYS; k++) { keys[k] = k * 1000; }
    for (uint64_t step = STEPS - 1; step <= STEPS; step++) {
        row_table_read(table, step, keys, KEYS, values);
    }
    save(true);
    save(false);
    const struct row_table_stats stats = row_table_stats(table);
    assert(stats.rows <= stats.cells && stats.dirty <= stats.cells);
    train(STEPS);
}

static bool recover(void)
{
    open_table(scene->set);
    return row_table_recover(table, &scene->kept, NULL) == TN_OK;
}

static void open_scenes(void)
{
    memory = aligned_alloc(PAGE_BYTES, ROOM);
    assert(memory != NULL);
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) { set_up(&scenes[s]); }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (memory == NULL) { open_scenes(); }
    if (size == 0 || size > INPUT_MAX) { return 0; }
    scene = &scenes[(size - 1) % EDIT_BYTES == 1 ? 1 : 0];
    memcpy(memory, scene->intact, ROOM);
    const uint32_t cells = scene->kept.cells;
    scene->kept.cells =
        data[0] == INT8_MAX ? UINT32_MAX : cells + data[0] - (data[0] > INT8_MAX ? 256U : 0U);
    edit(data + 1, size - 1);
    const bool accepted = recover();
    if (accepted) { use_table(); }
    close_table();
    if (accepted) {
        const bool again = recover();
        assert(again);
        close_table();
    }
    scene->kept.cells = cells;
    return 0;
}
