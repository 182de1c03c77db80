/* kernels/cuda/gather.c: rows of a table and the sums of their gradients have the bits of the
 * CPU's, with ids that occur several times and ids out of range; so have one-hot vectors and shares
 * of keys. */
#include "tests/unit/kernels/cuda/portable_call.h"

enum { POSITIONS = 300 };

/* Some of the ids of `range` rows are out of range. */
static void fill_ids(size_t stream, int64_t range, int64_t *ids)
{
    for (size_t i = 0; i < POSITIONS; i++) {
        ids[i] = (int64_t)(random_at(31, stream, i) % (uint64_t)(range + 2)) - 1;
    }
}

static void compare_gather(size_t rows, size_t width, bool is_long)
{
    int64_t ids[POSITIONS];
    int32_t short_ids[POSITIONS];
    fill_ids(rows, (int64_t)rows, ids);
    for (size_t i = 0; i < POSITIONS; i++) { short_ids[i] = (int32_t)ids[i]; }
    const void *const chosen = is_long ? (const void *)ids : short_ids;
    const uint32_t id_bytes = is_long ? 8 : 4;
    const struct tn_view of_ids = view_of(chosen, is_long ? TN_INT64 : TN_INT32, POSITIONS, 0);
    float *table = any_floats(60, rows * width), *dy = any_floats(61, POSITIONS * width);
    float *y = allocate_floats(POSITIONS * width), *dtable = allocate_floats(rows * width);
    void *ids_copy = to_device(chosen, POSITIONS * id_bytes);
    float *table_copy = floats_to_device(table, rows * width);
    float *dy_copy = floats_to_device(dy, POSITIONS * width);
    float *out = device_memory(POSITIONS * width * sizeof *out);
    float *gradient = device_memory(rows * width * sizeof *gradient);
    library->kernels->gather(POSITIONS, ids_copy, id_bytes, rows, width, table_copy, out);
    library->kernels->gather_gradient(POSITIONS, ids_copy, id_bytes, rows, width, dy_copy,
                                      gradient);
    run_portable(&op_gather, 0,
                 (struct kernel_call){.in = {floats_view(table, rows, width), of_ids},
                                      .out = {floats_view(y, POSITIONS, width)}});
    run_portable(&op_gather_gradient, 0,
                 (struct kernel_call){.in = {of_ids, floats_view(dy, POSITIONS, width)},
                                      .out = {floats_view(dtable, rows, width)}});
    expect_floats("gather", out, y, POSITIONS * width);
    expect_floats("gather_gradient", gradient, dtable, rows * width);
    library->release(ids_copy);
    library->release(table_copy);
    library->release(dy_copy);
    float *const all[] = {table, dy, y, dtable};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
}

static void rows_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {5, 3}, {40, 16}, {1000, 7}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        compare_gather(sizes[i][0], sizes[i][1], false);
        compare_gather(sizes[i][0], sizes[i][1], true);
    }
}

/* Ids out of range give NaN. */
static void one_hot_vectors_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const size_t depths[] = {1, 3, 40};
    for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++) {
        const size_t depth = depths[d];
        const struct node node = {.op = &op_one_hot, .attributes.integers = {(int64_t)depth}};
        int64_t ids[POSITIONS];
        fill_ids(70 + d, (int64_t)depth, ids);
        float *expected = allocate_floats(POSITIONS * depth);
        void *copy = to_device(ids, sizeof ids);
        float *out = device_memory(POSITIONS * depth * sizeof *out);
        library->kernels->one_hot(POSITIONS, copy, 8, depth, out);
        struct kernel_call call = {.node = &node,
                                   .in = {view_of(ids, TN_INT64, POSITIONS, 0)},
                                   .out = {floats_view(expected, POSITIONS, depth)}};
        portable_backend()->find (&op_one_hot)(&call);
        expect_floats("one_hot", out, expected, POSITIONS * depth);
        library->release(copy);
        free(expected);
    }
}

/* Bags within rows of keys; some are empty. */
static void shares_of_keys_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    enum { EACH = 7, ROWS = 61 };
    static const int64_t bags[][2] = {{0, 7}, {2, 3}, {6, 1}};
    int64_t keys[ROWS * EACH];
    for (size_t i = 0; i < ROWS * EACH; i++) {
        const uint64_t number = random_at(33, 0, i);
        keys[i] = i < EACH || number % 3 == 0 ? TN_KEY_NONE : (int64_t)(number >> 1);
    }
    void *copy = to_device(keys, sizeof keys);
    for (size_t b = 0; b < sizeof bags / sizeof bags[0]; b++) {
        const struct node node = {.op = &op_key_share,
                                  .attributes.integers = {bags[b][0], bags[b][1]}};
        float *expected = allocate_floats(ROWS), *out = device_memory(ROWS * sizeof *out);
        library->kernels->key_share(ROWS, copy, EACH, (size_t)bags[b][0], (size_t)bags[b][1],
                                    TN_KEY_NONE, out);
        struct kernel_call call = {.node = &node,
                                   .in = {view_of(keys, TN_INT64, ROWS, EACH)},
                                   .out = {floats_view(expected, ROWS, 1)}};
        portable_backend()->find (&op_key_share)(&call);
        expect_floats("key_share", out, expected, ROWS);
        free(expected);
    }
    library->release(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_bits_of_the_cpu),
        cmocka_unit_test(one_hot_vectors_have_the_bits_of_the_cpu),
        cmocka_unit_test(shares_of_keys_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
