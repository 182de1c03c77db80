/* kernels/cuda/row.c: sums, softmax and cross entropy have the bits of the CPU's, for rows of all
 * lengths around those of a vector. */
#include "tests/unit/kernels/cuda/portable_call.h"

static const size_t lengths[] = {1, 2, 3, 10, 15, 16, 17, 31, 32, 33, 48, 100, 257};

enum { LENGTHS = sizeof lengths / sizeof lengths[0], KINDS = 3 };

/* Numbers near 0, numbers of all kinds, and zeros of both signs. */
static float *inputs(size_t kind, uint64_t stream, size_t count)
{
    float *x = kind == 1 ? any_floats(stream, count) : random_floats(stream, count);
    for (size_t i = 0; i < count && kind == 2; i++) { x[i] = x[i] < 0 ? -0.0F : 0.0F; }
    return x;
}

static void sums_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS * KINDS; l++) {
        const size_t columns = lengths[l % LENGTHS], rows = 1 + l * 7 % 21, count = rows * columns;
        float *x = inputs(l / LENGTHS, l, count), *expected = allocate_floats(rows);
        float *in = floats_to_device(x, count), *out = device_memory(rows * sizeof *out);
        library->kernels->sum_columns(rows, columns, in, out);
        portable_fastest()->reduce->sum_columns(rows, columns, x, columns, expected);
        expect_floats("sum_columns", out, expected, rows);
        library->release(in);
        free(x);
        free(expected);
    }
}

/* Over the rows, as the CPU's sum_rows. */
static void sums_over_other_dimensions(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS * KINDS; l++) {
        const size_t columns = lengths[l % LENGTHS], rows = 1 + l * 7 % 21, count = rows * columns;
        const struct cuda_shape kept = {.rank = 1, .dims = {columns}};
        const struct cuda_shape added = {.rank = 1, .dims = {rows}};
        const struct cuda_strides by_column = {.stride = {1}}, by_row = {.stride = {columns}};
        float *x = inputs(l / LENGTHS, l, count), *expected = allocate_floats(columns);
        float *in = floats_to_device(x, count), *out = device_memory(columns * sizeof *out);
        library->kernels->sum(&kept, &by_column, &added, &by_row, in, out);
        portable_fastest()->reduce->sum_rows(rows, columns, x, columns, false, expected);
        expect_floats("sum", out, expected, columns);
        library->release(in);
        free(x);
        free(expected);
    }
}

static void softmax_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t l = 0; l < LENGTHS * KINDS; l++) {
        const size_t columns = lengths[l % LENGTHS], rows = 1 + l * 7 % 21, count = rows * columns;
        const struct softmax_rows task = {rows, columns, columns, columns, 0, 1};
        float *x = inputs(l / LENGTHS, l, count), *dy = inputs(l / LENGTHS, 100 + l, count);
        float *y = allocate_floats(count), *dx = allocate_floats(count);
        float *in = floats_to_device(x, count), *slope = floats_to_device(dy, count);
        float *out = device_memory(count * sizeof *out),
              *of_in = device_memory(count * sizeof *out);
        const struct cuda_softmax all = {rows, columns, 1, columns, 0, 1};
        library->kernels->softmax(&all, in, out);
        library->kernels->softmax_gradient(&all, in, slope, of_in);
        portable_fastest()->softmax->forward(&task, x, y);
        portable_fastest()->softmax->backward(&task, x, dy, dx);
        expect_floats("softmax", out, y, count);
        expect_floats("softmax_gradient", of_in, dx, count);
        library->release(in);
        library->release(slope);
        free(x);
        free(dy);
        free(y);
        free(dx);
    }
}

/* Without smoothing of labels. Labels of each size of integers. */
static void cross_entropy_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    enum { ROWS_MAX = 21 };
    for (size_t l = 0; l < LENGTHS * KINDS; l++) {
        const size_t columns = lengths[l % LENGTHS], rows = 1 + l * 7 % ROWS_MAX;
        const size_t count = rows * columns;
        int32_t labels[ROWS_MAX];
        int64_t long_labels[ROWS_MAX];
        uint8_t bytes[ROWS_MAX];
        for (size_t r = 0; r < rows; r++) {
            labels[r] = (int32_t)(r * 5 % size_min(columns, 256));
            long_labels[r] = labels[r];
            bytes[r] = (uint8_t)labels[r];
        }
        const void *const forms[] = {labels, long_labels, bytes};
        static const uint32_t sizes[] = {4, 8, 1};
        void *of_device = to_device(forms[l % 3], rows * sizes[l % 3]);
        float *x = inputs(l / LENGTHS, l, count), *dlosses = inputs(l / LENGTHS, 100 + l, rows);
        float *p = allocate_floats(count), *losses = allocate_floats(rows);
        float *in = floats_to_device(x, count), *slope = floats_to_device(dlosses, rows);
        float *out = device_memory(count * sizeof *out), *loss = device_memory(rows * sizeof *loss);
        float *dlogits = device_memory(count * sizeof *dlogits);
        library->kernels->cross_entropy(rows, columns, in, of_device, sizes[l % 3], 0, loss, out);
        library->kernels->cross_entropy_gradient(rows, columns, in, of_device, sizes[l % 3], 0,
                                                 slope, dlogits);
        portable_fastest()->softmax->cross_entropy(rows, columns, x, labels, losses, p);
        expect_floats("probabilities", out, p, count);
        expect_floats("losses", loss, losses, rows);
        portable_fastest()->softmax->cross_entropy_backward(rows, columns, x, labels, dlosses, p);
        expect_floats("dlogits", dlogits, p, count);
        library->release(in);
        library->release(slope);
        library->release(of_device);
        float *const all[] = {x, dlosses, p, losses};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
    }
}

