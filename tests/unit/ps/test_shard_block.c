/* Updates of blocks with several variables have the bits of the reference: small shards and large
 * ones, whose stores bypass the caches, pushes in slots and in the memory of the next values, and
 * state in kept memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/random.h"
#include "ps/shard.h"
#include "tests/unit/ps/pushed_gradient.h"

enum { SLICES = 8, CHUNK_BYTES = 1 << 16, STEPS = 4, LARGE_COLUMNS = 700, SMALL_COLUMNS = 3 };

static struct variable_table variables;
static struct job job;
static struct buffer_pool *pool;

/* A variable that another optimizer with fewer arrays updates, and an average, are in the middle of
 * a block; none begins with a line. */
static void make_variables(uint32_t columns)
{
    const struct {
        const char *name;
        uint32_t rank, dims[2];
    } all[] = {
        {"a", 2, {columns, 997}}, {"b", 1, {701}}, {"mean", 1, {37}}, {"c", 2, {columns, 1009}}};
    variables = (struct variable_table){0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(variable_table_add(&variables, all[i].name, all[i].rank, all[i].dims,
                                            VARIABLE_GLOROT_UNIFORM, 0, NULL),
                         TN_OK);
    }
    variables.variables[2].update = VARIABLE_AVERAGED;
    variables.variables[2].momentum = 0.9F;
}

static void open_shard(struct shard *shard, const struct kernels *kernels, struct kept_memory *kept)
{
    const uint64_t first = 13;
    struct shard_config config = {.kernels = kernels,
                                  .optimizer = optimizer_of_job(&job, &variables),
                                  .pool = pool,
                                  .kept = kept,
                                  .first = first,
                                  .count = variables.parameter_count - first,
                                  .slices = SLICES,
                                  .chunk_bytes = CHUNK_BYTES};
    config.optimizer.rules[1].optimizer = OPTIMIZER_SGD;
    assert_int_equal(shard_open(shard, &config, NULL), TN_OK);
    assert_true(shard_begin_load(shard));
    shard_load_initial(shard, &variables, 7);
    assert_true(shard_adopt(shard, 0));
}

static struct pushed_gradient *push(uint64_t stream, uint64_t count)
{
    float *sum = malloc(count * sizeof *sum);
    assert_non_null(sum);
    for (uint64_t i = 0; i < count; i++) { sum[i] = random_unit_at(3, stream, i) - 0.5F; }
    struct pushed_gradient *pushed = pushed_gradient(pool, sum, count, CHUNK_BYTES);
    free(sum);
    return pushed;
}

/* The same push in the memory of the next values; `made` is released. */
static struct pushed_gradient *put_in_place(struct shard *shard, struct pushed_gradient *made)
{
    struct pushed_gradient *placed = shard_begin_push(shard);
    assert_non_null(placed);
    for (uint32_t i = made->capacity; i > 0; i--) {
        pushed_gradient_add(placed, buffer_retain(made->chunks[i - 1]));
    }
    pushed_gradient_free(made);
    return placed;
}

/* Update by `part_count` pushes, of which one is in place where the step is odd. */
static void update(struct shard *shard, const struct slice_node *parts, uint32_t part_count,
                   uint64_t step, bool uses_place)
{
    for (uint32_t p = 0; p < part_count; p++) {
        struct pushed_gradient *pushed = push(step * SLICES + p, shard->config.count);
        const bool in_place = uses_place && step % 2 == 1 && p == part_count / 2;
        if (in_place) { pushed = put_in_place(shard, pushed); }
        shard_hold(shard, parts[p].first, pushed);
    }
    assert_true(shard_apply(shard, parts, part_count));
    (void)shard_release_previous(shard); /* No worker has the values. */
}

static void compare(enum optimizer_kind kind, const struct slice_node *parts, uint32_t part_count)
{
    struct shard tested, reference;
    job.train.optimizer = kind;
    open_shard(&tested, kernels_cpu(), NULL);
    open_shard(&reference, kernels_reference(), NULL);
    for (uint64_t step = 0; step < STEPS; step++) {
        if (step == 2) { assert_true(shard_keep(&tested, true)); } /* A save has the state. */
        update(&tested, parts, part_count, step, true);
        update(&reference, parts, part_count, step, false);
        for (uint32_t a = 0; a < reference.arrays; a++) {
            assert_memory_equal(tested.current[a]->data, reference.current[a]->data,
                                reference.config.count * sizeof(float));
        }
    }
    shard_close(&tested), shard_close(&reference);
}

static void compare_all(uint32_t columns)
{
    static const struct slice_node halves[] = {{0, 4}, {4, 4}}, whole = {0, SLICES};
    struct slice_node each[SLICES];
    for (uint32_t v = 0; v < SLICES; v++) { each[v] = (struct slice_node){v, 1}; }
    job_init(&job);
    make_variables(columns);
    pool = buffer_pool_create(0);
    for (int kind = 0; kind < OPTIMIZER_LARS; kind++) { /* The others need norms. */
        compare((enum optimizer_kind)kind, &whole, 1);
        compare((enum optimizer_kind)kind, halves, 2);
        compare((enum optimizer_kind)kind, each, SLICES);
    }
    buffer_pool_destroy(pool);
}

static void test_small_shards(void **state)
{
    (void)state;
    compare_all(SMALL_COLUMNS);
}

static void test_streamed_shards(void **state)
{
    (void)state;
    compare_all(LARGE_COLUMNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shards),
        cmocka_unit_test(test_streamed_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
