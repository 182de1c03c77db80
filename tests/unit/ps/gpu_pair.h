/* tests/unit/ps/gpu_pair.h: two shards with the same contents, on the CPU and on a GPU, and the
 * comparison of their bits. LD_LIBRARY_PATH names the folder of the emulated driver;
 * TANIST_TEST_GPU=1: the machine's driver. */
#ifndef TESTS_UNIT_PS_GPU_PAIR_H
#define TESTS_UNIT_PS_GPU_PAIR_H

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "ps/shard.h"
#include "tests/unit/kernels/gpu/emulated_skip.h"
#include "tests/unit/ps/pushed_gradient.h"

enum { CHUNK_BYTES = 3072, CHUNK = CHUNK_BYTES / 4, PIECE = 1024, STEPS = 3 };

static const char *const orders[] = {"order=late", "order=copies", "order=kernels",
                                     "order=random,seed=1", "order=random,seed=2"};

static const struct cuda_library *library;
static struct variable_table variables;
static struct buffer_pool *pool;
static struct job job;
static uint64_t compared;

/* Both shards get the same calls. */
static struct shard pair[2];

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define EACH(shard) for (struct shard *shard = pair; shard < pair + 2; shard++)

/* ------------------------------------------------------------------ values */

/* Numbers of all magnitudes, zeros, subnormal numbers; in `all`, also infinities and NaN. */
static inline float value_at(bool all, uint64_t stream, uint64_t i)
{
    static const float special[] = {0.0F,     -0.0F,     FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN,
                                    -FLT_MIN, 1e-30F,    -1e-30F,      FLT_MAX,       -FLT_MAX,
                                    INFINITY, -INFINITY, NAN};
    enum { SPECIAL = COUNT(special), FINITE = SPECIAL - 5 };
    const uint64_t number = random_at(3, stream, i);
    if (number >> 62 == 0) {
        return special[(number & 0xffff) % (all ? (int)SPECIAL : (int)FINITE)];
    }
    return (random_unit_at(4, stream, i) - 0.5F) * (number >> 62 == 1 ? 1e-4F : 8.0F);
}

static bool all_values;

static inline float sum_at(struct slice_node node, uint64_t step, uint64_t i)
{
    if (node.count == 1) { return value_at(all_values, step * SLICES_MAX + node.first, i); }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return sum_at(left, step, i) + sum_at(right, step, i);
}

/* ------------------------------------------------------------------- shards */

/* Four variables, of which one is an average, and two adapt to norms. */
static inline void make_variables(void)
{
    memset(&variables, 0, sizeof variables);
    static const struct {
        const char *name;
        uint32_t rank, dims[2];
    } all[] = {{"a", 2, {15, 100}}, {"b", 1, {701}}, {"mean", 1, {37}}, {"c", 2, {90, 100}}};
    for (size_t i = 0; i < COUNT(all); i++) {
        assert_int_equal(variable_table_add(&variables, all[i].name, all[i].rank, all[i].dims,
                                            VARIABLE_GLOROT_UNIFORM, 0, NULL),
                         TN_OK);
    }
    variables.variables[2].update = VARIABLE_AVERAGED;
    variables.variables[2].momentum = 0.9F;
}

static inline void open_pair(uint64_t first, uint64_t count, uint32_t slices)
{
    struct error error = {.text = ""};
    struct shard_config config = {.kernels = kernels_reference(),
                                  .optimizer = optimizer_of_job(&job, &variables),
                                  .pool = pool,
                                  .first = first,
                                  .count = count,
                                  .slices = slices,
                                  .chunk_bytes = CHUNK_BYTES};
    assert_true(first + count <= variables.parameter_count);
    assert_int_equal(shard_open(&pair[0], &config, NULL), TN_OK);
    config.gpu = (struct shard_gpu_place){library, 0, PIECE};
    if (shard_open(&pair[1], &config, &error) != TN_OK) { fail_msg("%s", error.text); }
    EACH(shard)
    {
        assert_true(shard_begin_load(shard));
        shard_load_initial(shard, &variables, 7);
        assert_true(shard_adopt(shard, 0));
    }
    assert_null(pair[1].current[1]);
}

static inline void close_pair(void)
{
    EACH(shard)
    {
        shard_close(shard);
    }
}

static inline void hold(struct shard *shard, struct slice_node node, uint64_t step)
{
    static float sum[16384];
    for (uint64_t i = 0; i < shard->config.count; i++) { sum[i] = sum_at(node, step, i); }
    shard_hold(shard, node.first, pushed_gradient(pool, sum, shard->config.count, CHUNK_BYTES));
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The first float that differs; NaN may have any bits. */
static inline size_t first_difference(const struct buffer *cpu, const struct buffer *gpu)
{
    const size_t count = cpu->size / sizeof(float);
    const float *a = cpu->data, *b = gpu->data;
    assert_int_equal(cpu->size, gpu->size);
    for (size_t i = 0; i < count; i++) {
        if (bits_of(a[i]) != bits_of(b[i]) && !(isnan(a[i]) && isnan(b[i]))) { return i; }
    }
    return count;
}

static inline void compare(const char *what, const struct buffer *cpu, const struct buffer *gpu)
{
    assert_non_null(cpu);
    assert_non_null(gpu);
    const size_t count = cpu->size / sizeof(float), at = first_difference(cpu, gpu);
    compared += count;
    if (at == count) { return; }
    fail_msg("%s: %zu: %a on the CPU, %a on the GPU", what, at,
             (double)((const float *)cpu->data)[at], (double)((const float *)gpu->data)[at]);
}

/* ------------------------------------------------------------------- a test */

static inline bool is_real(void)
{
    const char *real = getenv("TANIST_TEST_GPU");
    return real != NULL && strcmp(real, "1") == 0;
}

static inline void open_gpu(void)
{
    struct error error = {.text = ""};
    if (cuda_library_open(0, &library, &error) == TN_OK) { return; }
    print_error("%s\n", error.text);
    exit(EXIT_FAILURE);
}

static inline int set_up(void **state)
{
    (void)state;
    make_variables();
    job_init(&job);
    job.train.learning_rate = 0.05;
    pool = buffer_pool_create(0);
    return pool == NULL;
}

static inline int tear_down(void **state)
{
    (void)state;
    all_values = false;
    close_pair();
    buffer_pool_destroy(pool); /* Asserts that no reference is left. */
    return 0;
}

static inline const struct slice_node *single_slices(uint32_t count)
{
    static struct slice_node nodes[SLICES_MAX];
    for (uint32_t i = 0; i < count; i++) { nodes[i] = (struct slice_node){i, 1}; }
    return nodes;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
