/* The tree of slices: shape, covers, and sums that do not depend on the grouping. */
#include "common/cluster/slices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

static void expect_node(struct slice_node node, uint32_t first, uint32_t count)
{
    assert_int_equal(node.first, first);
    assert_int_equal(node.count, count);
}

/* The plain recursive definition that plans must follow. */
static float sum_of(const float *values, struct slice_node node)
{
    if (node.count == 1) { return values[node.first]; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return sum_of(values, left) + sum_of(values, right);
}

static void run_plan(float *slot, uint32_t slices, struct slice_node node,
                     const struct slice_node *parts, uint32_t count)
{
    struct slice_sum sums[SLICES_MAX];
    uint32_t sum_count = slices_plan(slices, node, parts, count, sums);
    for (uint32_t i = 0; i < sum_count; i++) { slot[sums[i].into] += slot[sums[i].from]; }
}

/* A node is split at the largest power of two below its count. */
static void children_split_at_the_largest_power_of_two(void **state)
{
    (void)state;
    struct slice_node left, right;
    slices_children((struct slice_node){0, 8}, &left, &right);
    expect_node(left, 0, 4);
    expect_node(right, 4, 4);
    slices_children((struct slice_node){8, 7}, &left, &right);
    expect_node(left, 8, 4);
    expect_node(right, 12, 3);
    slices_children((struct slice_node){0, 2}, &left, &right);
    expect_node(right, 1, 1);
}

/* Ranges that are not nodes, and impossible ranges from peers, are refused. */
static void other_ranges_are_not_nodes(void **state)
{
    (void)state;
    assert_true(slices_is_node(6, 0, 6));
    assert_true(slices_is_node(6, 4, 2));
    assert_true(slices_is_node(6, 5, 1));
    assert_true(slices_is_node(1, 0, 1));
    assert_false(slices_is_node(6, 1, 2));
    assert_false(slices_is_node(6, 2, 4));
    assert_false(slices_is_node(6, 4, 3));
    assert_false(slices_is_node(6, 0, 0));
    assert_false(slices_is_node(0, 0, 0));
    assert_false(slices_is_node(6, UINT32_MAX, 2));
    assert_false(slices_is_node(6, 1, UINT32_MAX));
    assert_false(slices_is_node(UINT32_MAX, 0, 1));
}

/* Mark the nodes below `node`: `is_node[first][count]`. */
static void mark_nodes(struct slice_node node, bool is_node[65][65])
{
    struct slice_node left, right;
    is_node[node.first][node.count] = true;
    if (node.count == 1) { return; }
    slices_children(node, &left, &right);
    mark_nodes(left, is_node);
    mark_nodes(right, is_node);
}

/* The nodes are exactly those that the splits reach from the root. */
static void nodes_are_those_of_the_splits(void **state)
{
    (void)state;
    for (uint32_t slices = 1; slices <= 64; slices++) {
        bool is_node[65][65] = {{false}};
        mark_nodes((struct slice_node){0, slices}, is_node);
        for (uint32_t first = 0; first <= 64; first++) {
            for (uint32_t count = 0; count <= 64; count++) {
                assert_int_equal(slices_is_node(slices, first, count), is_node[first][count]);
            }
        }
    }
}

/* Each range of a set is added, found and removed as its single slices are. */
static void ranges_are_their_slices(void **state)
{
    (void)state;
    for (uint32_t first = 0; first < SLICES_MAX; first += 7) {
        for (uint32_t count = 1; first + count <= SLICES_MAX; count += 3) {
            const struct slice_node range = {first, count};
            struct slice_set set = {{0}}, single = {{0}};
            assert_false(slice_set_has_any(&set, range));
            slice_set_add(&set, range);
            for (uint32_t i = 0; i < count; i++) {
                slice_set_add(&single, (struct slice_node){first + i, 1});
            }
            assert_memory_equal(&set, &single, sizeof set);
            assert_true(slice_set_has_all(&set, range));
            slice_set_remove(&single, (struct slice_node){first + count / 2, 1});
            assert_false(slice_set_has_all(&single, range));
            assert_int_equal(slice_set_has_any(&single, range), count > 1);
            slice_set_remove(&set, range);
            assert_int_equal(slice_set_count(&set), 0);
        }
    }
}

/* Sets count, add and remove across word boundaries. */
static void sets_cross_words(void **state)
{
    (void)state;
    struct slice_set set = {{0}};
    slice_set_add(&set, (struct slice_node){60, 10});
    assert_int_equal(slice_set_count(&set), 10);
    slice_set_remove(&set, (struct slice_node){64, 1});
    assert_int_equal(slice_set_count(&set), 9);
    assert_false(slice_set_has_all(&set, (struct slice_node){60, 10}));
    assert_true(slice_set_has_any(&set, (struct slice_node){64, 64}));
    assert_false(slice_set_has_any(&set, (struct slice_node){70, 186}));
}

/* The cover is made of maximal nodes in ascending order. */
static void cover_is_maximal(void **state)
{
    (void)state;
    struct slice_node out[SLICES_MAX];
    struct slice_set owned = {{0}};
    assert_int_equal(slices_cover(8, &owned, out), 0);
    slice_set_add(&owned, (struct slice_node){1, 6});
    assert_int_equal(slices_cover(8, &owned, out), 4);
    expect_node(out[0], 1, 1);
    expect_node(out[1], 2, 2);
    expect_node(out[2], 4, 2);
    expect_node(out[3], 6, 1);
    slice_set_add(&owned, (struct slice_node){0, 256});
    assert_int_equal(slices_cover(8, &owned, out), 1);
    expect_node(out[0], 0, 8);
}

/* The whole cover of every other slice of 256 fits. */
static void cover_of_alternate_slices_fits(void **state)
{
    (void)state;
    struct slice_node out[SLICES_MAX];
    struct slice_set owned = {{0}};
    for (uint32_t v = 0; v < SLICES_MAX; v += 2) {
        slice_set_add(&owned, (struct slice_node){v, 1});
    }
    assert_int_equal(slices_cover(SLICES_MAX, &owned, out), 128);
}

/* A plan from single slices equals the recursive definition, bit for bit, for every V. */
static void plan_follows_the_tree(void **state)
{
    (void)state;
    for (uint32_t slices = 1; slices <= SLICES_MAX; slices++) {
        float values[SLICES_MAX], slot[SLICES_MAX];
        struct slice_node parts[SLICES_MAX];
        for (uint32_t v = 0; v < slices; v++) {
            values[v] = slot[v] = random_unit_at(1, slices, v) - 0.3F;
            parts[v] = (struct slice_node){slices - 1 - v, 1};
        }
        struct slice_node root = {0, slices};
        run_plan(slot, slices, root, parts, slices);
        float expected = sum_of(values, root);
        assert_memory_equal(&slot[0], &expected, sizeof expected);
    }
}

/* Slices assigned at random to three workers that send covers give the same bits as one worker. */
static void grouping_does_not_change_bits(void **state)
{
    (void)state;
    struct random random = {7};
    for (int round = 0; round < 300; round++) {
        uint32_t slices = 1 + (uint32_t)random_below(&random, SLICES_MAX), part_count = 0;
        float values[SLICES_MAX], slot[SLICES_MAX];
        struct slice_set owned[3] = {{{0}}};
        struct slice_node parts[SLICES_MAX], singles[SLICES_MAX];
        for (uint32_t v = 0; v < slices; v++) {
            values[v] = slot[v] = random_unit_at(2, slices, v) - 0.5F;
            singles[v] = (struct slice_node){v, 1};
            slice_set_add(&owned[random_below(&random, 3)], singles[v]);
        }
        for (int worker = 0; worker < 3; worker++) {
            uint32_t from = part_count;
            part_count += slices_cover(slices, &owned[worker], parts + from);
            for (uint32_t i = from; i < part_count; i++) {
                run_plan(slot, slices, parts[i], singles + parts[i].first, parts[i].count);
            }
        }
        run_plan(slot, slices, (struct slice_node){0, slices}, parts, part_count);
        float expected = sum_of(values, (struct slice_node){0, slices});
        assert_memory_equal(&slot[0], &expected, sizeof expected);
    }
}

/* The positions of the slices tile the batch; their sizes differ by at most one. */
static void positions_tile_the_batch(void **state)
{
    (void)state;
    const uint32_t batches[] = {1, 7, 8, 256, 1000, 4000000000};
    for (uint32_t slices = 1; slices <= SLICES_MAX; slices++) {
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
            uint64_t next = 0;
            for (uint32_t v = 0; v < slices; v++) {
                struct slice_range range = slices_positions(slices, batches[b], v);
                assert_int_equal(range.first, next);
                assert_in_range(range.count, batches[b] / slices, batches[b] / slices + 1);
                next += range.count;
            }
            assert_int_equal(next, batches[b]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_split_at_the_largest_power_of_two),
        cmocka_unit_test(other_ranges_are_not_nodes),
        cmocka_unit_test(nodes_are_those_of_the_splits),
        cmocka_unit_test(ranges_are_their_slices),
        cmocka_unit_test(sets_cross_words),
        cmocka_unit_test(cover_is_maximal),
        cmocka_unit_test(cover_of_alternate_slices_fits),
        cmocka_unit_test(plan_follows_the_tree),
        cmocka_unit_test(grouping_does_not_change_bits),
        cmocka_unit_test(positions_tile_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
