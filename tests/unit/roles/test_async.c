/* Ps and workers together in async mode: each slice contributes once to each step, whatever
 * dies. */
#include "tests/unit/roles/together.h"

static const char *const async_settings[] = {"data.type=synthetic",
                                             "data.examples=300",
                                             "data.test_examples=50",
                                             "model.inputs=8",
                                             "model.outputs=5",
                                             "train.batch=30",
                                             "train.slices=5",
                                             "train.optimizer=adam",
                                             "train.learning_rate=0.01",
                                             "cluster.ps=2",
                                             "cluster.workers=2",
                                             "checkpoint.keep=2",
                                             "model.type=softmax",
                                             "model.hidden=[]",
                                             "train.mode=async",
                                             "train.max_staleness=1",
                                             NULL};

/* ---------------------------------------------------------- expected results */

/* One step of the definition: each slice's gradient of the same values is an update of its own. */
static void reference_step(struct compute *compute, const struct optimizer *optimizer,
                           uint64_t step, float *old[OPTIMIZER_ARRAYS_MAX],
                           float *new[OPTIMIZER_ARRAYS_MAX])
{
    const uint64_t count = w.variables.parameter_count;
    float values[ROLES_FLOATS_MAX];
    memcpy(values, old[0], count * sizeof(float));
    for (uint32_t v = 0; v < 5; v++) {
        const float *sum = compute_node(compute, values, step, (struct slice_node){v, 1}, NULL);
        optimizer_apply(optimizer, kernels_reference(), step * 5 + v, 0, count, sum,
                        (const float *const *)old, new);
        for (int a = 0; a < 3; a++) { memcpy(old[a], new[a], count * sizeof(float)); }
    }
}

/* Lock step with one worker, by its definition, in one process. */
static void reference(float *values)
{
    float arrays[6][ROLES_FLOATS_MAX] = {0};
    float *old[OPTIMIZER_ARRAYS_MAX] = {arrays[0], arrays[1], arrays[2]};
    float *new[OPTIMIZER_ARRAYS_MAX] = {arrays[3], arrays[4], arrays[5]};
    const uint64_t count = w.variables.parameter_count;
    struct model *model;
    struct compute compute;
    assert_int_equal(model_open(&w.job, &model, NULL), TN_OK);
    const struct compute_config config = {
        .job = &w.job,
        .model = model,
        .programs = "reference",
        .kernels = kernels_reference(),
        .train = w.train,
        .test = w.test,
        .pool = w.pool,
    };
    assert_int_equal(compute_open(&compute, &config, NULL), TN_OK);
    const struct optimizer optimizer =
        optimizer_per_slice(optimizer_of_job(&w.job, &w.variables), 5);
    variables_init_range(&w.variables, w.job.seed, 0, count, old[0]);
    for (uint64_t step = 0; step < STEPS; step++) {
        reference_step(&compute, &optimizer, step, old, new);
    }
    memcpy(values, old[0], count * sizeof(float));
    compute_close(&compute);
    model_close(model);
}

/* Worker 0 owns all slices, and no value may be stale, so that the order of all updates is
 * known. */
static void begin_lock_step(uint64_t seed)
{
    const char *settings[sizeof async_settings / sizeof *async_settings + 1];
    size_t count = 0;
    while (async_settings[count] != NULL) {
        settings[count] = async_settings[count];
        count++;
    }
    settings[count++] = "train.max_staleness=0";
    settings[count] = NULL;
    begin(seed, settings, "00000");
}

/* ------------------------------------------------------------------- tests */

/* Async: training ends although workers die and connections break. */
static void test_async_training_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(seed, async_settings, "00110");
        run.evaluate_step = STEPS;
        order();
        until(half_way);
        world_close_connection(&w, 1 + random_below(&w.random, w.next_conn));
        if (seed % 2 == 0) {
            world_kill(&w, PS);
            pass(20);
            assign("11111");
            world_begin(&w, PS);
            pass(seed);
            assign("00110");
        }
        until(at_the_end);
        until(evaluated);
        uint64_t generation, step;
        ps_values(w.nodes[0].ps, &generation, &step);
        assert_int_equal(step, STEPS);
        free_world();
    }
}

/* Without failures, every slice is applied once, in order, with the constants of one slice. */
static void test_lock_step_has_the_bits_of_its_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_lock_step(seed);
        until(at_the_end);
        expect_reference_bits(reference);
        free_world();
    }
}

/* Pushes that are sent again after a broken connection or a restart are duplicates. */
static void test_no_contribution_counts_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_lock_step(seed);
        for (int i = 0; i < 15 && !at_the_end(); i++) {
            pass(40);
            world_close_connection(&w, 1 + random_below(&w.random, w.next_conn));
        }
        if (seed % 2 == 0 && !at_the_end()) {
            world_kill(&w, PS);
            pass(seed);
            world_begin(&w, PS);
        }
        until(at_the_end);
        expect_reference_bits(reference);
        free_world();
    }
}

/* A checkpoint holds the number of updates and no step in part: after a ps died, training continues
 * with the same bits. */
static void test_dying_ps_loses_no_contribution(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin_lock_step(seed);
        order_checkpoint();
        until(all_saved);
        commit(1, CHECKPOINT_STEP);
        order();
        lose_ps_and_load(seed);
        until(at_the_end);
        expect_reference_bits(reference);
        free_world();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_async_training_ends),
        cmocka_unit_test(test_lock_step_has_the_bits_of_its_definition),
        cmocka_unit_test(test_no_contribution_counts_twice),
        cmocka_unit_test(test_dying_ps_loses_no_contribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
