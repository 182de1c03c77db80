/* Sparse sums: within a slice in the order of positions, across slices along the tree, whatever
 * nodes the slices are grouped into. */
#include "kernels/sparse/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "common/cluster/slices.h"

enum { SORTED_MAX = 3000, SORTS = 400 };
enum { WIDTH = 3, POSITIONS = 40, KEYS = 60, SLICES = 13, ROUNDS = 300 };

/* Rows that own their arrays. */
struct sum {
    uint64_t count, keys[SLICES * POSITIONS];
    float values[SLICES * POSITIONS * WIDTH];
};

static struct sparse_rows rows_of(const struct sum *sum)
{
    return (struct sparse_rows){.count = sum->count, .keys = sum->keys, .values = sum->values};
}

static void collect(const uint64_t *keys, const float *gradients, uint32_t count, struct sum *out)
{
    static struct sparse_place places[POSITIONS], room[POSITIONS];
    uint64_t used = 0;
    for (uint32_t p = 0; p < count; p++) {
        if (keys[p] == SPARSE_KEY_NONE) { continue; }
        places[used++] = (struct sparse_place){.key = keys[p], .position = p};
    }
    const struct sparse_place *sorted = sparse_sort(used, places, room);
    out->count = sparse_sum(sorted, used, gradients, WIDTH, out->keys, out->values);
}

static void add(struct sum *into, const struct sum *from)
{
    struct sum *out = malloc(sizeof *out);
    assert_non_null(out);
    out->count = sparse_merge(rows_of(into), rows_of(from), WIDTH, out->keys, out->values);
    *into = *out;
    free(out);
}

static void fill(struct random *random, uint64_t *keys, float *gradients)
{
    for (uint32_t p = 0; p < POSITIONS; p++) {
        keys[p] = random_below(random, KEYS) << random_below(random, 2) * 50;
        if (random_below(random, 8) == 0) { keys[p] = SPARSE_KEY_NONE; }
        for (uint32_t c = 0; c < WIDTH; c++) {
            gradients[p * WIDTH + c] = (float)random_below(random, 2000001) / 1e6F - 1;
        }
    }
}

/* Against a search for each key in turn. */
static void a_slice_is_summed_in_the_order_of_positions(void **state)
{
    struct random random = {1};
    struct sum sum;
    uint64_t keys[POSITIONS];
    float gradients[POSITIONS * WIDTH];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t distinct = 0;
        fill(&random, keys, gradients);
        collect(keys, gradients, POSITIONS, &sum);
        for (uint64_t i = 0; i < sum.count; i++) {
            float wanted[WIDTH];
            bool found = false;
            assert_true(i == 0 || sum.keys[i] > sum.keys[i - 1]);
            for (uint32_t p = 0; p < POSITIONS; p++) {
                if (keys[p] != sum.keys[i]) { continue; }
                for (uint32_t c = 0; c < WIDTH; c++) {
                    const float g = gradients[p * WIDTH + c];
                    wanted[c] = found ? wanted[c] + g : g;
                }
                found = true;
            }
            assert_true(found);
            assert_memory_equal(wanted, sum.values + i * WIDTH, sizeof wanted);
        }
        for (uint32_t p = 0; p < POSITIONS; p++) {
            bool before = keys[p] == SPARSE_KEY_NONE;
            for (uint32_t q = 0; q < p; q++) { before = before || keys[q] == keys[p]; }
            distinct += !before;
        }
        assert_int_equal(distinct, sum.count);
    }
}

static void sum_node(const struct sum *leaves, struct slice_node node, struct sum *out)
{
    if (node.count == 1) {
        *out = leaves[node.first];
        return;
    }
    struct slice_node left, right;
    struct sum *other = malloc(sizeof *other);
    assert_non_null(other);
    slices_children(node, &left, &right);
    sum_node(leaves, left, out);
    sum_node(leaves, right, other);
    add(out, other);
    free(other);
}

/* Two workers with any slices send the sums of their nodes, which a ps adds: the bits are those of
 * one process. */
