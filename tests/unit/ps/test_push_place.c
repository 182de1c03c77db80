/* Pushes that a shard collects where the next values will be (ps/push_place.h). */
#include "tests/unit/ps/shard_fixture.h"

/* The push of a worker, collected where the values of the next step will be. */
static struct pushed_gradient *push_in_place(struct slice_node node)
{
    static float sum[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) { sum[i] = sum_at(node, i); }
    struct pushed_gradient *made = pushed_gradient(pool, sum, COUNT, CHUNK_BYTES);
    struct pushed_gradient *placed = shard_begin_push(&shard);
    assert_non_null(placed);
    for (uint32_t i = made->capacity; i > 0; i--) {
        pushed_gradient_add(placed, buffer_retain(made->chunks[i - 1]));
    }
    pushed_gradient_free(made);
    return placed;
}

/* One update by the pushes of `nodes`, of which the first one may be in place; then its arrays. */
static void update_once(enum optimizer_kind kind, const struct slice_node nodes[2], bool in_place,
                        float out[static OPTIMIZER_ARRAYS_MAX][COUNT])
{
    open_shard(kind);
    if (in_place) {
        assert_false(shard_release_previous(&shard));
        shard_hold(&shard, nodes[0].first, push_in_place(nodes[0]));
        const struct buffer *place = shard.place;
        assert_null(shard_begin_push(&shard)); /* For one push only. */
        hold(nodes[1]);
        assert_true(shard_apply(&shard, nodes, 2));
        assert_ptr_equal(shard.current[0], place);
        assert_null(shard.place);
    } else {
        hold(nodes[0]);
        hold(nodes[1]);
        assert_true(shard_apply(&shard, nodes, 2));
    }
    for (uint32_t a = 0; a < shard.arrays; a++) {
        memcpy(out[a], shard.current[a]->data, sizeof out[a]);
    }
}

/* A push may be where the next values will be, alone or with others: the bits are the same. */
static void test_pushes_in_place_are_applied(void **state)
{
    static float expected[OPTIMIZER_ARRAYS_MAX][COUNT], found[OPTIMIZER_ARRAYS_MAX][COUNT];
    const struct slice_node nodes[] = {{0, 4}, {4, 2}}, root = {0, V};
    for (enum optimizer_kind kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        update_once(kind, nodes, false, expected);
        (void)close_shard(state);
        update_once(kind, nodes, true, found);
        assert_memory_equal(found, expected, sizeof expected);
        (void)close_shard(state);
    }
    /* Also the sum of the root, which nothing adds up elsewhere. */
    open_shard(OPTIMIZER_SGD);
    float before = value(4321);
    shard_hold(&shard, 0, push_in_place(root));
    assert_true(shard_apply(&shard, &root, 1));
    float after = before - 0.5f * sum_at(root, 4321);
    assert_memory_equal(&after, &(float){value(4321)}, sizeof after);
}

/* The memory of the previous values is not used while something else has them. A push that is not
 * part of the update gives up its place: no chunk of it is copied there any longer. */
static void test_places_in_use_do_not_change(void **state)
{
    (void)state;
    const struct slice_node root = {0, V};
    open_shard(OPTIMIZER_SGD);
    hold(root);
    assert_true(shard_apply(&shard, &root, 1));
    struct buffer *lent = buffer_retain(shard.previous);
    const float first = ((const float *)lent->data)[0];
    assert_true(shard_release_previous(&shard));
    assert_false(shard_release_previous(&shard));
    struct pushed_gradient *late = push_in_place((struct slice_node){0, 1});
    hold(root);
    assert_true(shard_apply(&shard, &root, 1));
    assert_ptr_equal(shard.current[0], late->array);
    pushed_gradient_end(late);
    assert_true(shard_is_updated(&shard, late));
    assert_true(buffer_is_exclusive(shard.previous));
    assert_true(((const float *)lent->data)[0] == first);
    pushed_gradient_free(late);
    buffer_release(lent);
    /* An update that has begun has its memory. */
    assert_true(shard_begin_update(&shard));
    assert_null(shard_begin_push(&shard));
}

/* While workers still read retired values, pushes are collected elsewhere and no further memory is
 * taken; once they have returned them, the next push has their memory, as has an update without
 * such a push. */
static void test_pushes_wait_for_retired_values(void **state)
{
    (void)state;
    const struct slice_node parts[] = {{0, 4}, {4, 2}}, root = {0, V};
    open_shard(OPTIMIZER_ADAM);
    for (uint32_t round = 0; round < 2; round++) {
        hold(root);
        assert_true(shard_apply(&shard, &root, 1));
        struct buffer *former = shard.previous, *lent = buffer_retain(former);
        assert_true(shard_retire_previous(&shard));
        assert_false(shard_retire_previous(&shard));
        assert_null(shard_begin_push(&shard));
        hold(parts[0]);
        buffer_release(lent);
        if (round == 0) {
            shard_hold(&shard, 4, push_in_place(parts[1]));
            assert_ptr_equal(shard.place, former);
        } else {
            hold(parts[1]);
        }
        assert_true(shard_apply(&shard, parts, 2));
        assert_ptr_equal(shard.current[0], former);
        assert_null(shard.former);
    }
}

/* An update does not wait for readers of retired values, and leaves these as they are. Kept ones
 * are not waited for either. */
static void test_updates_do_not_wait_for_readers(void **state)
{
    (void)state;
    const struct slice_node root = {0, V};
    open_shard(OPTIMIZER_SGD);
    hold(root);
    assert_true(shard_apply(&shard, &root, 1));
    struct buffer *lent = buffer_retain(shard.previous);
    const float first = ((const float *)lent->data)[0];
    assert_true(shard_retire_previous(&shard));
    assert_null(shard_begin_push(&shard));
    hold(root);
    assert_true(shard_apply(&shard, &root, 1));
    assert_ptr_not_equal(shard.current[0], lent);
    assert_true(((const float *)lent->data)[0] == first);
    buffer_release(lent);
    assert_true(shard_keep(&shard, false));
    hold(root);
    assert_true(shard_apply(&shard, &root, 1));
    assert_ptr_equal(shard.previous, shard.kept_answer);
    assert_true(shard_retire_previous(&shard));
    struct pushed_gradient *placed = push_in_place(root);
    assert_ptr_not_equal(placed->array, shard.kept_answer);
    pushed_gradient_free(placed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pushes_in_place_are_applied, close_shard),
        cmocka_unit_test_teardown(test_places_in_use_do_not_change, close_shard),
        cmocka_unit_test_teardown(test_pushes_wait_for_retired_values, close_shard),
        cmocka_unit_test_teardown(test_updates_do_not_wait_for_readers, close_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
