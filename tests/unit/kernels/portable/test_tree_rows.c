/* Sums over the rows of slices: those of sum_rows() for each slice, added over the tree. */
#include "kernels/portable/tree_rows.h"

#include "tests/unit/kernels/portable/classes.h"

enum { RUNS_MAX = 20, COLUMNS_MAX = 300, ROWS = 5 /* In each run. */ };

/* The sum of runs [first, first + count), split at the largest power of two below `count`. */
static void add_runs(size_t first, size_t count, size_t columns, const float *matrix, float *out)
{
    if (count == 1) {
        const float *rows = matrix + first * ROWS * columns;
        const struct reduce_kernels *kernels = classes[0]->reduce;
        kernels->sum_rows(ROWS, columns, rows, columns, false, out);
        if (columns == 1) { out[0] = kernels->sum(ROWS, rows); }
        return;
    }
    float right[COLUMNS_MAX];
    size_t half = 1;
    while (2 * half < count) { half *= 2; }
    add_runs(first, half, columns, matrix, out);
    add_runs(first + half, count - half, columns, matrix, right);
    for (size_t c = 0; c < columns; c++) { out[c] += right[c]; }
}

static void test_rows_of_slices_are_added_over_the_tree(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 10, 16, 255, 256, 257, COLUMNS_MAX};
    float *matrix = random_floats(1, (size_t)RUNS_MAX * ROWS * COLUMNS_MAX);
    float expected[COLUMNS_MAX], out[COLUMNS_MAX];
    for (size_t runs = 1; runs <= RUNS_MAX; runs++) {
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            add_runs(0, runs, widths[w], matrix, expected);
            for (size_t c = 0; c < class_count; c++) {
                tree_rows_sum(classes[c]->reduce, runs, runs * ROWS, widths[w], matrix, out);
                assert_same_bits(out, expected, widths[w], classes[c]->name, "rows of slices");
            }
        }
    }
    free(matrix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_slices_are_added_over_the_tree),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
