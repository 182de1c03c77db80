/* Updates in one pass have the bits of a sum over a tree and an update of the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"
#include "kernels/optimizer.h"
#include "tests/unit/kernels/slice_terms.h"

enum { COUNT = 700, MARGIN = 80, LENGTH = COUNT + 2 * MARGIN, SLICES = 37, RUNS = 6000 };

static const float special[] = {0,      -0.0F,    1e-40F,    -1e-40F, 1e-20F, -3e-12F,
                                1e-10F, INFINITY, -INFINITY, NAN,     3e38F,  -3e38F};
enum { SPECIALS = sizeof special / sizeof *special };

static const struct optimizer_constants steps[] = {
    {0.01F, 1, INFINITY, 0, 0.9F, 0.9F, 0.1F, 0.999F, 0.001F, 1.7F, 1e-8F, 10},
    {0.1F, 0.75F, 1.25F, 0.001F, 0.5F, 0.8F, 0.2F, 0.9F, 0.1F, 3, 1e-3F, 5},
};

static float *gradients[SLICES], *arrays[OPTIMIZER_ARRAYS_MAX];

/* All variants of the loops that this machine can run. */
static const struct kernels *variant(uint32_t number)
{
    const struct kernels *avx2 = NULL;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) { avx2 = cpu_loops_avx2(); }
#endif
    if (number % 3 == 0) { return cpu_loops_baseline(); }
    return number % 3 == 1 && avx2 != NULL ? avx2 : kernels_cpu();
}

/* Every eleventh is a special one, at other places in each array. */
static float *floats(uint64_t stream)
{
    float *values = aligned_alloc(64, LENGTH * sizeof *values + 64 - LENGTH * sizeof *values % 64);
    assert_non_null(values);
    for (uint32_t i = 0; i < LENGTH; i++) {
        values[i] = 4.0F * random_unit_at(11, stream, i) - 2.0F;
        if ((i + stream) % 11 == 0) { values[i] = special[(i / 11 + stream) % SPECIALS]; }
    }
    return values;
}

static int set_up(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < SLICES; s++) { gradients[s] = floats(s); }
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { arrays[a] = floats(100 + a); }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < SLICES; s++) { free(gradients[s]); }
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { free(arrays[a]); }
    return 0;
}

/* One of many combinations of sizes, alignments and places. */
struct fused_case {
    const struct kernels *kernels;
    enum optimizer_kind kind;
    const struct optimizer_constants *constants;
    struct slice_node node; /* A single slice is an array without terms. */
    size_t from, to, count; /* Where the inputs and the outputs begin. */
    bool in_place, streams;
    bool replaces; /* The values are written where an array of the gradient is. */
};

static struct fused_case case_of(uint32_t run)
{
    struct fused_case it = {
        .kernels = variant(run),
        .kind = run / 3 % OPTIMIZER_KINDS,
        .constants = &steps[run / 2 % 2],
        .node = {0, run % 7 == 0 ? 8 : 1 + run * 5 % SLICES},
        .from = run * 13 % 23,
        .to = run * 7 % 67,
        .count = run % 5 == 0 ? 1 + run % 70 : 1 + run * 37 % COUNT,
        .in_place = run / 5 % 2 == 0,
        .streams = run / 7 % 2 == 0,
        .replaces = run / 11 % 3 == 0,
    };
    it.replaces = it.replaces && it.node.count > 1;
    return it;
}

static void expect(const struct fused_case *it, const float *const in[OPTIMIZER_ARRAYS_MAX],
                   float out[OPTIMIZER_ARRAYS_MAX][COUNT])
{
    static float sum[COUNT];
    struct sum_term terms[SLICES];
    const float *gradient = gradients[0] + it->from;
    if (it->node.count > 1) {
        const uint32_t made = slice_terms(it->node, gradients, it->from, terms);
        kernels_reference()->sum_tree(0, it->count, made, terms, sum);
        gradient = sum;
    }
    optimizer_reference.update[it->kind](it->count, it->constants, gradient, in,
                                         (float *const[]){out[0], out[1], out[2], out[3]});
}

/* The sign of a NaN may differ. */
static void assert_same(const float *values, const float *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]) && isnan(expected[i])) { continue; }
        assert_memory_equal(&values[i], &expected[i], sizeof *values);
    }
}

static void run_case(const struct fused_case *it, uint32_t run)
{
    static float out[OPTIMIZER_ARRAYS_MAX][LENGTH], expected[OPTIMIZER_ARRAYS_MAX][COUNT];
    static float before[OPTIMIZER_ARRAYS_MAX][LENGTH], replaced[LENGTH];
    const uint32_t used = optimizer_arrays(it->kind);
    float *own[SLICES];
    struct sum_term terms[SLICES];
    struct fused_update update = {
        .count = it->count, .constants = it->constants, .at = run % 3 == 0 ? it->from : 0};
    memcpy(own, gradients, sizeof own);
    memcpy(replaced, gradients[it->node.count - 1], sizeof replaced);
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        update.in[a] = arrays[a] + it->from;
        update.out[a] = out[a] + it->to;
        update.streams[a] = it->streams;
        memset(out[a], 0x55, sizeof out[a]);
    }
    expect(it, update.in, expected);
    for (uint32_t a = 1; it->in_place && a < used; a++) {
        memcpy(update.out[a], arrays[a] + it->from, it->count * sizeof(float));
        update.in[a] = update.out[a];
        update.streams[a] = false;
    }
    if (it->replaces) {
        own[it->node.count - 1] = replaced;
        update.out[0] = replaced + it->from;
    }
    memcpy(before, out, sizeof before);
    update.gradient = gradients[0] + it->from - update.at;
    update.terms = terms;
    if (it->node.count > 1) {
        update.term_count = slice_terms(it->node, own, it->from - update.at, terms);
    }
    it->kernels->optimizers->update_fused[it->kind](&update);
    it->kernels->stream_fence();
    for (uint32_t a = 0; a < used; a++) {
        assert_same(update.out[a], expected[a], it->count);
        if (update.out[a] == replaced + it->from) { continue; }
        assert_memory_equal(out[a], before[a], it->to * sizeof(float));
        assert_memory_equal(out[a] + it->to + it->count, before[a] + it->to + it->count,
                            (LENGTH - it->to - it->count) * sizeof(float));
    }
}

static void test_one_pass_has_the_bits_of_two(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < RUNS; run++) {
        const struct fused_case it = case_of(run);
        run_case(&it, run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_pass_has_the_bits_of_two)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
