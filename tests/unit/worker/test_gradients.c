/* Gradients of a step, divided into one buffer for each ps. */
#include "worker/gradients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct placement shards[] = {{0, 2}, {2, 3}};
static struct buffer_pool *pool;
static struct gradients gradients;

static int setup(void **state)
{
    (void)state;
    pool = buffer_pool_create(0);
    gradients_open(&gradients, pool, shards, 5);
    return pool == NULL;
}

static int teardown(void **state)
{
    (void)state;
    gradients_close(&gradients);
    buffer_pool_destroy(pool); /* Asserts that every buffer was released. */
    return 0;
}

static void put(uint32_t node, const float sum[static 5])
{
    float *memory = gradients_begin(&gradients, node);
    assert_non_null(memory);
    memcpy(memory, sum, 5 * sizeof *sum);
}

/* Takes the part. */
static void expect_part(struct buffer *part, const float *expected, size_t count)
{
    assert_non_null(part);
    assert_int_equal(part->size, count * sizeof *expected);
    assert_memory_equal(part->data, expected, count * sizeof *expected);
    buffer_release(part);
}

/* Each ps gets the range of its shard, whole or in parts, and nodes are independent. */
static void test_each_ps_gets_its_range(void **state)
{
    (void)state;
    const float first[] = {1, 2, 3, 4, 5}, second[] = {6, 7, 8, 9, 10};
    put(0, first);
    put(SLICES_MAX - 1, second);
    expect_part(gradients_part(&gradients, 0, 0, 0, 2), first, 2);
    expect_part(gradients_part(&gradients, 0, 1, 0, 3), first + 2, 3);
    expect_part(gradients_part(&gradients, 0, 1, 1, 3), first + 3, 2);
    expect_part(gradients_part(&gradients, SLICES_MAX - 1, 1, 0, 1), second + 2, 1);
}

/* A part that is being sent keeps its contents when its node is computed again, and when all are
 * cleared. */
static void test_parts_in_use_do_not_change(void **state)
{
    (void)state;
    const float first[] = {1, 2, 3, 4, 5}, second[] = {6, 7, 8, 9, 10};
    put(3, first);
    struct buffer *sent = gradients_part(&gradients, 3, 1, 0, 3);
    put(3, second);
    expect_part(gradients_part(&gradients, 3, 1, 0, 3), second + 2, 3);
    gradients_clear(&gradients);
    assert_null(gradients.buffers[3]);
    expect_part(sent, first + 2, 3);
}

/* The memory of the last gradient stays when it is cleared, and is that of the next one. */
static void test_last_gradient_stays(void **state)
{
    (void)state;
    const float sum[] = {1, 2, 3, 4, 5};
    float *memory = gradients_begin(&gradients, 0);
    memcpy(memory, sum, sizeof sum);
    gradients_clear(&gradients);
    struct buffer *other = buffer_acquire(pool, sizeof sum);
    assert_ptr_not_equal(other->data, memory);
    assert_memory_equal(memory, sum, sizeof sum);
    assert_ptr_equal(gradients_begin(&gradients, 0), memory);
    buffer_release(other);
}

static _Alignas(4096) uint8_t shared[8192];
static int reserved;

static void end_reservation(void *ctx)
{
    (void)ctx;
    reserved--;
}

static struct buffer *reserve(void *ctx, uint32_t ps, uint32_t line, size_t bytes)
{
    (void)ctx;
    if (reserved > 0) { return NULL; }
    struct buffer *place = buffer_wrap(shared + (size_t)line * 64, bytes, end_reservation, NULL);
    place->memory = 1 + ps;
    reserved++;
    return place;
}

/* Nodes that are computed while others may still have to be sent have memory of their own. */
static void test_one_node_is_in_shared_memory(void **state)
{
    (void)state;
    static const struct placement all = {0, 5};
    const struct memory_port port = {.page_bytes = 4096}; /* The range has no whole page. */
    const struct gradient_places places = {NULL, reserve};
    const float first[] = {1, 2, 3, 4, 5}, second[] = {6, 7, 8, 9, 10};
    gradients_open(&gradients, pool, &all, 5);
    gradient_array_open(&gradients.shared, &port, &places, &all, 1, 0);
    put(0, first);
    put(1, second);
    struct buffer *sent = gradients_part(&gradients, 0, 0, 0, 5);
    assert_int_equal(sent->memory, 1);
    expect_part(gradients_part(&gradients, 1, 0, 0, 5), second, 5);
    expect_part(gradients_part(&gradients, 0, 0, 0, 5), first, 5);
    expect_part(gradients_part(&gradients, 0, 0, 1, 3), first + 1, 2);
    gradients_clear(&gradients);
    put(0, second); /* The part is still being sent. */
    expect_part(sent, first, 5);
    put(0, first);
    sent = gradients_part(&gradients, 0, 0, 0, 5);
    assert_int_equal(sent->memory, 1);
    expect_part(sent, first, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_last_gradient_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_ps_gets_its_range, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_in_use_do_not_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_node_is_in_shared_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
