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
    return pool == NULL || !gradients_open(&gradients, pool, shards, 2);
}

static int teardown(void **state)
{
    (void)state;
    gradients_close(&gradients);
    buffer_pool_destroy(pool); /* Asserts that every buffer was released. */
    return 0;
}

static void expect_part(const struct buffer *part, const float *expected, size_t count)
{
    assert_int_equal(part->size, count * sizeof *expected);
    assert_memory_equal(part->data, expected, count * sizeof *expected);
}

/* Each ps gets the range of its shard, and nodes are independent. */
static void test_each_ps_gets_its_range(void **state)
{
    (void)state;
    const float first[] = {1, 2, 3, 4, 5}, second[] = {6, 7, 8, 9, 10};
    assert_true(gradients_put(&gradients, 0, first));
    assert_true(gradients_put(&gradients, SLICES_MAX - 1, second));
    expect_part(gradients_get(&gradients, 0, 0), first, 2);
    expect_part(gradients_get(&gradients, 0, 1), first + 2, 3);
    expect_part(gradients_get(&gradients, SLICES_MAX - 1, 1), second + 2, 3);
}

/* A part that is being sent keeps its contents when its node is computed again. */
static void test_parts_in_use_do_not_change(void **state)
{
    (void)state;
    const float first[] = {1, 2, 3, 4, 5}, second[] = {6, 7, 8, 9, 10};
    assert_true(gradients_put(&gradients, 3, first));
    struct buffer *sent = buffer_retain(gradients_get(&gradients, 3, 1));
    assert_true(gradients_put(&gradients, 3, second));
    expect_part(sent, first + 2, 3);
    expect_part(gradients_get(&gradients, 3, 1), second + 2, 3);
    buffer_release(sent);
}

/* A cleared table can be filled again. */
static void test_clear_releases_all_parts(void **state)
{
    (void)state;
    const float sum[] = {1, 2, 3, 4, 5};
    assert_true(gradients_put(&gradients, 7, sum));
    gradients_clear(&gradients);
    assert_null(gradients.buffers[7 * 2]);
    assert_true(gradients_put(&gradients, 7, sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_ps_gets_its_range, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_in_use_do_not_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clear_releases_all_parts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