static void any_grouping_gives_the_same_bits(void **state)
{
    struct random random = {2};
    struct sum *leaves = calloc(SLICES, sizeof *leaves), *slots = calloc(SLICES, sizeof *slots);
    struct sum *whole = malloc(sizeof *whole);
    uint64_t keys[POSITIONS];
    float gradients[POSITIONS * WIDTH];
    (void)state;
    assert_true(leaves != NULL && slots != NULL && whole != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        struct slice_set sets[2] = {0};
        struct slice_node parts[SLICES_MAX];
        struct slice_sum plan[SLICES_MAX];
        uint32_t count = 0;
        for (uint32_t v = 0; v < SLICES; v++) {
            fill(&random, keys, gradients);
            collect(keys, gradients, POSITIONS, &leaves[v]);
            slice_set_add(&sets[random_below(&random, 2)], (struct slice_node){v, 1});
        }
        sum_node(leaves, (struct slice_node){0, SLICES}, whole);
        for (int w = 0; w < 2; w++) { count += slices_cover(SLICES, &sets[w], parts + count); }
        for (uint32_t i = 0; i < count; i++) { sum_node(leaves, parts[i], &slots[parts[i].first]); }
        const uint32_t sums =
            slices_plan(SLICES, (struct slice_node){0, SLICES}, parts, count, plan);
        for (uint32_t i = 0; i < sums; i++) { add(&slots[plan[i].into], &slots[plan[i].from]); }
        assert_int_equal(slots[0].count, whole->count);
        assert_memory_equal(slots[0].keys, whole->keys, whole->count * sizeof *whole->keys);
        assert_memory_equal(slots[0].values, whole->values,
                            whole->count * WIDTH * sizeof *whole->values);
    }
    free(leaves);
    free(slots);
    free(whole);
}

static int compare_places(const void *a, const void *b)
{
    const struct sparse_place *left = a, *right = b;
    if (left->key != right->key) { return left->key > right->key ? 1 : -1; }
    return (left->position > right->position) - (left->position < right->position);
}

/* Hashes, numbers of any size, few distinct ones, or some large ones beside many small ones. */
static uint64_t draw_key(struct random *random, uint64_t kind)
{
    const uint64_t bits = random_next(random) >> 1;
    switch (kind) {
    case 0: return bits;
    case 1: return bits >> random_below(random, 63);
    case 2: return (bits % 7) << 50 | bits % 3;
    case 3: return bits % 4096;
    default: return random_below(random, 50) == 0 ? bits : bits % 100000;
    }
}

/* Also where the first bits of the keys do not separate them. */
static void places_are_sorted_and_equal_keys_keep_their_order(void **state)
{
    static struct sparse_place places[SORTED_MAX], room[SORTED_MAX], wanted[SORTED_MAX];
    struct random random = {3};
    (void)state;
    for (uint64_t round = 0; round < SORTS; round++) {
        const uint64_t count = random_below(&random, round % 2 == 0 ? 300 : SORTED_MAX);
        for (uint32_t i = 0; i < count; i++) {
            places[i] = (struct sparse_place){.position = i};
            places[i].key = draw_key(&random, round % 5);
            if (round % 11 == 0) { places[i].key = count - i; }
        }
        memcpy(wanted, places, sizeof wanted);
        qsort(wanted, count, sizeof *wanted, compare_places);
        const struct sparse_place *sorted = sparse_sort(count, places, room);
        for (uint64_t i = 0; i < count; i++) {
            assert_int_equal(sorted[i].key, wanted[i].key);
            assert_int_equal(sorted[i].position, wanted[i].position);
        }
    }
}

/* -0.0 + 0.0 would be 0.0. */
static void an_absent_key_adds_nothing(void **state)
{
    const uint64_t left_keys[] = {1, 5}, right_keys[] = {5};
    const float left[] = {-0.0F, 1, 2, 3, 4, 5}, right[] = {10, 20, 30};
    const float wanted[] = {-0.0F, 1, 2, 13, 24, 35};
    uint64_t keys[3];
    float values[3 * WIDTH];
    (void)state;
    assert_int_equal(sparse_merge((struct sparse_rows){2, left_keys, left},
                                  (struct sparse_rows){1, right_keys, right}, WIDTH, keys, values),
                     2);
    assert_memory_equal(keys, left_keys, sizeof left_keys);
    assert_memory_equal(values, wanted, sizeof wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_is_summed_in_the_order_of_positions),
        cmocka_unit_test(any_grouping_gives_the_same_bits),
        cmocka_unit_test(places_are_sorted_and_equal_keys_keep_their_order),
        cmocka_unit_test(an_absent_key_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
