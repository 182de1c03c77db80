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

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The nearest of two neighbours, by their distances in double precision; of two that are equally
 * near, the one whose last bit is 0. Infinity is where the next number would be. */
static uint16_t nearest_bf16(float x)
{
    const uint32_t bits = bits_of(x), sign = bits & 0x80000000U;
    if (isinf(x)) { return (uint16_t)(bits >> 16); }
    const uint16_t below = (uint16_t)((bits & 0x7fffffffU) >> 16), above = (uint16_t)(below + 1);
    const double size = fabs((double)x), low = (double)float_of((uint32_t)below << 16);
    const double high = above == 0x7f80 ? 0x1p128 : (double)float_of((uint32_t)above << 16);
    const bool is_up = high - size < size - low || (high - size == size - low && above % 2 == 0);
    return (uint16_t)(sign >> 16 | (is_up ? above : below));
}

enum { LINES = 9, LENGTH = 37, STEP = 40, NEXT = 400, PAIRS = 8 };

/* Numbers of all kinds: ties to both sides, overflow, subnormal numbers, infinities, NaN. */
static float *numbers_to_round(void)
{
    static const uint32_t edges[] = {
        0x00000000, 0x80000000, 0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff,
        0xbf808000, 0xbf818000, 0x7f7f0000, 0x7f7f7fff, 0x7f7f8000, 0x7f7fffff, 0xff7f8000,
        0x00000001, 0x00007fff, 0x00008000, 0x00008001, 0x00018000, 0x007fffff, 0x807fffff,
        0x00800000, 0x7f800000, 0xff800000, 0x7f800001, 0xff80ffff, 0x7fc00000, 0x7fffffff,
    };
    float *x = any_floats(44, (size_t)PAIRS * NEXT);
    for (size_t pair = 0; pair < PAIRS; pair++) {
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
            x[pair * NEXT + i] = float_of(edges[i] ^ (uint32_t)(pair % 2 << 31));
        }
    }
    return x;
}

/* Without the gaps between lines and matrices; nothing behind the last number is written. */
static void floats_are_rounded_to_the_nearest_bf16(void **state)
{
    (void)state;
    enum { COUNT = PAIRS * LINES * LENGTH, MARK = 0x5a5a };
    float *x = numbers_to_round();
    uint16_t marks[COUNT + 1];
    for (size_t i = 0; i <= COUNT; i++) { marks[i] = MARK; }
    float *in = floats_to_device(x, (size_t)PAIRS * NEXT);
    uint16_t *out = to_device(marks, sizeof marks);
    library->kernels->round_to_bf16(PAIRS, LINES, LENGTH, NEXT, STEP, in, out);
    library->kernels->round_to_bf16(0, LINES, LENGTH, NEXT, STEP, in, out + COUNT);
    uint16_t *found = from_device(out, sizeof marks);
    for (size_t i = 0; i < COUNT; i++) {
        const float of = x[i / LENGTH / LINES * NEXT + i / LENGTH % LINES * STEP + i % LENGTH];
        const float rounded = float_of((uint32_t)found[i] << 16);
        if (isnan(of)) {
            assert_true(isnan(rounded) && (bits_of(of) ^ bits_of(rounded)) >> 31 == 0);
        } else if (found[i] != nearest_bf16(of)) {
            fail_msg("%a becomes %a", (double)of, (double)rounded);
        }
    }
    assert_int_equal(found[COUNT], MARK);
    compared += COUNT;
    free(found);
    library->release(in);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_each_size_move),
        cmocka_unit_test(no_elements_do_nothing),
        cmocka_unit_test(casts_have_the_bits_of_the_cpu),
        cmocka_unit_test(floats_are_rounded_to_the_nearest_bf16),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
