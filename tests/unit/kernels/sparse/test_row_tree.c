/* Sums of rows by several members have the bits of row_sums_add() along the tree of slices. */
#include "kernels/sparse/row_tree.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

enum { TABLES = 3, WIDTH_MAX = 17, SLICES = 13, MEMBERS = 8, ROUNDS = 60 };

static const uint32_t widths[TABLES] = {1, 3, WIDTH_MAX};
static const float specials[] = {0.0F, -0.0F, INFINITY, -INFINITY, NAN, 1e-45F, 3e38F, -3e38F};

static struct variable_table variables;
static struct row_sums slices[SLICES]; /* The rows of each slice. */

static int setup(void **state)
{
    (void)state;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) { variables.row_tables[t].width = widths[t]; }
    for (uint32_t v = 0; v < SLICES; v++) {
        assert_int_equal(row_sums_open(&variables, &slices[v], NULL), TN_OK);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < SLICES; v++) { row_sums_close(&slices[v]); }
    return 0;
}

static float draw(struct random *random)
{
    const uint64_t kinds = sizeof specials / sizeof specials[0];
    if (random_below(random, 3) == 0) { return specials[random_below(random, kinds)]; }
    return (float)random_below(random, 2000001) / 1e6F - 1;
}

/* A slice has each of the keys 0, `step`, 2 `step`, ... with a probability of `of` eighths. */
static void fill(struct random *random, uint32_t keys, uint64_t step, uint32_t of)
{
    float row[WIDTH_MAX];
    for (uint32_t v = 0; v < SLICES; v++) {
        row_sums_clear(&slices[v]);
        for (uint32_t t = 0; t < TABLES; t++) {
            for (uint64_t k = 0; k < keys; k++) {
                if (random_below(random, 8) >= of) { continue; }
                for (uint32_t c = 0; c < widths[t]; c++) { row[c] = draw(random); }
                assert_int_equal(row_sum_append(&slices[v].tables[t], k * step, row, NULL), TN_OK);
            }
        }
    }
}

static void copy(const struct row_sums *from, struct row_sums *to)
{
    assert_int_equal(row_sums_open(&variables, to, NULL), TN_OK);
    for (uint32_t t = 0; t < TABLES; t++) {
        const struct row_sum *rows = &from->tables[t];
        for (uint64_t i = 0; i < rows->count; i++) {
            const float *values = rows->values + i * rows->width;
            assert_int_equal(row_sum_append(&to->tables[t], rows->keys[i], values, NULL), TN_OK);
        }
    }
}

/* The sum of a node, pairwise. */
static void sum_node(struct slice_node node, struct row_sums *out)
{
    struct slice_node left, right;
    struct row_sums other, spare;
    if (node.count == 1) {
        copy(&slices[node.first], out);
        return;
    }
    slices_children(node, &left, &right);
    sum_node(left, out);
    sum_node(right, &other);
    assert_int_equal(row_sums_open(&variables, &spare, NULL), TN_OK);
    assert_int_equal(row_sums_add(out, &other, &spare, NULL), TN_OK);
    row_sums_close(&other);
    row_sums_close(&spare);
}

/* Equal bits; which NaN a sum of NaNs is depends on the processor. */
static void check_same(const struct row_sums *found, const struct row_sums *expected)
{
    for (uint32_t t = 0; t < TABLES; t++) {
        const struct row_sum *a = &found->tables[t], *b = &expected->tables[t];
        assert_int_equal(a->count, b->count);
        if (a->count == 0) { continue; }
        assert_memory_equal(a->keys, b->keys, a->count * sizeof *a->keys);
        for (uint64_t i = 0; i < a->count * a->width; i++) {
            if (isnan(a->values[i]) && isnan(b->values[i])) { continue; }
            assert_memory_equal(&a->values[i], &b->values[i], sizeof a->values[i]);
        }
    }
}

/* The largest nodes below `node` within the slices [first, end). */
static void list_parts(struct slice_node node, uint32_t first, uint32_t end,
                       struct slice_node *parts, uint32_t *count)
{
    if (node.first >= end || node.first + node.count <= first) { return; }
    if (first <= node.first && node.first + node.count <= end) {
        parts[(*count)++] = node;
        return;
    }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    list_parts(left, first, end, parts, count);
    list_parts(right, first, end, parts, count);
}

/* The additions that lead to `node` from its parts, by their numbers. */
static void plan(struct slice_node node, const struct slice_node *parts, uint32_t count,
                 struct slice_sum additions[static SLICES_MAX])
{
    uint32_t part_of_slice[SLICES] = {0};
    for (uint32_t p = 0; p < count; p++) { part_of_slice[parts[p].first] = p; }
    assert_int_equal(slices_plan(SLICES, node, parts, count, additions), count - 1);
    for (uint32_t i = 0; i + 1 < count; i++) {
        additions[i].into = part_of_slice[additions[i].into];
        additions[i].from = part_of_slice[additions[i].from];
    }
}

