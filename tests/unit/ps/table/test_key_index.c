/* An index against a list of all cells: random additions, removals and replacements, in parts so
 * full that cells are in buckets behind their own. */
#include "ps/table/key_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/random.h"

enum { CELLS = 1200, TURNS = 20000, SEEDS = 6, PARTS = 2, PART_BITS = 12 };
#define NO_LIMIT UINT64_MAX

struct cells {
    uint64_t hashes[CELLS + 1];
    bool used[CELLS + 1];
    uint32_t count;
};

static struct key_index key_index;

static uint64_t hash_of(const void *ctx, uint32_t cell)
{
    const struct cells *cells = ctx;
    return cells->hashes[cell];
}

static uint64_t hash_of_listed(const void *ctx, uint32_t cell)
{
    const uint64_t *hashes = ctx;
    return hashes[cell];
}

static void fetch(const void *ctx, uint32_t cell)
{
    (void)ctx;
    assert_true(cell != KEY_INDEX_NONE);
}

static struct key_index_cells cells_of(const struct cells *cells)
{
    return (struct key_index_cells){.hash_of = hash_of, .fetch = fetch, .ctx = cells};
}

static struct key_index_cells listed(const uint64_t *hashes)
{
    return (struct key_index_cells){.hash_of = hash_of_listed, .fetch = fetch, .ctx = hashes};
}

static bool is_found(uint64_t hash, uint32_t cell)
{
    struct key_index_search search;
    key_index_begin(&key_index, hash, &search);
    for (;;) {
        const uint32_t found = key_index_next(&search);
        if (found == cell || found == KEY_INDEX_NONE) { return found == cell; }
    }
}

static void compare(const struct cells *cells)
{
    static bool listed[CELLS + 1];
    struct key_index_place place = {.part = 0};
    uint32_t cell, count = 0;
    for (uint32_t c = 1; c <= CELLS; c++) {
        listed[c] = false;
        assert_int_equal(is_found(cells->hashes[c], c), cells->used[c]);
    }
    while ((cell = key_index_each(&key_index, &place)) != KEY_INDEX_NONE) {
        assert_true(cells->used[cell] && !listed[cell]);
        listed[cell] = true;
        count++;
    }
    assert_int_equal(count, cells->count);
}

static void add(struct cells *cells, uint32_t cell)
{
    const struct key_index_cells all = cells_of(cells);
    assert_true(key_index_reserve(&key_index, cells->hashes[cell], &all));
    key_index_add(&key_index, cells->hashes[cell], cell);
    cells->used[cell] = true;
    cells->count++;
}

static void take_out(struct cells *cells, uint32_t cell)
{
    const struct key_index_cells all = cells_of(cells);
    key_index_remove(&key_index, cells->hashes[cell], cell, &all);
    cells->used[cell] = false;
    cells->count--;
}

/* Few buckets are the first one of a search, in some seeds one. Then many cells overflow. */
static void draw_hashes(struct cells *cells, struct random *random, uint64_t seed)
{
    for (uint32_t c = 1; c <= CELLS; c++) {
        const uint64_t bucket = random_below(random, (uint64_t)1 << seed);
        cells->hashes[c] =
            random_below(random, 256) << 56 | bucket << PART_BITS | random_below(random, PARTS);
    }
}

static void cells_are_found_until_they_are_removed(void **state)
{
    static struct cells cells;
    const struct key_index_cells all = cells_of(&cells);
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct random random = {.state = seed};
        cells = (struct cells){.count = 0};
        draw_hashes(&cells, &random, seed);
        for (uint32_t i = 0; i < TURNS; i++) {
            if (i == TURNS / 2) { key_index_divide(&key_index, CELLS, NO_LIMIT, &all); }
            const uint32_t cell = 1 + (uint32_t)random_below(&random, CELLS);
            const bool grows = i / 3000 % 2 == 0;
            if (!cells.used[cell] && (grows || random_below(&random, 4) == 0)) {
                add(&cells, cell);
            } else if (cells.used[cell] && (!grows || random_below(&random, 4) == 0)) {
                take_out(&cells, cell);
            }
            if (i % 100 == 0) { compare(&cells); }
        }
        for (uint32_t c = 1; c <= CELLS; c++) {
            if (cells.used[c]) { take_out(&cells, c); }
        }
        compare(&cells);
        assert_true(key_index.bytes > 0);
        key_index_clear(&key_index);
        assert_int_equal(key_index.bytes, 0);
    }
}

/* Another cell takes the place of one; the previous one is no longer found. */
static void a_cell_replaces_another_one(void **state)
{
    static struct cells cells;
    (void)state;
    for (uint32_t c = 1; c <= CELLS; c++) { cells.hashes[c] = 7; }
    for (uint32_t c = 1; c < 40; c++) { add(&cells, c); }
    key_index_replace(&key_index, 7, 30, 40);
    assert_true(is_found(7, 40) && !is_found(7, 30) && is_found(7, 39));
    key_index_clear(&key_index);
}

