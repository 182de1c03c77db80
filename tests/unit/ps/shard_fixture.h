/* tests/unit/ps/shard_fixture.h: a small shard, and the pushes of workers that it holds. */
#ifndef TESTS_UNIT_PS_SHARD_FIXTURE_H
#define TESTS_UNIT_PS_SHARD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "ps/shard.h"
#include "tests/unit/ps/pushed_gradient.h"

enum { V = 6, COUNT = 5000, CHUNK_BYTES = 3072 };

static struct buffer_pool *pool;
static struct shard shard;
static uint64_t first_parameter = 32; /* The shard begins there. */
static double clip_norm, ema;
static bool no_answers;

static struct variable_table table(void)
{
    struct variable_table variables = {0};
    assert_int_equal(variable_table_add(&variables, "w", 2, (const uint32_t[]){100, 100},
                                        VARIABLE_GLOROT_UNIFORM, 0, NULL),
                     TN_OK);
    return variables;
}

static void open_shard(enum optimizer_kind kind)
{
    static struct variable_table variables;
    struct job job;
    variables = table();
    job_init(&job);
    job.train.optimizer = kind;
    job.train.learning_rate = 0.5;
    job.train.clip_norm = clip_norm;
    job.train.ema = ema;
    pool = buffer_pool_create(0);
    struct shard_config config = {.kernels = kernels_cpu(),
                                  .optimizer = optimizer_of_job(&job, &variables),
                                  .pool = pool,
                                  .first = first_parameter,
                                  .count = COUNT,
                                  .slices = V,
                                  .chunk_bytes = CHUNK_BYTES,
                                  .no_answers = no_answers};
    assert_int_equal(shard_open(&shard, &config, NULL), TN_OK);
    assert_true(shard_begin_load(&shard));
    shard_load_initial(&shard, &variables, 7);
    assert_true(shard_adopt(&shard, 0));
}

static int close_shard(void **state)
{
    (void)state;
    shard_close(&shard);
    buffer_pool_destroy(pool); /* Asserts that no reference is left. */
    return 0;
}

static float gradient_at(uint32_t slice, uint64_t i)
{
    return random_unit_at(1, slice, i) - 0.5f;
}

static float sum_at(struct slice_node node, uint64_t i)
{
    if (node.count == 1) { return gradient_at(node.first, i); }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    return sum_at(left, i) + sum_at(right, i);
}

/* Hold the push of a worker that owns all slices of `node`. */
static void hold(struct slice_node node)
{
    static float sum[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) { sum[i] = sum_at(node, i); }
    shard_hold(&shard, node.first, pushed_gradient(pool, sum, COUNT, CHUNK_BYTES));
}

static inline float value(uint64_t i)
{
    return ((const float *)shard.current[0]->data)[i];
}

#endif
