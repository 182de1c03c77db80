/* Blocks of cells: owners that another process finds, and blocks without an owner. */
#include "ps/table/cell_arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE_BYTES = 4096, BLOCKS = 5 };

static const struct cell_arena_size size = {.blocks = BLOCKS, .block_bytes = PAGE_BYTES};
static uint8_t *memory;

static int set_up(void **state)
{
    (void)state;
    memory = aligned_alloc(PAGE_BYTES, (BLOCKS + 1) * PAGE_BYTES);
    assert_non_null(memory);
    assert_true(cell_arena_bytes(size) <= (BLOCKS + 1) * PAGE_BYTES);
    memset(memory, 0, (BLOCKS + 1) * PAGE_BYTES);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static uint32_t owned(struct cell_owner owner, uint32_t table)
{
    uint32_t count = 0, number;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        count += cell_arena_block(owner, table, i, &number) != NULL;
    }
    return count;
}

/* Every block is given out once, and again when it came back. */
static void blocks_are_taken_and_given(void **state)
{
    struct cell_arena arena;
    void *blocks[BLOCKS];
    int other;
    (void)state;
    cell_arena_open(&arena, memory, size);
    cell_arena_keep(&arena, 0);
    const struct cell_owner owner = cell_arena_new_set(&arena);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i] = cell_arena_take(owner, 0, i);
        assert_true(cell_arena_has(&arena, blocks[i]));
        memset(blocks[i], (int)i, PAGE_BYTES);
        for (uint32_t k = 0; k < i; k++) { assert_ptr_not_equal(blocks[k], blocks[i]); }
    }
    assert_null(cell_arena_take(owner, 0, BLOCKS));
    assert_false(cell_arena_has(&arena, &other));
    cell_arena_give(&arena, blocks[2]);
    assert_ptr_equal(cell_arena_take(owner, 1, 7), blocks[2]);
}

/* The next process finds those of the set that it keeps, by table and number; others are free. */
static void the_next_process_finds_one_set(void **state)
{
    struct cell_arena arena;
    uint32_t number = 0, found = 0;
    (void)state;
    cell_arena_open(&arena, memory, size);
    cell_arena_keep(&arena, 0);
    const struct cell_owner old = cell_arena_new_set(&arena), owner = cell_arena_new_set(&arena);
    assert_non_null(cell_arena_take(old, 0, 0));
    assert_non_null(cell_arena_take(owner, 0, 0));
    uint8_t *block = cell_arena_take(owner, 3, 9);
    block[17] = 99;
    cell_arena_close(&arena);
    cell_arena_give(&arena, block); /* It stays. */
    cell_arena_open(&arena, memory, size);
    cell_arena_keep(&arena, owner.set);
    assert_int_equal(owned((struct cell_owner){&arena, old.set}, 0), 0);
    assert_int_equal(owned((struct cell_owner){&arena, owner.set}, 0), 1);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        const uint8_t *at = cell_arena_block((struct cell_owner){&arena, owner.set}, 3, i, &number);
        if (at == NULL) { continue; }
        found++;
        assert_ptr_equal(at, block);
        assert_int_equal(number, 9);
        assert_int_equal(at[17], 99);
    }
    assert_int_equal(found, 1);
    const struct cell_owner next = cell_arena_new_set(&arena);
    assert_true(next.set != owner.set && next.set != 0);
    for (uint32_t i = 2; i < BLOCKS; i++) { assert_non_null(cell_arena_take(next, 0, i)); }
    assert_null(cell_arena_take(next, 0, BLOCKS));
}

/* A process that died between the claim of a block and its owner leaves a free one. */
static void half_taken_blocks_are_free(void **state)
{
    struct cell_arena arena;
    (void)state;
    memset(memory + BLOCKS * PAGE_BYTES, 0xff, sizeof(uint64_t));
    cell_arena_open(&arena, memory, size);
    cell_arena_keep(&arena, UINT64_MAX);
    const struct cell_owner owner = cell_arena_new_set(&arena);
    for (uint32_t i = 0; i < BLOCKS; i++) { assert_non_null(cell_arena_take(owner, 0, i)); }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_are_taken_and_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_next_process_finds_one_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_taken_blocks_are_free, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