/* Removed cells leave slots for others: the index does not grow again. */
static void slots_are_used_again(void **state)
{
    static struct cells cells;
    struct random random = {.state = 3};
    (void)state;
    draw_hashes(&cells, &random, 8);
    for (uint32_t c = 1; c <= CELLS / 2; c++) { add(&cells, c); }
    const uint64_t bytes = key_index.bytes;
    for (uint32_t c = 1; c <= CELLS / 2; c++) {
        take_out(&cells, c);
        cells.hashes[c + CELLS / 2] = cells.hashes[c];
        add(&cells, c + CELLS / 2);
    }
    assert_int_equal(key_index.bytes, bytes);
    compare(&cells);
    key_index_clear(&key_index);
}

/* A small index has one part and almost no memory; it is divided twice as it gets larger. All cells
 * are found, and the memory is in proportion to their number, from the first division on. */
static void an_index_is_divided_as_it_grows(void **state)
{
    enum { MANY = 60000, FEW = 576 };
    static uint64_t hashes[MANY + 1];
    const struct key_index_cells list = listed(hashes);
    uint32_t divisions = 0;
    (void)state;
    for (uint32_t c = 1; c <= MANY; c++) { hashes[c] = key_index_hash(c); }
    for (uint32_t c = 1; c <= MANY; c++) {
        const uint32_t mask = key_index.part_mask;
        key_index_divide(&key_index, 1, NO_LIMIT, &list);
        divisions += key_index.part_mask != mask;
        assert_true(key_index_reserve(&key_index, hashes[c], &list));
        key_index_add(&key_index, hashes[c], c);
        assert_true(c > FEW || key_index.part_mask == 0);
        assert_true(key_index.bytes <= 64 + (uint64_t)c * 24);
    }
    assert_int_equal(divisions, 2);
    assert_int_equal(key_index.part_mask + 1, KEY_INDEX_PARTS);
    for (uint32_t c = 1; c <= MANY; c++) { assert_true(is_found(hashes[c], c)); }
    key_index_clear(&key_index);
    assert_int_equal(key_index.bytes, 0);
    /* A step that adds many keys divides it before them. */
    key_index_divide(&key_index, MANY, NO_LIMIT, &list);
    assert_int_equal(key_index.part_mask + 1, KEY_INDEX_PARTS);
    key_index_clear(&key_index);
}

/* Within a limit that does not suffice, the index keeps its parts. */
static void an_index_without_memory_is_not_divided(void **state)
{
    static uint64_t hashes[CELLS + 1];
    const struct key_index_cells list = listed(hashes);
    (void)state;
    for (uint32_t c = 1; c <= CELLS; c++) {
        hashes[c] = key_index_hash(c);
        assert_true(key_index_reserve(&key_index, hashes[c], &list));
        key_index_add(&key_index, hashes[c], c);
    }
    const uint64_t bytes = key_index.bytes;
    key_index_divide(&key_index, 1, bytes, &list);
    assert_true(key_index.part_mask == 0 && key_index.bytes == bytes);
    key_index_divide(&key_index, 1, NO_LIMIT, &list);
    assert_true(key_index.part_mask > 0);
    for (uint32_t c = 1; c <= CELLS; c++) { assert_true(is_found(hashes[c], c)); }
    key_index_clear(&key_index);
}

/* Cancelled reservations leave the room that was reserved to others. */
static void reservations_are_cancelled(void **state)
{
    static struct cells cells;
    const struct key_index_cells all = cells_of(&cells);
    struct random random = {.state = 5};
    (void)state;
    draw_hashes(&cells, &random, 3);
    for (uint32_t c = 1; c <= CELLS / 2; c++) { add(&cells, c); }
    for (uint32_t c = CELLS / 2 + 1; c <= CELLS; c++) {
        assert_true(key_index_reserve(&key_index, cells.hashes[c], &all));
    }
    const uint64_t bytes = key_index.bytes;
    key_index_cancel(&key_index);
    assert_true(key_index.reserved == 0 && key_index.used == CELLS / 2);
    for (uint32_t c = CELLS / 2 + 1; c <= CELLS; c++) { add(&cells, c); }
    assert_int_equal(key_index.bytes, bytes);
    compare(&cells);
    key_index_clear(&key_index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_found_until_they_are_removed),
        cmocka_unit_test(a_cell_replaces_another_one),
        cmocka_unit_test(slots_are_used_again),
        cmocka_unit_test(an_index_is_divided_as_it_grows),
        cmocka_unit_test(an_index_without_memory_is_not_divided),
        cmocka_unit_test(reservations_are_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
