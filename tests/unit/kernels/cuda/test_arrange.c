/* kernels/cuda/arrange.c: elements of each size move to the places of their strides; casts have the
 * bits of the CPU's. */
#include "tests/unit/kernels/cuda/portable_call.h"

enum { SOURCE = 400, MOVED = 4 * 6 * 9, RESULT = 5 * MOVED };

static const struct cuda_shape shape = {.rank = 3, .dims = {4, 6, 9}};

static size_t offset_of(const struct cuda_strides *strides, size_t index)
{
    size_t at = strides->first;
    for (uint32_t i = shape.rank; i-- > 0; index /= shape.dims[i]) {
        at += index % shape.dims[i] * strides->stride[i];
    }
    return at;
}

/* A permutation of a part into a part of the result, whose other bytes stay. */
static void elements_of_each_size_move(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 4, 8};
    const struct cuda_strides from = {.stride = {1, 5, 40}, .first = 3};
    const struct cuda_strides to = {.stride = {270, 45, 5}, .first = 2};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const uint32_t bytes = sizes[s];
        uint8_t x[SOURCE * 8], expected[RESULT * 8];
        for (size_t i = 0; i < sizeof x; i++) { x[i] = (uint8_t)random_at(41, s, i); }
        memset(expected, 0x5a, sizeof expected);
        void *in = to_device(x, SOURCE * bytes), *out = to_device(expected, RESULT * bytes);
        library->kernels->arrange(&shape, bytes, in, &from, out, &to);
        for (size_t i = 0; i < MOVED; i++) {
            memcpy(expected + offset_of(&to, i) * bytes, x + offset_of(&from, i) * bytes, bytes);
        }
        uint8_t *found = from_device(out, RESULT * bytes);
        assert_memory_equal(found, expected, RESULT * bytes);
        compared += MOVED;
        library->release(in);
        free(found);
    }
}

/* Nothing is written and nothing is read. */
static void no_elements_do_nothing(void **state)
{
    (void)state;
    const struct cuda_shape none = {.rank = 2, .dims = {0, 3}};
    const struct cuda_strides strides = {.stride = {3, 1}};
    library->kernels->arrange(&none, 4, NULL, &strides, NULL, &strides);
    library->kernels->cast(0, CUDA_BYTE, NULL, 1, NULL);
    library->kernels->cast_to_integers(0, CUDA_FLOAT, NULL, 8, NULL);
    library->kernels->one_hot(0, NULL, 4, 3, NULL);
    library->kernels->key_share(0, NULL, 1, 0, 1, TN_KEY_NONE, NULL);
}

enum { CASTS = 3001 };

/* The type of a view as the kernels name it. */
static enum cuda_type named(enum tn_type type)
{
    switch (type) {
    case TN_FLOAT32: return CUDA_FLOAT;
    case TN_INT32: return CUDA_INT;
    case TN_INT64: return CUDA_LONG;
    case TN_UINT8: break;
    }
    return CUDA_BYTE;
}

static void compare_cast(const void *x, enum tn_type from, enum tn_type to, float factor)
{
    const size_t out_bytes = CASTS * type_size(to, false);
    void *expected = calloc(1, out_bytes), *out = device_memory(out_bytes);
    void *in = to_device(x, CASTS * type_size(from, false));
    if (to == TN_FLOAT32) {
        library->kernels->cast(CASTS, named(from), in, factor, out);
    } else {
        library->kernels->cast_to_integers(CASTS, named(from), in, (uint32_t)type_size(to, false),
                                           out);
    }
    run_portable(&op_cast, (double)factor,
                 (struct kernel_call){.in = {view_of(x, from, CASTS, 0)},
                                      .out = {view_of(expected, to, CASTS, 0)}});
    if (to == TN_FLOAT32) {
        expect_floats("cast", out, expected, CASTS);
    } else {
        void *found = from_device(out, out_bytes);
        assert_memory_equal(found, expected, out_bytes);
        compared += CASTS;
        free(found);
    }
    library->release(in);
    free(expected);
}

/* From numbers of all kinds; floats out of range become -1. */
static void casts_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const float edges[] = {-1, -0.5F, 0.99F, 1, 0x1p31F, 0x1.fffffep30F, 0x1p24F};
    float *x = any_floats(42, CASTS);
    int64_t longs[CASTS];
    int32_t ints[CASTS];
    uint8_t bytes[CASTS];
    memcpy(x, edges, sizeof edges);
    for (size_t i = 0; i < CASTS; i++) {
        longs[i] = (int64_t)(random_at(43, 0, i) >> i % 64) * (i % 2 == 0 ? 1 : -1);
        ints[i] = (int32_t)longs[i];
        bytes[i] = (uint8_t)i;
    }
    const struct {
        const void *data;
        enum tn_type type;
    } from[] = {{x, TN_FLOAT32}, {longs, TN_INT64}, {ints, TN_INT32}, {bytes, TN_UINT8}};
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        compare_cast(from[i].data, from[i].type, TN_FLOAT32, 1.0F / 255);
        compare_cast(from[i].data, from[i].type, TN_INT64, 1);
        if (from[i].type != TN_INT64) { compare_cast(from[i].data, from[i].type, TN_INT32, 1); }
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_each_size_move),
        cmocka_unit_test(no_elements_do_nothing),
        cmocka_unit_test(casts_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
