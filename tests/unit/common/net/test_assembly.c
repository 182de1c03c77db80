/* Whole bodies from chunks, in both orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/net/assembly.h"

enum { CHUNK_BYTES = 64, TOTAL = 160 };

static struct buffer_pool *pool;
static struct assembly assembly;
static struct buffer *whole;
static const char *fault;

static int set_up(void **state)
{
    (void)state;
    pool = buffer_pool_create(0);
    return pool == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    assembly_reset(&assembly);
    buffer_pool_destroy(pool); /* Asserts that no reference is left. */
    return 0;
}

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 7 + 1);
}

/* Add the chunk at `offset`, as `header` describes it. */
static enum assembly_result add(struct frame_header header, uint64_t offset, uint32_t size,
                                uint64_t total)
{
    struct buffer *chunk = size > 0 ? buffer_acquire(pool, size) : NULL;
    if (chunk != NULL) {
        chunk->size = size;
        for (uint32_t i = 0; i < size; i++) { ((uint8_t *)chunk->data)[i] = byte_at(offset + i); }
    }
    header.offset = offset;
    header.body_bytes = size;
    const enum assembly_result result =
        assembly_add(&assembly, pool, &header, chunk, total, CHUNK_BYTES, &whole, &fault);
    buffer_release(chunk);
    return result;
}

static void check_whole(uint64_t total)
{
    assert_non_null(whole);
    assert_int_equal(whole->size, total);
    for (uint64_t i = 0; i < total; i++) {
        assert_int_equal(((const uint8_t *)whole->data)[i], byte_at(i));
    }
    buffer_release(whole);
}

static const struct frame_header sum = {.type = FRAME_SUM, .step = 3};
static const struct frame_header push = {.type = FRAME_PUSH, .step = 3, .count = 1};

/* Sums and values come from their beginning. */
static void chunks_in_order_make_a_body(void **state)
{
    (void)state;
    assert_int_equal(add(sum, 0, 64, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(sum, 64, 64, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(sum, 128, 32, TOTAL), ASSEMBLY_COMPLETE);
    check_whole(TOTAL);
}

/* Pushes come from their end; another body follows on the same connection. */
static void chunks_from_the_end_make_a_body(void **state)
{
    (void)state;
    assert_int_equal(add(push, 128, 32, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(push, 64, 64, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(push, 0, 64, TOTAL), ASSEMBLY_COMPLETE);
    check_whole(TOTAL);
    assert_int_equal(add(sum, 0, 64, 64), ASSEMBLY_COMPLETE);
    check_whole(64);
}

/* A body of one chunk is the one that arrived. */
static void a_single_chunk_is_not_copied(void **state)
{
    (void)state;
    struct frame_header header = sum;
    struct buffer *chunk = buffer_acquire(pool, 64);
    chunk->size = header.body_bytes = 64;
    assert_int_equal(assembly_add(&assembly, pool, &header, chunk, 64, CHUNK_BYTES, &whole, &fault),
                     ASSEMBLY_COMPLETE);
    assert_ptr_equal(whole, chunk);
    buffer_release(whole);
    buffer_release(chunk);
}

/* A question without a body is complete at once. */
static void an_empty_body_is_complete(void **state)
{
    (void)state;
    assert_int_equal(add((struct frame_header){.type = FRAME_PULL}, 0, 0, 0), ASSEMBLY_COMPLETE);
    assert_null(whole);
}

/* Another size than that of the job, and a gap, end the connection. */
static void other_sizes_and_gaps_are_faults(void **state)
{
    (void)state;
    assert_int_equal(add(sum, 0, 64, 32), ASSEMBLY_INVALID);
    assert_non_null(fault);
    assembly_reset(&assembly);
    assert_int_equal(add(sum, 0, 64, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(sum, 128, 32, TOTAL), ASSEMBLY_INVALID);
    assert_null(assembly.body);
    assembly_reset(&assembly);
    assert_int_equal(add(sum, 0, 0, TOTAL), ASSEMBLY_INVALID);
}

/* A body that a broken connection has cut begins again. */
static void a_cut_body_is_not_continued(void **state)
{
    (void)state;
    assert_int_equal(add(sum, 0, 64, TOTAL), ASSEMBLY_MORE);
    assembly_reset(&assembly);
    assert_int_equal(add(sum, 64, 64, TOTAL), ASSEMBLY_INVALID);
    assembly_reset(&assembly);
    chunks_in_order_make_a_body(state);
}

/* The rest of a body that is not wanted any more is ignored, and another one begins; also when its
 * first chunk was not wanted. */
static void a_skipped_body_leaves_nothing(void **state)
{
    (void)state;
    struct frame_header next = sum;
    next.step++;
    assert_int_equal(add(sum, 0, 64, TOTAL), ASSEMBLY_MORE);
    assembly_skip(&assembly, &sum);
    assert_null(assembly.body);
    assert_int_equal(add(sum, 64, 64, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(sum, 128, 32, TOTAL), ASSEMBLY_MORE);
    assert_null(whole);
    assert_int_equal(add(next, 0, 64, TOTAL), ASSEMBLY_MORE);
    assert_int_equal(add(sum, 64, 64, TOTAL), ASSEMBLY_INVALID);
    assembly_reset(&assembly);
    assembly_skip(&assembly, &sum);
    chunks_in_order_make_a_body(state);
}

/* Without memory the caller hears of it, and nothing is kept. */
static void no_memory_is_reported(void **state)
{
    (void)state;
    buffer_pool_destroy(pool);
    pool = buffer_pool_create(1 << 16);
    assert_int_equal(add(sum, 0, 64, 1 << 20), ASSEMBLY_NO_MEMORY);
    assert_null(assembly.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chunks_in_order_make_a_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunks_from_the_end_make_a_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_single_chunk_is_not_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_body_is_complete, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_sizes_and_gaps_are_faults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_body_is_not_continued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_skipped_body_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_memory_is_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
