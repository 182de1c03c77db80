/* graph/ops/window.h: defaults, padding and results of windows. */
#include "graph/ops/window.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void defaults_are_one(void **state)
{
    (void)state;
    struct attributes attributes = {0};
    const struct tn_window window = {.height = 3};
    const struct tn_shape x = TN_SHAPE(TN_BATCH, 7, 5, 2);
    assert_int_equal(window_resolve(&x, &window, &attributes, NULL), TN_OK);
    assert_int_equal(attributes.integers[WINDOW_HEIGHT], 3);
    assert_int_equal(attributes.integers[WINDOW_WIDTH], 1);
    assert_int_equal(attributes.integers[WINDOW_STRIDE_X], 1);
    assert_int_equal(window_results(&x, attributes.integers, true), 5);
    assert_int_equal(window_results(&x, attributes.integers, false), 5);
}

/* For all sizes: as many results as size / stride, rounded up, and padding below the window. */
static void same_has_one_result_per_stride(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 12; size++) {
        for (uint32_t kernel = 1; kernel <= size; kernel++) {
            for (uint32_t stride = 1; stride <= 5; stride++) {
                struct attributes attributes = {0};
                const struct tn_shape x = TN_SHAPE(TN_BATCH, size, 1, 1);
                const struct tn_window window = {
                    .height = kernel, .stride_height = stride, .same = true};
                assert_int_equal(window_resolve(&x, &window, &attributes, NULL), TN_OK);
                const int64_t *integers = attributes.integers;
                assert_int_equal(window_results(&x, integers, true), (size + stride - 1) / stride);
                assert_in_range(integers[WINDOW_BOTTOM] - integers[WINDOW_TOP], 0, 1);
                assert_true(integers[WINDOW_BOTTOM] < kernel);
            }
        }
    }
}

static void wrong_windows_are_refused(void **state)
{
    (void)state;
    static const struct tn_window wrong[] = {
        {.height = 2, .top = 2}, {.height = 2, .bottom = 7},   {.left = 1}, {.right = 1},
        {.height = UINT32_MAX},  {.stride_width = UINT32_MAX},
    };
    struct attributes attributes = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(window_resolve(&TN_SHAPE(TN_BATCH, 7, 5, 2), &wrong[i], &attributes, NULL),
                         TN_EINVAL);
    }
    assert_int_equal(window_resolve(&TN_SHAPE(TN_BATCH, 7), &wrong[0], &attributes, NULL),
                     TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_one),
        cmocka_unit_test(same_has_one_result_per_stride),
        cmocka_unit_test(wrong_windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
