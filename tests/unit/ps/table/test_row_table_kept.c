/* Tables whose process is killed, between steps, in the middle of one and during saves, against
 * one that is never killed: they have the same rows, versions and deltas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "ps/table/row_table_private.h"

enum { KEYS = 300, WIDTH = 3, STEPS = 250, TOUCHED = 30, SEEDS = 20, LAG = 4 };
enum { PAGE_BYTES = 4096, BLOCKS = 32 };

static const struct cell_arena_size size = {.blocks = BLOCKS, .block_bytes = PAGE_BYTES};
static struct error error;

struct history {
    struct random random;
    struct row_table_spec spec;
    struct sparse_optimizer optimizer;
    uint8_t *memory;
    struct cell_arena arena;
    struct row_table *table, *wanted; /* `wanted` is never killed. */
    struct row_table_kept kept;       /* The record. */
    uint64_t floor, base, save_step;
    bool saving;
    uint32_t kills, torn, deltas;
};

static void open_arena(struct history *h, uint64_t set)
{
    cell_arena_open(&h->arena, h->memory, size);
    cell_arena_keep(&h->arena, set);
}

static void open_table(struct history *h, struct cell_owner owner, struct row_table **out)
{
    h->spec.owner = owner;
    assert_int_equal(row_table_open(&h->spec, out, &error), TN_OK);
}

static void begin(struct history *h, uint64_t seed)
{
    *h = (struct history){.random.state = seed};
    h->spec = (struct row_table_spec){.name = "shops",
                                      .width = WIDTH,
                                      .optimizer = (enum sparse_kind)(seed % SPARSE_KINDS),
                                      .seed = seed,
                                      .scale = 0.05F,
                                      .expire_after = seed % 2 == 0 ? 1 + seed * seed / 3 % 40 : 0,
                                      .number = 2};
    h->optimizer = (struct sparse_optimizer){
        .kind = h->spec.optimizer, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8};
    h->memory = aligned_alloc(PAGE_BYTES, (BLOCKS + 1) * PAGE_BYTES);
    assert_non_null(h->memory);
    memset(h->memory, 0, (BLOCKS + 1) * PAGE_BYTES);
    open_table(h, (struct cell_owner){.arena = NULL}, &h->wanted);
    open_arena(h, 0);
    open_table(h, cell_arena_new_set(&h->arena), &h->table);
    assert_true(row_table_describe(h->table, &h->kept.cells));
}

static void end(struct history *h)
{
    if (h->saving) { row_table_end_save(h->wanted, false); }
    if (h->saving) { row_table_end_save(h->table, false); }
    row_table_close(h->wanted);
    row_table_close(h->table);
    free(h->memory);
}

static uint64_t key_of(uint64_t k)
{
    return k * UINT64_C(11400714819323198) + 1;
}

/* The record of a complete step. */
static void note(struct history *h)
{
    h->kept = (struct row_table_kept){
        .step = row_table_step(h->table), .floor = h->floor, .base = h->base};
    assert_true(row_table_describe(h->table, &h->kept.cells));
}

static enum tn_status recover(struct history *h)
{
    const uint64_t set = h->table->spec.owner.set;
    cell_arena_close(&h->arena);
    row_table_close(h->table);
    open_arena(h, set);
    open_table(h, (struct cell_owner){.arena = &h->arena, .set = set}, &h->table);
    return row_table_recover(h->table, &h->kept, &error);
}

static void kill_process(struct history *h)
{
    if (h->saving) { row_table_end_save(h->wanted, false); }
    if (h->saving) { row_table_end_save(h->table, false); } /* Its memory is the process's. */
    h->saving = false;
    h->kills++;
    assert_int_equal(recover(h), TN_OK);
}

/* Cells of the step that was not completed have any contents. */
static void scribble(struct history *h)
{
    for (uint32_t n = 1; n <= h->table->cells; n++) {
        struct cell *cell = cell_at(h->table, n);
        if (cell->step != h->kept.step + 1 || random_below(&h->random, 2) == 0) { continue; }
        cell->key = key_of(random_below(&h->random, KEYS));
        memset(cell->numbers, 0x55, h->table->row_numbers * sizeof(float) / 2);
        cell->older = (uint32_t)random_below(&h->random, 1000);
    }
}

static void apply(struct history *h)
{
    uint64_t keys[TOUCHED + 1], count = 0;
    float values[(TOUCHED + 1) * WIDTH];
    const uint64_t most = 1 + random_below(&h->random, TOUCHED), step = row_table_step(h->table);
    for (uint32_t k = 0; k < KEYS && count < most; k++) {
        if (random_below(&h->random, k < 20 ? 3 : 12) != 0) { continue; }
        for (uint32_t c = 0; c < WIDTH; c++) {
            values[count * WIDTH + c] = (float)random_below(&h->random, 2001) / 1000 - 1;
        }
        keys[count++] = key_of(k);
    }
    const struct sparse_constants constants = sparse_constants_of(&h->optimizer, 0.1, step);
    const struct sparse_rows rows = {.count = count, .keys = keys, .values = values};
    assert_int_equal(row_table_apply(h->wanted, &constants, rows, &error), TN_OK);
    assert_int_equal(row_table_apply(h->table, &constants, rows, &error), TN_OK);
    h->floor = u64_max(h->floor, step - u64_min(step, random_below(&h->random, LAG)));
    row_table_release(h->wanted, h->floor);
    row_table_release(h->table, h->floor);
    while (random_below(&h->random, 8) == 0) { /* The record still has the step before. */
        scribble(h);
        kill_process(h);
        assert_int_equal(row_table_step(h->table), step);
        assert_int_equal(row_table_apply(h->table, &constants, rows, &error), TN_OK);
        row_table_release(h->table, h->floor);
        h->torn++;
    }
}

