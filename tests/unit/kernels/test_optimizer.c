/* Optimizers: names, learning rates, and steps that do not depend on the division into shards. */
#include "kernels/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"

static struct optimizer of_kind(enum optimizer_kind kind)
{
    struct job job;
    job_init(&job);
    job.train.optimizer = kind;
    job.train.learning_rate = 0.001;
    return optimizer_of_job(&job);
}

/* Each kind has a name and its arrays; the first array is the values. */
static void test_kinds_know_their_arrays(void **state)
{
    (void)state;
    assert_string_equal(optimizer_name(OPTIMIZER_MOMENTUM), "momentum");
    assert_int_equal(optimizer_arrays(OPTIMIZER_SGD), 1);
    assert_int_equal(optimizer_arrays(OPTIMIZER_MOMENTUM), 2);
    assert_int_equal(optimizer_arrays(OPTIMIZER_ADAM), 3);
    assert_string_equal(optimizer_array_name(OPTIMIZER_ADAM, 0), "values");
    assert_string_equal(optimizer_array_name(OPTIMIZER_ADAM, 2), "v");
}

/* The learning rate falls linearly and then stays; without decay_steps it is constant. */
static void test_learning_rate_decays(void **state)
{
    (void)state;
    struct optimizer optimizer = of_kind(OPTIMIZER_MOMENTUM);
    optimizer.learning_rate = 0.5;
    assert_true(optimizer_rate(&optimizer, 1000000) == 0.5);
    optimizer.final_learning_rate = 0.25;
    optimizer.decay_steps = 100;
    assert_true(optimizer_rate(&optimizer, 0) == 0.5);
    assert_true(optimizer_rate(&optimizer, 50) == 0.375);
    assert_true(optimizer_rate(&optimizer, 100) == 0.25);
    assert_true(optimizer_rate(&optimizer, UINT64_MAX) == 0.25);
}

/* Adam's first step has the size of the learning rate, against the gradient. */
static void test_adam_starts_unbiased(void **state)
{
    (void)state;
    struct optimizer optimizer = of_kind(OPTIMIZER_ADAM);
    const float gradient[] = {3.0F, -0.001F}, zeros[] = {0, 0};
    float values[2], m[2], v[2];
    optimizer_apply(&optimizer, kernels_cpu(), 0, 2, gradient,
                    (const float *const[]){zeros, zeros, zeros}, (float *const[]){values, m, v});
    assert_true(fabsf(values[0] + 0.001F) < 1e-7F);
    assert_true(fabsf(values[1] - 0.001F) < 1e-7F);
}

/* With 4 slices the decay and the means reach back 4 times as many updates, at a quarter of the
 * rate. */
static void test_updates_per_slice_are_scaled(void **state)
{
    (void)state;
    struct optimizer whole = of_kind(OPTIMIZER_MOMENTUM);
    whole.momentum = 0.9;
    whole.decay_steps = 10;
    struct optimizer sliced = optimizer_per_slice(whole, 4);
    assert_int_equal(sliced.decay_steps, 40);
    assert_true(fabs(sliced.learning_rate - whole.learning_rate / 4) < 1e-12);
    assert_true(fabs(1 / (1 - sliced.momentum) - 4 / (1 - whole.momentum)) < 1e-9);
    struct optimizer sgd = optimizer_per_slice(of_kind(OPTIMIZER_SGD), 4);
    assert_true(sgd.learning_rate == 0.001);
}

enum { COUNT = 777 };

/* Run ten steps over the ranges [0, cut) and [cut, COUNT) of the same arrays. */
static void run_steps(const struct optimizer *optimizer, const struct kernels *kernels,
                      uint64_t cut, float arrays[2][OPTIMIZER_ARRAYS_MAX][COUNT])
{
    static float gradient[COUNT];
    memset(arrays, 0, 2 * sizeof arrays[0]);
    for (uint64_t step = 0; step < 10; step++) {
        float(*in)[COUNT] = arrays[step % 2], (*out)[COUNT] = arrays[(step + 1) % 2];
        for (uint64_t i = 0; i < COUNT; i++) { gradient[i] = random_unit_at(5, step, i) - 0.4F; }
        const uint64_t firsts[] = {0, cut}, counts[] = {cut, COUNT - cut};
        for (int part = 0; part < 2; part++) {
            uint64_t f = firsts[part];
            optimizer_apply(optimizer, kernels, step, counts[part], gradient + f,
                            (const float *const[]){in[0] + f, in[1] + f, in[2] + f},
                            (float *const[]){out[0] + f, out[1] + f, out[2] + f});
        }
    }
}

/* Ten steps have the same bits for any division of the parameters and any backend. */
static void test_steps_do_not_depend_on_shards(void **state)
{
    (void)state;
    const enum optimizer_kind kinds[] = {OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM};
    for (int k = 0; k < 3; k++) {
        static float whole[2][OPTIMIZER_ARRAYS_MAX][COUNT], cut[2][OPTIMIZER_ARRAYS_MAX][COUNT];
        struct optimizer optimizer = of_kind(kinds[k]);
        run_steps(&optimizer, kernels_reference(), COUNT, whole);
        run_steps(&optimizer, kernels_cpu(), 0, cut);
        assert_memory_equal(cut, whole, sizeof whole);
        run_steps(&optimizer, kernels_cpu(), 333, cut);
        assert_memory_equal(cut, whole, sizeof whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_know_their_arrays),
        cmocka_unit_test(test_learning_rate_decays),
        cmocka_unit_test(test_adam_starts_unbiased),
        cmocka_unit_test(test_updates_per_slice_are_scaled),
        cmocka_unit_test(test_steps_do_not_depend_on_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
