/* graph/reference/philox.h: the bits of kernels/portable/dropout.h. */
#include "graph/reference/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernels/portable/portable.h"

enum { COUNT = 300 };

static void bits_are_those_of_the_portable_kernels(void **state)
{
    (void)state;
    static const struct dropout_stream streams[] = {
        {.key = 0, .step = 0, .example = 0},
        {.key = UINT64_C(0x0123456789abcdef), .step = UINT64_C(0x100000007), .example = 12345},
        {.key = UINT64_MAX, .step = UINT64_MAX, .example = UINT32_MAX},
    };
    const struct portable *kernels = NULL;
    assert_int_equal(portable_open("scalar", &kernels, NULL), TN_OK);
    for (size_t s = 0; s < sizeof streams / sizeof streams[0]; s++) {
        uint32_t bits[COUNT];
        kernels->dropout->bits(&streams[s], COUNT, bits);
        for (uint64_t i = 0; i < COUNT; i++) {
            assert_int_equal(philox_bits(streams[s].key, streams[s].step, streams[s].example, i),
                             bits[i]);
        }
    }
}

/* The first known answer of the generator's authors: counter and key of zeros. */
static void the_first_known_answer_is_right(void **state)
{
    (void)state;
    static const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (uint64_t w = 0; w < 4; w++) {
        assert_int_equal(philox_bits(0, 0, 0, w * PHILOX_LANES), words[w]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_the_portable_kernels),
        cmocka_unit_test(the_first_known_answer_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
