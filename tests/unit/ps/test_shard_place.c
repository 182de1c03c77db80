/* The chunks of pushes while an update follows them (P17), and the parts of that update. */
#include "tests/unit/ps/shard_fixture.h"

enum { CHUNKS = 7, CHUNK_FLOATS = CHUNK_BYTES / sizeof(float) };

static const struct slice_node nodes[] = {{0, 4}, {4, 2}};

/* A push of which nothing has arrived yet, where the next values will be or elsewhere. */
static struct pushed_gradient *begin_push(bool in_place)
{
    assert_int_equal(shard_chunks(&shard), CHUNKS);
    struct pushed_gradient *sum =
        in_place ? shard_begin_push(&shard) : pushed_gradient_create(CHUNKS);
    assert_non_null(sum);
    return sum;
}

/* The next chunk of the push of `node` arrives. Whether it is too late. */
static bool arrive(struct pushed_gradient *sum, struct slice_node node)
{
    const uint64_t first = (uint64_t)(CHUNKS - sum->count - 1) * CHUNK_FLOATS;
    const uint64_t end = first + CHUNK_FLOATS < COUNT ? first + CHUNK_FLOATS : COUNT;
    if (shard_is_updated(&shard, sum)) {
        pushed_gradient_skip(sum);
        return true;
    }
    struct buffer *chunk = buffer_acquire(pool, (end - first) * sizeof(float));
    for (uint64_t i = first; i < end; i++) { ((float *)chunk->data)[i - first] = sum_at(node, i); }
    pushed_gradient_add(sum, chunk);
    return false;
}

static void expect_arrays(float expected[static OPTIMIZER_ARRAYS_MAX][COUNT])
{
    for (uint32_t a = 0; a < shard.arrays; a++) {
        assert_memory_equal(shard.current[a]->data, expected[a], sizeof expected[a]);
    }
}

/* The arrays after one update as a whole. */
static void update_at_once(enum optimizer_kind kind, float out[static OPTIMIZER_ARRAYS_MAX][COUNT])
{
    open_shard(kind);
    hold(nodes[0]);
    hold(nodes[1]);
    assert_true(shard_apply(&shard, nodes, 2));
    for (uint32_t a = 0; a < shard.arrays; a++) {
        memcpy(out[a], shard.current[a]->data, sizeof out[a]);
    }
    (void)close_shard(NULL);
}

/* The update of a chunk that all have is final: it does not change when the others are updated, and
 * the bits are those of an update as a whole. The values before stay until the end. */
static void test_parts_have_the_bits_of_the_whole(void **state)
{
    (void)state;
    static float expected[OPTIMIZER_ARRAYS_MAX][COUNT], before[COUNT];
    for (enum optimizer_kind kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        update_at_once(kind, expected);
        open_shard(kind);
        memcpy(before, shard.answer->data, sizeof before);
        assert_false(shard_release_previous(&shard));
        struct pushed_gradient *sums[] = {begin_push(true), begin_push(false)};
        for (uint32_t chunks = 1; chunks < CHUNKS; chunks++) {
            const uint64_t first = (uint64_t)(CHUNKS - chunks) * CHUNK_FLOATS;
            for (uint32_t i = 0; i < 2; i++) { assert_false(arrive(sums[i], nodes[i])); }
            if (chunks % 2 == 0) { continue; } /* Two chunks at once, too. */
            assert_true(shard_apply_chunks(&shard, nodes,
                                           (const struct pushed_gradient *const *)sums, 2, chunks));
            assert_int_equal(shard.next.done, COUNT - first);
            assert_memory_equal((float *)shard.next.answer->data + first, expected[0] + first,
                                (COUNT - first) * sizeof(float));
            assert_memory_equal(shard.answer->data, before, sizeof before);
            assert_int_equal(shard.updates, 0);
        }
        for (uint32_t i = 0; i < 2; i++) {
            assert_false(arrive(sums[i], nodes[i]));
            shard_hold(&shard, nodes[i].first, sums[i]);
        }
        assert_true(shard_apply(&shard, nodes, 2));
        expect_arrays(expected);
        assert_int_equal(shard.updates, 1);
        assert_memory_equal(shard.previous->data, before, sizeof before);
        (void)close_shard(NULL);
    }
}

/* A part may come from a slot, or from other pushes than the part before. One that has fewer chunks
 * than are done changes nothing. */
