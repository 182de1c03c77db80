/* Dropout: the published generator, equal bits in every class, and which elements fall. */
#include "kernels/portable/dropout.h"

#include <math.h>

#include "tests/unit/kernels/portable/classes.h"

/* Philox4x32-10 by its definition. */
static void philox_by_definition(uint32_t c[4], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xd2511f53U, b = (uint64_t)c[2] * 0xcd9e8d57U;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key0, (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ key1, (uint32_t)a};
        memcpy(c, next, sizeof next);
        key0 += 0x9e3779b9U;
        key1 += 0xbb67ae85U;
    }
}

/* The known answers of the authors' Random123. */
static void test_the_definition_gives_the_known_answers(void **state)
{
    (void)state;
    uint32_t zeros[4] = {0}, ones[4] = {~0U, ~0U, ~0U, ~0U};
    const uint32_t of_zeros[4] = {0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U};
    const uint32_t of_ones[4] = {0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU};
    philox_by_definition(zeros, 0, 0);
    assert_memory_equal(zeros, of_zeros, sizeof zeros);
    philox_by_definition(ones, ~0U, ~0U);
    assert_memory_equal(ones, of_ones, sizeof ones);
}

/* The bits of every element are the word that dropout.h names, in every class, for every length. */
static void test_bits_follow_the_definition(void **state)
{
    (void)state;
    enum { COUNT = 333 };
    const struct dropout_stream stream = {0x0123456789abcdefU, 0xfedcba9876543210U, 77};
    uint32_t expected[COUNT], out[COUNT];
    for (uint32_t e = 0; e < COUNT; e++) {
        uint32_t c[4] = {e / 64 * 16 + e % 16, stream.example, (uint32_t)stream.step,
                         (uint32_t)(stream.step >> 32)};
        philox_by_definition(c, (uint32_t)stream.key, (uint32_t)(stream.key >> 32));
        expected[e] = c[e / 16 % 4];
    }
    for (size_t k = 0; k < class_count; k++) {
        for (size_t count = 0; count <= COUNT; count++) {
            memset(out, 0, sizeof out);
            classes[k]->dropout->bits(&stream, count, out);
            assert_memory_equal(out, expected, count * sizeof *out);
            assert_true(count == COUNT || out[count] == 0);
        }
    }
}

/* Elements whose bits are below rate * 2^32 fall, the others are scaled; equal bits everywhere. */
static void test_elements_fall_by_their_bits(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    const struct dropout_stream stream = {42, 7, 3};
    float *x = random_floats(1, COUNT), expected[COUNT], out[COUNT];
    uint32_t random[COUNT];
    static const float rates[] = {0.0F, 0.1F, 0.5F, 0.999F};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        size_t fallen = 0;
        float scale = 1.0F / (1.0F - rates[i]);
        classes[0]->dropout->bits(&stream, COUNT, random);
        for (size_t e = 0; e < COUNT; e++) {
            bool falls = (double)random[e] < floor((double)rates[i] * 0x1p32);
            expected[e] = falls ? 0.0F : x[e] * scale;
            fallen += falls;
        }
        assert_true(fabs((double)fallen - (double)rates[i] * COUNT) <= 60);
        for (size_t c = 0; c < class_count; c++) {
            classes[c]->dropout->apply(&stream, COUNT, rates[i], x, out);
            assert_same_bits(out, expected, COUNT, classes[c]->name, "dropout");
            classes[c]->dropout->apply(&stream, 13, rates[i], x, out);
            assert_same_bits(out, expected, COUNT, classes[c]->name, "a prefix");
        }
    }
    free(x);
}

/* Other keys, steps and examples give other elements. */
static void test_streams_differ(void **state)
{
    (void)state;
    const struct dropout_stream streams[] = {
        {1, 1, 1},
        {2, 1, 1},
        {1, 2, 1},
        {1, 1, 2},
        {UINT64_C(1) << 32 | 1, 1, 1},
        {1, UINT64_C(1) << 32 | 1, 1},
    };
    enum { STREAMS = sizeof streams / sizeof streams[0], COUNT = 64 };
    uint32_t bits[STREAMS][COUNT];
    for (size_t i = 0; i < STREAMS; i++) {
        classes[0]->dropout->bits(&streams[i], COUNT, bits[i]);
        for (size_t j = 0; j < i; j++) {
            assert_memory_not_equal(bits[i], bits[j], sizeof bits[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_definition_gives_the_known_answers),
        cmocka_unit_test(test_bits_follow_the_definition),
        cmocka_unit_test(test_elements_fall_by_their_bits),
        cmocka_unit_test(test_streams_differ),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