/* The last label is out of range. */
static void smoothed_cross_entropy_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    enum { ROWS = 11 };
    for (size_t l = 0; l < LENGTHS * KINDS; l++) {
        const size_t columns = lengths[l % LENGTHS], count = ROWS * columns;
        int32_t labels[ROWS];
        for (size_t r = 0; r < ROWS; r++) { labels[r] = (int32_t)(r * 5 % columns); }
        labels[ROWS - 1] = -1;
        float *x = inputs(l / LENGTHS, l, count), *dlosses = inputs(l / LENGTHS, 100 + l, ROWS);
        float *p = allocate_floats(count), *losses = allocate_floats(ROWS);
        float *slopes = allocate_floats(count);
        void *of_device = to_device(labels, sizeof labels);
        float *in = floats_to_device(x, count), *slope = floats_to_device(dlosses, ROWS);
        float *out = device_memory(count * sizeof *out), *loss = device_memory(ROWS * sizeof *loss);
        float *dlogits = device_memory(count * sizeof *dlogits);
        library->kernels->cross_entropy(ROWS, columns, in, of_device, 4, 0.1F, loss, out);
        library->kernels->cross_entropy_gradient(ROWS, columns, out, of_device, 4, 0.1F, slope,
                                                 dlogits);
        const struct tn_view of_labels = view_of(labels, TN_INT32, ROWS, 0);
        const struct tn_view of_p = floats_view(p, ROWS, columns);
        run_portable(&op_softmax_cross_entropy, 0.1,
                     (struct kernel_call){.in = {floats_view(x, ROWS, columns), of_labels},
                                          .out = {of_p, floats_view(losses, ROWS, 0)}});
        run_portable(&op_softmax_cross_entropy_gradient, 0.1,
                     (struct kernel_call){.in = {of_p, of_labels, floats_view(dlosses, ROWS, 0)},
                                          .out = {floats_view(slopes, ROWS, columns)}});
        expect_floats("probabilities", out, p, count);
        expect_floats("losses", loss, losses, ROWS);
        expect_floats("dlogits", dlogits, slopes, count);
        library->release(in);
        library->release(slope);
        library->release(of_device);
        float *const all[] = {x, dlosses, p, losses, slopes};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
    }
}

/* Numbers of which many are equal: the first of the greatest counts. A label may be out of
 * range. */
static void accuracy_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    enum { ROWS = 37 };
    for (size_t l = 0; l < LENGTHS * (KINDS + 1); l++) {
        const size_t columns = lengths[l % LENGTHS], count = ROWS * columns, kind = l / LENGTHS;
        float *x = inputs(kind % KINDS, 200 + l, count), *expected = allocate_floats(ROWS);
        int32_t labels[ROWS];
        for (size_t i = 0; i < count && kind == KINDS; i++) { x[i] = truncf(2 * x[i]); }
        for (size_t r = 0; r < ROWS; r++) {
            int32_t best = 0;
            for (size_t c = 1; c < columns; c++) {
                if (x[r * columns + c] > x[r * columns + (size_t)best]) { best = (int32_t)c; }
            }
            labels[r] = r % 3 == 0 ? best : (int32_t)(r * 5 % (columns + 2)) - 1;
        }
        float *in = floats_to_device(x, count), *out = device_memory(ROWS * sizeof *out);
        void *of_device = to_device(labels, sizeof labels);
        library->kernels->is_correct(ROWS, columns, in, of_device, 4, out);
        run_portable(&op_is_correct, 0,
                     (struct kernel_call){
                         .in = {floats_view(x, ROWS, columns), view_of(labels, TN_INT32, ROWS, 0)},
                         .out = {floats_view(expected, ROWS, 0)}});
        expect_floats("is_correct", out, expected, ROWS);
        library->release(in);
        library->release(of_device);
        free(x);
        free(expected);
    }
}

/* The loss and the gradient of a row whose label is out of range are NaN; others are not. */
static void labels_out_of_range_give_nan(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 6}, ones[] = {1, 1};
    const int32_t labels[] = {3, 2};
    float *in = floats_to_device(x, 6), *slope = floats_to_device(ones, 2);
    void *of_device = to_device(labels, sizeof labels);
    float *p = device_memory(sizeof x), *loss = device_memory(sizeof ones);
    float *dlogits = device_memory(sizeof x);
    library->kernels->cross_entropy(2, 3, in, of_device, 4, 0, loss, p);
    library->kernels->cross_entropy_gradient(2, 3, p, of_device, 4, 0, slope, dlogits);
    float *losses = from_device(loss, sizeof ones), *slopes = from_device(dlogits, sizeof x);
    assert_true(losses[0] != losses[0] && losses[1] == losses[1]);
    for (size_t i = 0; i < 6; i++) { assert_true((slopes[i] != slopes[i]) == (i < 3)); }
    library->release(in);
    library->release(slope);
    library->release(of_device);
    library->release(p);
    free(losses);
    free(slopes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_have_the_bits_of_the_cpu),
        cmocka_unit_test(sums_over_other_dimensions),
        cmocka_unit_test(softmax_has_the_bits_of_the_cpu),
        cmocka_unit_test(cross_entropy_has_the_bits_of_the_cpu),
        cmocka_unit_test(smoothed_cross_entropy_has_the_bits_of_the_cpu),
        cmocka_unit_test(accuracy_has_the_bits_of_the_cpu),
        cmocka_unit_test(labels_out_of_range_give_nan),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
