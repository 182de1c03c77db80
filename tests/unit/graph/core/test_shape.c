/* graph/core/shape.h: elements, validity, broadcasting and texts of shapes. */
#include "graph/core/shape.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void elements_do_not_count_the_batch(void **state)
{
    (void)state;
    assert_int_equal(shape_elements(&TN_SHAPE(TN_BATCH, 3, 4)), 12);
    assert_int_equal(shape_elements(&TN_SCALAR), 1);
    assert_int_equal(shape_last(&TN_SHAPE(2, 5)), 5);
    assert_int_equal(shape_last(&TN_SCALAR), 1);
    struct tn_shape shape = shape_with_batch(TN_SHAPE(TN_BATCH, 3), 7);
    assert_int_equal(shape_elements(&shape), 21);
}

static void only_the_first_dimension_may_be_the_batch(void **state)
{
    (void)state;
    assert_true(shape_is_valid(&TN_SHAPE(TN_BATCH, 3)));
    assert_true(shape_is_valid(&TN_SCALAR));
    assert_false(shape_is_valid(&TN_SHAPE(3, TN_BATCH)));
    assert_false(shape_is_valid(&TN_SHAPE(3, 0)));
    assert_false(shape_is_valid(&TN_SHAPE(INT64_C(1) << 30, INT64_C(1) << 30)));
    assert_false(shape_is_valid(&(struct tn_shape){.rank = TN_RANK_MAX + 1}));
}

static void broadcasting_aligns_last_dimensions(void **state)
{
    (void)state;
    struct tn_shape out;
    assert_true(shape_broadcast(&TN_SHAPE(TN_BATCH, 1, 4), &TN_SHAPE(3, 1), &out));
    assert_true(shape_equal(&out, &TN_SHAPE(TN_BATCH, 3, 4)));
    assert_true(shape_broadcast(&TN_SCALAR, &TN_SHAPE(2), &out));
    assert_true(shape_equal(&out, &TN_SHAPE(2)));
    assert_false(shape_broadcast(&TN_SHAPE(2, 3), &TN_SHAPE(2), &out));
    assert_false(shape_broadcast(&TN_SHAPE(TN_BATCH, 3), &TN_SHAPE(5, 3), &out));
    /* The batch would not be in front. */
    assert_false(shape_broadcast(&TN_SHAPE(TN_BATCH, 3), &TN_SHAPE(2, 1, 3), &out));
}

static void texts_have_type_and_dimensions(void **state)
{
    (void)state;
    char text[SHAPE_TEXT_MAX];
    assert_string_equal(shape_format(TN_FLOAT32, &TN_SHAPE(TN_BATCH, 28, 28), text),
                        "float32 [batch, 28, 28]");
    assert_string_equal(shape_format(TN_UINT8, &TN_SCALAR, text), "uint8 []");
    struct tn_shape longest = {.rank = TN_RANK_MAX};
    for (int i = 0; i < TN_RANK_MAX; i++) { longest.dims[i] = INT64_MIN; }
    assert_non_null(shape_format(TN_INT64, &longest, text));
}

static void floats_are_wider_in_double(void **state)
{
    (void)state;
    assert_int_equal(type_size(TN_FLOAT32, false), 4);
    assert_int_equal(type_size(TN_FLOAT32, true), 8);
    assert_int_equal(type_size(TN_INT32, true), 4);
    assert_string_equal(type_name((enum tn_type)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_do_not_count_the_batch),
        cmocka_unit_test(only_the_first_dimension_may_be_the_batch),
        cmocka_unit_test(broadcasting_aligns_last_dimensions),
        cmocka_unit_test(texts_have_type_and_dimensions),
        cmocka_unit_test(floats_are_wider_in_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