static void compare(struct history *h, uint64_t step)
{
    static uint64_t keys[KEYS];
    static float got[KEYS][WIDTH], wanted[KEYS][WIDTH];
    for (uint32_t k = 0; k < KEYS; k++) { keys[k] = key_of(k); }
    row_table_read(h->table, step, keys, KEYS, &got[0][0]);
    row_table_read(h->wanted, step, keys, KEYS, &wanted[0][0]);
    assert_memory_equal(got, wanted, sizeof got);
}

/* Both saves have the same rows, values and state. */
static void begin_save(struct history *h)
{
    const uint64_t present = row_table_step(h->table);
    const bool all = random_below(&h->random, 4) == 0;
    uint64_t rows, wanted;
    h->save_step = present - random_below(&h->random, present - h->floor + 1);
    if (h->save_step < h->base) { return; }
    h->saving = true;
    assert_int_equal(row_table_begin_save(h->table, h->save_step, all, &rows, &error), TN_OK);
    assert_int_equal(row_table_begin_save(h->wanted, h->save_step, all, &wanted, &error), TN_OK);
    assert_int_equal(rows, wanted);
    assert_int_equal(row_table_sort_save(h->table, &error), TN_OK);
    assert_int_equal(row_table_sort_save(h->wanted, &error), TN_OK);
    for (uint64_t i = 0; i < rows; i++) {
        const struct row_table_row a = row_table_saved_row(h->table, i),
                                   b = row_table_saved_row(h->wanted, i);
        assert_int_equal(a.key, b.key);
        assert_int_equal(a.step, b.step);
        assert_memory_equal(a.numbers, b.numbers, h->table->row_numbers * sizeof(float));
    }
    h->deltas += !all && rows > 0;
}

static void end_save(struct history *h)
{
    const bool committed = random_below(&h->random, 3) != 0;
    row_table_end_save(h->table, committed);
    row_table_end_save(h->wanted, committed);
    h->saving = false;
    if (committed) { h->base = h->save_step; }
    note(h);
}

static void kills_change_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct history h;
        begin(&h, seed);
        for (uint32_t i = 0; i < STEPS; i++) {
            apply(&h);
            note(&h);
            if (!h.saving && random_below(&h.random, 10) == 0) { begin_save(&h); }
            if (random_below(&h.random, 5) == 0) { kill_process(&h); }
            if (h.saving && random_below(&h.random, 4) == 0) { end_save(&h); }
            for (uint64_t s = h.floor; s <= i + 1; s++) { compare(&h, s); }
            assert_int_equal(row_table_stats(h.table).rows, row_table_stats(h.wanted).rows);
        }
        assert_int_equal(row_table_stats(h.table).rows, row_table_stats(h.wanted).rows);
        assert_true(row_table_stats(h.table).cells <= KEYS + (LAG + 1) * TOUCHED);
        assert_true(h.kills > 20 && h.torn > 10 && h.deltas > 3);
        end(&h);
    }
}

static void train(struct history *h, uint32_t steps)
{
    begin(h, 5);
    for (uint32_t i = 0; i < steps; i++) {
        apply(h);
        note(h);
    }
}

/* Cells, blocks and records that do not fit together are refused. */
static void contradictions_are_refused(void **state)
{
    struct history h;
    (void)state;
    for (int damage = 0; damage < 5; damage++) {
        train(&h, 30);
        struct cell *first = cell_at(h.table, 1), *second = cell_at(h.table, 2);
        assert_true(h.table->block_count > 2);
        switch (damage) {
        case 0:
            second->key = first->key;
            second->step = first->step = h.kept.step;
            break;
        case 1: h.kept.cells += (uint32_t)BLOCKS << h.table->block_shift; break;
        case 2: cell_arena_give(&h.arena, h.table->blocks[1]); break;
        case 3: first->key = UINT64_MAX; break;
        default: h.spec.part = row_part_of(&(struct row_borders){0}, 2, 0); break;
        }
        assert_int_equal(recover(&h), TN_ECORRUPT);
        end(&h);
    }
}

/* Cells that do not fit in the arena are on the heap: such a table is not noted. */
static void tables_larger_than_the_arena_are_not_kept(void **state)
{
    struct history h;
    uint64_t keys[BLOCKS * 80];
    static float values[BLOCKS * 80 * WIDTH];
    uint32_t cells;
    (void)state;
    train(&h, 3);
    for (uint64_t i = 0; i < BLOCKS * 80; i++) { keys[i] = i + 1; }
    const struct sparse_constants constants = sparse_constants_of(&h.optimizer, 0.1, 3);
    const struct sparse_rows rows = {.count = BLOCKS * 80, .keys = keys, .values = values};
    assert_int_equal(row_table_apply(h.table, &constants, rows, &error), TN_OK);
    assert_false(row_table_describe(h.table, &cells));
    assert_int_equal(row_table_apply(h.wanted, &constants, rows, &error), TN_OK);
    compare(&h, 4);
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kills_change_nothing),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(tables_larger_than_the_arena_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
