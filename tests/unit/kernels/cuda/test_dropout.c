/* kernels/cuda/dropout.c: the same elements fall as on the CPU, and the others have its bits. */
#include "tests/unit/kernels/cuda/device.h"

static void dropout_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 15, 16, 63, 64, 65, 1000};
    static const float rates[] = {0.0F, 0.1F, 0.5F, 0.999F};
    for (size_t i = 0; i < 4 * sizeof counts / sizeof counts[0]; i++) {
        const struct cuda_dropout task = {
            .key = random_at(1, 2, i),
            .step = i % 3 == 0 ? i : random_at(1, 3, i),
            .example = i % 2 == 0 ? 7 : UINT32_MAX - 2,
            .examples = 5,
            .count = counts[i / 4],
            .rate = rates[i % 4],
        };
        const size_t elements = task.examples * task.count;
        struct dropout_stream stream = {task.key, task.step, task.example};
        float *x = any_floats(50 + i, elements), *expected = allocate_floats(elements);
        float *in = floats_to_device(x, elements), *out = device_memory(elements * sizeof *out);
        library->kernels->dropout(&task, in, out);
        for (size_t e = 0; e < task.examples; e++, stream.example++) {
            portable_fastest()->dropout->apply(&stream, task.count, task.rate, x + e * task.count,
                                               expected + e * task.count);
        }
        expect_floats("dropout", out, expected, elements);
        library->release(in);
        free(x);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropout_has_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