/* `members` members have neighbouring slices of the node. */
static void check(struct slice_node node, uint32_t members, const struct row_sums *expected)
{
    static uint64_t counts[MEMBERS * TABLES];
    struct slice_node parts[SLICES_MAX];
    struct slice_sum additions[SLICES_MAX];
    struct row_sums rows[SLICES], sum;
    uint32_t count = 0;
    for (uint32_t m = 0; m < members; m++) {
        list_parts(node, node.first + node.count * m / members,
                   node.first + node.count * (m + 1) / members, parts, &count);
    }
    plan(node, parts, count, additions);
    for (uint32_t p = 0; p < count; p++) { sum_node(parts[p], &rows[p]); }
    assert_int_equal(row_sums_open(&variables, &sum, NULL), TN_OK);
    const struct row_tree tree = {rows, count, additions, members, &sum, counts};
    assert_true(row_tree_counts(members, &variables) <= MEMBERS * TABLES);
    for (uint32_t m = 0; m < members; m++) { row_tree_count(&tree, m); }
    assert_int_equal(row_tree_reserve(&tree, NULL), TN_OK);
    for (uint32_t m = members; m-- > 0;) { row_tree_add(&tree, m); } /* In any order. */
    check_same(&sum, expected);
    for (uint32_t p = 0; p < count; p++) { row_sums_close(&rows[p]); }
    row_sums_close(&sum);
}

static void check_all(void)
{
    static const struct slice_node nodes[] = {{0, SLICES}, {0, 8}, {8, 5}, {8, 4}, {4, 2}, {12, 1}};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct row_sums expected;
        sum_node(nodes[i], &expected);
        for (uint32_t members = 1; members <= MEMBERS; members++) {
            check(nodes[i], members, &expected);
        }
        row_sums_close(&expected);
    }
}

/* Few keys that most slices have, many keys that few have, and the largest keys. */
static void any_number_of_members_has_the_same_bits(void **state)
{
    (void)state;
    struct random random = {.state = 7};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t keys = (uint32_t)random_below(&random, round % 2 == 0 ? 12 : 200) + 1;
        const uint64_t step = round % 3 == 0 ? SPARSE_KEY_MOST / keys : 1;
        fill(&random, keys, step, (uint32_t)random_below(&random, 9));
        check_all();
    }
}

/* Fewer keys than members, and tables or slices without any. */
static void ranges_may_be_empty(void **state)
{
    static const float row[WIDTH_MAX] = {-0.0F};
    (void)state;
    struct random random = {.state = 8};
    fill(&random, 1, 1, 0);
    check_all();
    assert_int_equal(row_sum_append(&slices[5].tables[1], SPARSE_KEY_MOST, row, NULL), TN_OK);
    check_all();
    assert_int_equal(row_sum_append(&slices[0].tables[1], 0, row, NULL), TN_OK);
    assert_int_equal(row_sum_append(&slices[12].tables[2], 3, row, NULL), TN_OK);
    check_all();
}

/* A row that only one part has keeps its bits; others are added even if they are zeros. */
static void zeros_keep_their_sign(void **state)
{
    static const float minus = -0.0F, plus = 0.0F;
    static uint64_t counts[2 * TABLES];
    static const struct slice_sum addition = {.into = 0, .from = 1};
    struct row_sums sum;
    (void)state;
    for (uint32_t v = 0; v < 2; v++) { row_sums_clear(&slices[v]); }
    assert_int_equal(row_sum_append(&slices[0].tables[0], 1, &minus, NULL), TN_OK);
    assert_int_equal(row_sum_append(&slices[0].tables[0], 2, &minus, NULL), TN_OK);
    assert_int_equal(row_sum_append(&slices[1].tables[0], 2, &plus, NULL), TN_OK);
    assert_int_equal(row_sums_open(&variables, &sum, NULL), TN_OK);
    const struct row_tree tree = {slices, 2, &addition, 2, &sum, counts};
    row_tree_count(&tree, 0), row_tree_count(&tree, 1);
    assert_int_equal(row_tree_reserve(&tree, NULL), TN_OK);
    row_tree_add(&tree, 0), row_tree_add(&tree, 1);
    assert_int_equal(sum.tables[0].count, 2);
    assert_true(signbit(sum.tables[0].values[0]) && !signbit(sum.tables[0].values[1]));
    row_sums_close(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_number_of_members_has_the_same_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(ranges_may_be_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(zeros_keep_their_sign, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
