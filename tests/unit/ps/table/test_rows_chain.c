/* Which saves continue a chain of files, and its bounds. */
#include "ps/table/rows_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct rows_chain chain_of(uint64_t first, uint32_t count, uint64_t full, uint64_t delta)
{
    struct rows_chain chain = {.count = 0};
    for (uint32_t f = 0; f < count; f++) {
        const struct manifest_rows file = {.checkpoint = first + f, .bytes = f == 0 ? full : delta};
        rows_chain_append(&chain, &file, 10 * (first + f));
    }
    return chain;
}

/* Nothing is continued at first, then until the deltas are half as large as the full file. */
static void deltas_are_small(void **state)
{
    (void)state;
    struct rows_chain chain = chain_of(1, 0, 0, 0);
    assert_false(rows_chain_continues(&chain, 1, 10));
    chain = chain_of(1, 1, 100, 20);
    assert_true(rows_chain_continues(&chain, 2, 20));
    chain = chain_of(1, 3, 100, 20);
    assert_true(rows_chain_continues(&chain, 4, 40));
    chain = chain_of(1, 4, 100, 20);
    assert_false(rows_chain_continues(&chain, 5, 50));
}

/* Each block of ids begins with a full file, so a chain has at most one block of files. */
static void blocks_share_no_file(void **state)
{
    (void)state;
    struct rows_chain chain = chain_of(16, MANIFEST_CHAIN_MAX - 1, 1000, 1);
    assert_true(rows_chain_continues(&chain, 31, 310));
    assert_false(rows_chain_continues(&chain, 32, 320));
    chain = chain_of(16, MANIFEST_CHAIN_MAX, 1000, 1);
    assert_false(rows_chain_continues(&chain, 32, 320));
    chain = chain_of(31, 1, 1000, 1);
    assert_false(rows_chain_continues(&chain, 32, 320));
    assert_int_equal(manifest_chain_begin(31), 16);
    assert_int_equal(manifest_chain_begin(32), 32);
}

/* A save of an earlier step is not a delta: it could not undo rows. */
static void steps_ascend(void **state)
{
    (void)state;
    const struct rows_chain chain = chain_of(16, 2, 1000, 1);
    assert_true(rows_chain_continues(&chain, 20, 170));
    assert_false(rows_chain_continues(&chain, 20, 169));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_are_small),
        cmocka_unit_test(blocks_share_no_file),
        cmocka_unit_test(steps_ascend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
