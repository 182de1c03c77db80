/* The shard: sums in the order of the tree, updates, loading. */
#include "ps/shard.h"

#include "kernels/optimizer/norm.h"
#include "tests/unit/ps/shard_fixture.h"

/* Apply `parts`, then compare each value with the plain definition of SGD on the root's sum. */
static void check_sgd(const struct slice_node *parts, uint32_t count)
{
    open_shard(OPTIMIZER_SGD);
    for (uint32_t i = 0; i < count; i++) { hold(parts[i]); }
    float *before = malloc(COUNT * sizeof *before);
    memcpy(before, shard.current[0]->data, COUNT * sizeof *before);
    assert_true(shard_apply(&shard, parts, count));
    for (uint64_t i = 0; i < COUNT; i++) {
        float expected = before[i] - 0.5f * sum_at((struct slice_node){0, V}, i);
        assert_memory_equal(&expected, &(float){value(i)}, sizeof expected);
    }
    assert_memory_equal(shard.previous->data, before, COUNT * sizeof *before);
    assert_int_equal(shard.updates, 1);
    free(before);
}

/* Six single slices give the bits of the sum over the tree. */
static void test_single_slices_are_summed(void **state)
{
    (void)state;
    check_sgd((const struct slice_node[]){{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}, 6);
}

/* So do sums that workers computed, for any grouping. */
static void test_groups_of_slices_are_summed(void **state)
{
    (void)state;
    check_sgd((const struct slice_node[]){{0, 4}, {4, 1}, {5, 1}}, 3);
}

/* So does the sum computed by one worker. */
static void test_root_is_applied(void **state)
{
    (void)state;
    check_sgd((const struct slice_node[]){{0, 6}}, 1);
}

/* The norm is that of the sum over the tree, for any grouping. */
static void test_norm_is_limited(void **state)
{
    (void)state;
    static float sums[COUNT];
    const struct slice_node parts[] = {{0, 4}, {4, 1}, {5, 1}};
    for (uint64_t i = 0; i < COUNT; i++) { sums[i] = sum_at((struct slice_node){0, V}, i); }
    struct norm_part norm = norm_begin(0);
    norm_add(&norm, COUNT, sums);
    first_parameter = 0;
    clip_norm = 0.25;
    open_shard(OPTIMIZER_SGD);
    float before = value(4321);
    for (uint32_t i = 0; i < 3; i++) { hold(parts[i]); }
    struct measurement part;
    assert_true(shard_measure(&shard, parts, 3, &part));
    assert_true(norm_of(&part.whole) == norm_of(&norm));
    shard.config.optimizer.norm = norm_of(&part.whole);
    assert_true(shard_apply(&shard, parts, 3));
    float expected = before - 0.5f * ((float)(0.25 / norm_of(&norm)) * sums[4321]);
    assert_memory_equal(&expected, &(float){value(4321)}, sizeof expected);
    first_parameter = 32;
    clip_norm = 0;
}

/* In async mode each slice is an update of its own. */
static void test_one_slice_is_an_update(void **state)
{
    (void)state;
    open_shard(OPTIMIZER_SGD);
    float before = value(4321);
    hold((struct slice_node){3, 1});
    assert_true(shard_apply(&shard, &(struct slice_node){3, 1}, 1));
    float expected = before - 0.5f * gradient_at(3, 4321);
    assert_memory_equal(&expected, &(float){value(4321)}, sizeof expected);
    assert_null(shard.slots[3]);
}

/* Initial values are those of the shard's range of the flat vector; the optimizer state is zero. */
static void test_initial_values_match_the_table(void **state)
{
    (void)state;
    open_shard(OPTIMIZER_ADAM);
    struct variable_table variables = table();
    float expected[100];
    variables_init_range(&variables, 7, 32 + 200, 100, expected);
    assert_memory_equal((const float *)shard.current[0]->data + 200, expected, sizeof expected);
    assert_int_equal(shard.arrays, 3);
    assert_true(((const float *)shard.current[2]->data)[COUNT - 1] == 0.0f);
}

/* Arrays that a send or a save references never change. */
static void test_arrays_in_use_do_not_change(void **state)
{
    (void)state;
    open_shard(OPTIMIZER_MOMENTUM);
    struct buffer *values = buffer_retain(shard.current[0]);
    struct buffer *velocity = buffer_retain(shard.current[1]);
    float first = value(0);
    for (int step = 0; step < 3; step++) {
        hold((struct slice_node){0, V});
        assert_true(shard_apply(&shard, &(struct slice_node){0, V}, 1));
    }
    assert_true(((const float *)values->data)[0] == first);
    assert_true(((const float *)velocity->data)[0] == 0.0f);
    assert_true(value(0) != first);
    buffer_release(values);
    buffer_release(velocity);
}

/* The state is updated in place unless something else has a reference on it. */
static void test_state_stays_in_its_buffer(void **state)
{
    (void)state;
    open_shard(OPTIMIZER_MOMENTUM);
    struct buffer *velocity = shard.current[1];
    for (int step = 0; step < 3; step++) {
        hold((struct slice_node){0, V});
        assert_true(shard_apply(&shard, &(struct slice_node){0, V}, 1));
        assert_ptr_equal(shard.current[1], velocity);
    }
    assert_true(shard_keep(&shard, true));
    hold((struct slice_node){0, V});
    assert_true(shard_apply(&shard, &(struct slice_node){0, V}, 1));
    assert_ptr_not_equal(shard.current[1], velocity);
}

enum { LARGE_SIDE = 1100, LARGE_COUNT = LARGE_SIDE * LARGE_SIDE };

/* The pushed gradients of two workers applied three times, of which the second step is saved, to a
 * shard that is large enough to be streamed; its arrays one behind the other. */
static float *large_steps(const struct kernels *kernels, enum optimizer_kind kind,
                          const struct slice_node nodes[2])
{
    struct job job;
    static struct variable_table variables;
    static float gradient[LARGE_COUNT];
    const uint32_t sides[] = {LARGE_SIDE, LARGE_SIDE};
    variables = (struct variable_table){0};
    assert_int_equal(
        variable_table_add(&variables, "w", 2, sides, VARIABLE_GLOROT_UNIFORM, 0, NULL), TN_OK);
    job_init(&job);
    job.train.optimizer = kind;
    const struct shard_config config = {.kernels = kernels,
                                        .optimizer = optimizer_of_job(&job, &variables),
                                        .pool = pool,
                                        .count = LARGE_COUNT,
                                        .slices = V,
                                        .chunk_bytes = CHUNK_BYTES,
                                        .no_answers = no_answers};
    assert_int_equal(shard_open(&shard, &config, NULL), TN_OK);
    assert_true(shard_begin_load(&shard));
    shard_load_initial(&shard, &variables, 7);
    assert_true(shard_adopt(&shard, 0));
    for (uint32_t step = 0; step < 3; step++) {
        for (uint32_t n = 0; n < 2; n++) {
            for (uint32_t i = 0; i < LARGE_COUNT; i++) {
                gradient[i] = 1e-5F * (float)((i * 7 + step * 3 + n) % 1009) - 5e-3F;
            }
            shard_hold(&shard, nodes[n].first,
                       pushed_gradient(pool, gradient, LARGE_COUNT, CHUNK_BYTES));
        }
        if (step == 1) { assert_true(shard_keep(&shard, true)); }
        assert_true(shard_apply(&shard, nodes, 2));
    }
    float *all = malloc(shard.arrays * sizeof gradient);
    assert_non_null(all);
    for (uint32_t a = 0; a < shard.arrays; a++) {
        memcpy(all + (size_t)a * LARGE_COUNT, shard.current[a]->data, sizeof gradient);
    }
    return all;
}

/* Large shards, whose values are streamed, and whose state is while a save has it, have the bits of
 * the reference; so have those without answers, whose values are streamed while a save has them. */
static void test_large_shards_are_exact(void **state)
{
    (void)state;
    const struct slice_node nodes[] = {{0, 4}, {4, 2}};
    pool = buffer_pool_create(0);
    for (enum optimizer_kind kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        float *expected = large_steps(kernels_reference(), kind, nodes);
        const size_t bytes = shard.arrays * LARGE_COUNT * sizeof *expected;
        shard_close(&shard);
        float *all = large_steps(kernels_cpu(), kind, nodes);
        assert_memory_equal(all, expected, bytes);
        shard_close(&shard);
        free(all);
        no_answers = true;
        all = large_steps(kernels_cpu(), kind, nodes);
        no_answers = false;
        assert_memory_equal(all, expected, bytes);
        shard_close(&shard);
        free(all), free(expected);
    }
}

/* Loaded arrays replace all others and set the number of updates. There is no previous step. */
static void test_adopt_replaces_all_arrays(void **state)
{
    (void)state;
    open_shard(OPTIMIZER_SGD);
    hold((struct slice_node){0, V});
    assert_true(shard_apply(&shard, &(struct slice_node){0, V}, 1));
    assert_true(shard_begin_load(&shard));
    memset(shard.incoming[0]->data, 0, COUNT * sizeof(float));
    assert_true(shard_adopt(&shard, 42));
    assert_int_equal(shard.updates, 42);
    assert_null(shard.previous);
    assert_true(value(17) == 0.0f);
}

/* Without memory for new arrays nothing changes, and false is returned. */
static void test_out_of_memory_changes_nothing(void **state)
{
    (void)state;
    open_shard(OPTIMIZER_SGD);
    struct buffer_pool *poor = buffer_pool_create(4096);
    shard.config.pool = poor;
    hold((struct slice_node){0, V});
    assert_false(shard_apply(&shard, &(struct slice_node){0, V}, 1));
    assert_non_null(shard.slots[0]);
    assert_int_equal(shard.updates, 0);
    assert_false(shard_begin_load(&shard));
    assert_null(shard.incoming[0]);
    buffer_pool_destroy(poor);
}

/* An answer has the values, and behind them their average; it is kept as a whole. */
static void test_answer_has_the_average(void **state)
{
    (void)state;
    ema = 0.5;
    open_shard(OPTIMIZER_MOMENTUM);
    ema = 0;
    assert_int_equal(shard.arrays, 3);
    for (int step = 0; step < 3; step++) {
        const float *answer = shard.answer->data;
        assert_int_equal(shard.answer->size, 2 * COUNT * sizeof(float));
        assert_memory_equal(answer, shard.current[0]->data, COUNT * sizeof(float));
        assert_memory_equal(answer + COUNT, shard.current[2]->data, COUNT * sizeof(float));
        assert_true((answer[17] == answer[COUNT + 17]) == (step == 0));
        struct buffer *before = shard.answer;
        assert_true(shard_keep(&shard, false));
        hold((struct slice_node){0, V});
        assert_true(shard_apply(&shard, &(struct slice_node){0, V}, 1));
        assert_ptr_equal(shard.previous, before);
        assert_ptr_equal(shard.kept_answer, before);
    }
}

/* A gradient that was added up elsewhere has the effect of the root's push, in any ranges. */
static void test_ready_gradients_are_applied(void **state)
{
    (void)state;
    static float sum[COUNT], expected[OPTIMIZER_ARRAYS_MAX][COUNT];
    const struct shard_gradient parts[] = {
        {0, 4096, sum}, {4096, 16, sum + 4096}, {4112, COUNT - 4112, sum + 4112}};
    const struct slice_node root = {0, V};
    struct measurement pushed, ready;
    for (uint64_t i = 0; i < COUNT; i++) { sum[i] = sum_at(root, i); }
    ema = 0.9;
    clip_norm = 0.25;
    first_parameter = 0;
    open_shard(OPTIMIZER_ADAM);
    hold(root);
    assert_true(shard_measure(&shard, &root, 1, &pushed));
    shard.config.optimizer.norm = norm_of(&pushed.whole);
    assert_true(shard_apply(&shard, &root, 1));
    const uint32_t arrays = shard.arrays;
    for (uint32_t a = 0; a < arrays; a++) {
        memcpy(expected[a], shard.current[a]->data, sizeof expected[a]);
    }
    (void)close_shard(state);
    open_shard(OPTIMIZER_ADAM);
    shard_measure_gradient(&shard, parts, 3, &ready);
    assert_true(norm_of(&ready.whole) == norm_of(&pushed.whole));
    shard.config.optimizer.norm = norm_of(&ready.whole);
    assert_true(shard_apply_gradient(&shard, parts, 3));
    for (uint32_t a = 0; a < arrays; a++) {
        assert_memory_equal(shard.current[a]->data, expected[a], sizeof expected[a]);
    }
    assert_int_equal(shard.updates, 1);
    assert_null(shard.previous); /* No worker asks a replica for the values of the step before. */
    ema = clip_norm = 0;
    first_parameter = 32;
}

/* Without answers the values stay in their buffer, too, but what something else has does not
 * change. */
static void test_values_without_answers_stay_in_their_buffer(void **state)
{
    (void)state;
    static float sum[COUNT], before[COUNT];
    const struct shard_gradient all = {0, COUNT, sum};
    for (uint64_t i = 0; i < COUNT; i++) { sum[i] = sum_at((struct slice_node){0, V}, i); }
    ema = 0.5;
    no_answers = true;
    open_shard(OPTIMIZER_SGD);
    ema = 0;
    no_answers = false;
    struct buffer *values = shard.current[0];
    memcpy(before, values->data, sizeof before);
    assert_true(shard_apply_gradient(&shard, &all, 1));
    assert_ptr_equal(shard.current[0], values);
    for (uint64_t i = 0; i < COUNT; i++) {
        const float expected = before[i] - 0.5f * sum[i];
        assert_memory_equal(&expected, &(float){value(i)}, sizeof expected);
    }
    assert_null(shard.answer);
    memcpy(before, values->data, sizeof before);
    values = buffer_retain(values);
    assert_true(shard_apply_gradient(&shard, &all, 1));
    assert_ptr_not_equal(shard.current[0], values);
    assert_memory_equal(values->data, before, sizeof before);
    buffer_release(values);
    assert_null(shard.answer);
    assert_int_equal(shard.updates, 2);
    assert_true(buffer_pool_bytes(pool) < 4 * COUNT * sizeof(float)); /* 3 arrays, not more. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values_without_answers_stay_in_their_buffer, close_shard),
        cmocka_unit_test_teardown(test_ready_gradients_are_applied, close_shard),
        cmocka_unit_test_teardown(test_single_slices_are_summed, close_shard),
        cmocka_unit_test_teardown(test_groups_of_slices_are_summed, close_shard),
        cmocka_unit_test_teardown(test_root_is_applied, close_shard),
        cmocka_unit_test_teardown(test_norm_is_limited, close_shard),
        cmocka_unit_test_teardown(test_one_slice_is_an_update, close_shard),
        cmocka_unit_test_teardown(test_initial_values_match_the_table, close_shard),
        cmocka_unit_test_teardown(test_arrays_in_use_do_not_change, close_shard),
        cmocka_unit_test_teardown(test_state_stays_in_its_buffer, close_shard),
        cmocka_unit_test_teardown(test_large_shards_are_exact, close_shard),
        cmocka_unit_test_teardown(test_adopt_replaces_all_arrays, close_shard),
        cmocka_unit_test_teardown(test_answer_has_the_average, close_shard),
        cmocka_unit_test_teardown(test_out_of_memory_changes_nothing, close_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