static void test_parts_come_from_any_push(void **state)
{
    (void)state;
    static float expected[OPTIMIZER_ARRAYS_MAX][COUNT];
    const struct slice_node halves[] = {{0, 4}, {4, 1}, {5, 1}};
    update_at_once(OPTIMIZER_ADAM, expected);
    open_shard(OPTIMIZER_ADAM);
    hold(nodes[0]);
    struct pushed_gradient *broken = begin_push(false);
    for (uint32_t i = 0; i < 3; i++) { assert_false(arrive(broken, nodes[1])); }
    const struct pushed_gradient *sums[] = {NULL, broken, NULL};
    assert_true(shard_apply_chunks(&shard, nodes, sums, 2, 3));
    pushed_gradient_free(broken);
    const uint64_t done = shard.next.done;
    struct pushed_gradient *other = begin_push(false);
    hold(halves[1]);
    sums[1] = NULL;
    sums[2] = other;
    for (uint32_t i = 1; i <= 5; i++) {
        assert_false(arrive(other, halves[2]));
        assert_true(shard_apply_chunks(&shard, halves, sums, 3, i));
        assert_true(i <= 3 ? shard.next.done == done : shard.next.done > done);
    }
    for (uint32_t i = 5; i < CHUNKS; i++) { assert_false(arrive(other, halves[2])); }
    shard_hold(&shard, 5, other);
    assert_true(shard_apply(&shard, halves, 3));
    expect_arrays(expected);
}

/* A push in the place of the next values is overtaken by another one of the same slices. A chunk
 * that comes too late is not copied over new values; others are, also when the push is used for the
 * rest of the update. */
static void test_late_chunks_are_not_copied_over_values(void **state)
{
    (void)state;
    static float expected[OPTIMIZER_ARRAYS_MAX][COUNT];
    const struct slice_node root = {0, V};
    update_at_once(OPTIMIZER_SGD, expected);
    for (int uses_late = 0; uses_late < 2; uses_late++) {
        open_shard(OPTIMIZER_SGD);
        struct pushed_gradient *late = begin_push(true), *other = begin_push(false);
        const struct pushed_gradient *sums[] = {other};
        assert_false(arrive(late, root));
        for (uint32_t i = 0; i < 3; i++) { assert_false(arrive(other, root)); }
        assert_true(shard_apply_chunks(&shard, &root, sums, 1, 3));
        assert_ptr_equal(shard.next.arrays[0], late->array);
        assert_true(arrive(late, root));
        assert_true(arrive(late, root));
        assert_false(arrive(late, root));
        assert_int_equal(late->count, 4);
        for (uint32_t i = 3; i < CHUNKS; i++) { assert_false(arrive(other, root)); }
        if (uses_late == 1) {
            for (uint32_t i = 4; i < CHUNKS; i++) { assert_false(arrive(late, root)); }
            shard_hold(&shard, 0, late);
            pushed_gradient_free(other);
        } else {
            shard_hold(&shard, 0, other);
        }
        assert_true(shard_apply(&shard, &root, 1));
        if (uses_late == 0) {
            assert_ptr_equal(late->array, shard.current[0]);
            pushed_gradient_end(late);
            assert_true(arrive(late, root));
            pushed_gradient_free(late);
        }
        expect_arrays(expected);
        (void)close_shard(NULL);
    }
    open_shard(OPTIMIZER_SGD); /* For the teardown. */
}

/* A generation may end in the middle of an update: nothing of it stays. */
static void test_begun_update_is_forgotten(void **state)
{
    (void)state;
    static float expected[OPTIMIZER_ARRAYS_MAX][COUNT];
    struct variable_table variables = table();
    update_at_once(OPTIMIZER_ADAM, expected);
    open_shard(OPTIMIZER_ADAM);
    hold(nodes[0]);
    hold(nodes[1]);
    assert_true(shard_apply_chunks(&shard, nodes,
                                   (const struct pushed_gradient *const[]){NULL, NULL}, 2, 2));
    shard_release_all(&shard);
    shard_forget(&shard);
    assert_null(shard.next.arrays[0]);
    assert_true(shard_begin_load(&shard));
    shard_load_initial(&shard, &variables, 7);
    assert_true(shard_adopt(&shard, 0));
    hold(nodes[0]);
    hold(nodes[1]);
    assert_true(shard_apply(&shard, nodes, 2));
    expect_arrays(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_the_bits_of_the_whole),
        cmocka_unit_test_teardown(test_parts_come_from_any_push, close_shard),
        cmocka_unit_test_teardown(test_late_chunks_are_not_copied_over_values, close_shard),
        cmocka_unit_test_teardown(test_begun_update_is_forgotten, close_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
