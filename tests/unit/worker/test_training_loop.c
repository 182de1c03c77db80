/* The worker's core with two ps and four slices: events and the actions they must cause. */
#include "tests/unit/worker/loop_scene.h"

static void refused(uint32_t ps, uint64_t generation, enum refusal why)
{
    handle((struct loop_event){
        .type = LOOP_EV_REFUSED, .ps = ps, .generation = generation, .refusal = why});
}

/* The same, with the values of `step`, and its slices computed and pushed. */
static void begin_at(enum strategy_kind strategy, const char owners[static V], uint64_t step)
{
    begin(strategy, owners, step + 10);
    values(0, 1, step);
    values(1, 1, step);
    computed();
}

/* Values are pulled from every ps, then the owned slices are computed and pushed to every ps. The
 * pushes begin while they are computed. */
static void test_step_is_gathered_computed_and_pushed(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1100", 10);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    assert_true(find_action(&out, LOOP_DO_PULL, 0)->step == STEP_LATEST);
    values(0, 1, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_TAKE), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 0);
    values(1, 1, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    assert_int_equal(loop.nodes[0].first, 0);
    assert_int_equal(loop.nodes[0].count, 2);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->push_to, 3);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->step, 5);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->round, loop.round);
    computed();
    assert_int_equal(out.count, 0);
    values(1, 1, 6);
    values(0, 1, 6);
    assert_int_equal(loop.step, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_FORGET), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* If the ps are a step apart, the lowest step counts, and the ps ahead is asked for it. */
static void test_lowest_step_is_gathered(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1111", 10);
    values(0, 1, 6);
    values(1, 1, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 1);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->ps, 0);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 5);
    values(0, 1, 6); /* Not the requested step. */
    assert_int_equal(count_actions(&out, LOOP_DO_TAKE), 0);
    values(0, 1, 5);
    assert_int_equal(loop.state, LOOP_WHOLE);
    assert_int_equal(loop.step, 5);
}

/* If a connection breaks after the push, the same gradients are sent on the next one. */
static void test_gradients_are_resent_on_a_new_connection(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1101", 5);
    link(1, false);
    assert_int_equal(out.count, 0);
    link(1, true);
    assert_int_equal(out.count, 1);
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->ps, 1);
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->node_count, 2);
    values(0, 1, 6);
    link(0, false);
    link(0, true); /* It has answered this step. */
    assert_int_equal(out.count, 0);
}

/* A ps without a connection, or that has refused, gets the gradients whole, after they are
 * computed; so does one that lacks earlier ones of the step. */
static void test_gradients_are_pushed_afterwards(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1000", 10);
    values(0, 1, 5);
    link(1, false);
    link(1, true);
    values(1, 1, 5);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->push_to, 3);
    computed();
    refused(0, 1, REFUSAL_NOT_RUNNING);
    link(1, false);
    assign("1001");
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->push_to, 0);
    computed();
    assert_int_equal(out.count, 0);
    link(1, true);
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->ps, 1);
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->node_count, 2);
    now_ms += LOOP_REFUSED_RETRY_MS;
    handle((struct loop_event){.type = LOOP_EV_TICK});
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->ps, 0);
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->node_count, 2);
}

/* Slices assigned in the middle of a step are computed from its values and pushed. */
static void test_slices_assigned_within_a_step_are_computed(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1122", 5);
    values(0, 1, 6); /* It had all slices; the other ps lacks slice 3. */
    assign("1121");
    const struct loop_action *compute = find_action(&out, LOOP_DO_COMPUTE, 0);
    assert_non_null(compute);
    assert_int_equal(compute->step, 5);
    assert_int_equal(compute->first_node, 1);
    assert_int_equal(compute->node_count, 1);
    assert_int_equal(loop.nodes[1].first, 3);
    assert_int_equal(compute->push_to, 2); /* The other ps has answered. */
    computed();
    assert_int_equal(out.count, 0);
}

/* Slices that are taken away need no action; a worker without slices is idle. */
static void test_worker_without_slices_is_idle(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1111", 5);
    assign("1000");
    assert_int_equal(out.count, 0);
    values(0, 1, 6);
    values(1, 1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->node_count, 1);
    computed();
    assign("0000");
    assert_int_equal(loop.state, LOOP_IDLE);
    assert_int_equal(count_actions(&out, LOOP_DO_FORGET), 1);
}

/* Nothing is computed at `until`; after it is raised, training continues. */
static void test_nothing_is_computed_beyond_until(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1111", 5);
    values(0, 1, 5);
    values(1, 1, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    order(RUN_RUNNING, 1, 6, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* A paused worker keeps its values, and then continues where it was. */
static void test_paused_worker_continues(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1111", 5);
    order(RUN_PAUSED, 1, 15, STEP_NONE);
    values(0, 1, 6);
    values(1, 1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    order(RUN_RUNNING, 1, 15, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* After a new generation in the middle of a step all values are gathered again once it runs. */
static void test_new_generation_is_gathered(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1111", 5);
    order(RUN_LOADING, 2, 15, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_FORGET), 1);
    assert_int_equal(loop.state, LOOP_IDLE);
    assert_int_equal(loop.generation, 2);
    values(0, 1, 6); /* A late answer of the old generation. */
    assert_int_equal(out.count, 0);
    order(RUN_RUNNING, 2, 15, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->generation, 2);
    values(0, 1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_TAKE), 0);
}

/* Only the ps that refused is asked again, a little later. */
static void test_refusal_is_retried(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1111", 10);
    assert_true(training_loop_deadline_ms(&loop) == UINT64_MAX);
    now_ms = 100;
    refused(1, 0, REFUSAL_NOT_RUNNING);
    assert_int_equal(out.count, 0);
    assert_int_equal(training_loop_deadline_ms(&loop), 100 + LOOP_REFUSED_RETRY_MS);
    now_ms = training_loop_deadline_ms(&loop);
    handle((struct loop_event){.type = LOOP_EV_TICK});
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 1);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->ps, 1);
}

/* If a ps no longer keeps the step, as after a freeze of the worker, the present one is
 * gathered. */
static void test_missing_step_is_gathered_anew(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1111", 5);
    refused(0, 1, REFUSAL_STEP_GONE);
    assert_int_equal(loop.state, LOOP_GATHER);
    now_ms = training_loop_deadline_ms(&loop);
    assert_int_equal(now_ms, LOOP_GONE_RETRY_MS);
    handle((struct loop_event){.type = LOOP_EV_TICK});
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    values(0, 1, 9);
    values(1, 1, 9);
    assert_int_equal(loop.step, 9);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* The owner of slice 0 evaluates once, at the first step at or after the ordered one. */
static void test_owner_of_slice_0_evaluates(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1222", 5);
    order(RUN_RUNNING, 1, 15, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 0);
    values(0, 1, 6);
    values(1, 1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 0); /* Gradients first. */
    computed();
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 1);
    assert_int_equal(out.items[out.count - 1].type, LOOP_DO_EVALUATE); /* After the pushes. */
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 6);
    handle((struct loop_event){.type = LOOP_EV_EVALUATED});
    assert_int_equal(out.count, 0);
    order(RUN_STOPPING, 1, 6, 7);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 0);
}

/* A worker that is assigned slice 0 evaluates, even after the last step. */
static void test_evaluation_follows_slice_0(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "2111", 5);
    values(0, 1, 5);
    values(1, 1, 5);
    order(RUN_STOPPING, 1, 5, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 0);
    assign("1111");
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 1);
}

static void step_to(uint64_t step)
{
    while (loop.step < step) {
        uint64_t next = loop.step + 1;
        values(0, 1, next);
        values(1, 1, next);
        if (loop.computing) { computed(); }
        if (loop.evaluating) { handle((struct loop_event){.type = LOOP_EV_EVALUATED}); }
    }
}

/* A worker that becomes the owner of slice 0 after the step to be evaluated gathers the values that
 * the ps keep, evaluates them, and gathers the newest ones. */
static void test_new_owner_of_slice_0_goes_back(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "2111", 12);
    order(RUN_RUNNING, 1, 30, 10);
    assign("1111");
    computed();
    assert_int_equal(loop.state, LOOP_GATHER);
    values(0, 1, 12);
    values(1, 1, 13);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 10);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    values(0, 1, 10);
    values(1, 1, 10);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 10);
    handle((struct loop_event){.type = LOOP_EV_EVALUATED});
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, STEP_LATEST);
}

/* It passes a multiple before the result is known, but not the next one. */
static void test_owner_of_slice_0_waits_for_the_result(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1222", 5);
    loop.config.evaluate_every = 4;
    order(RUN_RUNNING, 1, 30, 8);
    step_to(11);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 0);
    assert_int_equal(loop.evaluated_step, 8);
    values(0, 1, 12);
    values(1, 1, 12);
    assert_int_equal(loop.step, 12);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    order(RUN_RUNNING, 1, 30, 12);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    computed();
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 12);
}

/* Async: the current values are evaluated as those of the ordered step. */
static void test_async_evaluates_what_it_has(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_ASYNC, "1222", 9);
    order(RUN_RUNNING, 1, 30, 8);
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 8);
}

/* Async: each slice is pushed separately, followed by a pull of the next step. */
static void test_async_slices_are_pushed_separately(void **state)
{
    (void)state;
    begin(STRATEGY_PS_ASYNC, "1100", 10);
    values(0, 1, 7);
    values(1, 1, 5);
    assert_int_equal(loop.step, 5);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->node_count, 2);
    computed();
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->node_count, 2);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 6);
    values(0, 1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    values(1, 1, 6);
    assert_int_equal(loop.step, 6);
}

/* Async: after slices were assigned, the worker begins again at the slowest slice. */
static void test_async_assignment_begins_at_the_slowest_slice(void **state)
{
    (void)state;
    begin(STRATEGY_PS_ASYNC, "1100", 5);
    values(0, 1, 5);
    values(1, 1, 5);
    assign("1110");
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    values(0, 1, 3);
    values(1, 1, 4);
    assert_int_equal(loop.step, 3);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* The answer to a request of an older round is ignored. */
static void test_answers_of_older_rounds_are_ignored(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_ASYNC, "1100", 5);
    uint64_t old_round = loop.round;
    assign("1110");
    handle((struct loop_event){
        .type = LOOP_EV_VALUES, .ps = 0, .generation = 1, .step = 6, .round = old_round});
    assert_int_equal(count_actions(&out, LOOP_DO_TAKE), 0);
    values(0, 1, 4);
    assert_int_equal(count_actions(&out, LOOP_DO_TAKE), 1);
}

/* When the run is stopping, a worker that is behind gathers the last values. */
static void test_worker_behind_at_the_end_catches_up(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1111", 5);
    order(RUN_STOPPING, 1, 15, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    values(0, 1, 15);
    values(1, 1, 15);
    assert_int_equal(loop.step, 15);
}

/* The loop waits for a ps until its values arrived, and not while it is paused. */
static void test_loop_names_the_ps_it_waits_for(void **state)
{
    (void)state;
    begin_at(STRATEGY_PS_SYNC, "1111", 5);
    assert_true(training_loop_waits_for(&loop, 0));
    values(0, 1, 6);
    assert_false(training_loop_waits_for(&loop, 0));
    assert_true(training_loop_waits_for(&loop, 1));
    order(RUN_PAUSED, 1, 15, STEP_NONE);
    assert_false(training_loop_waits_for(&loop, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_is_gathered_computed_and_pushed),
        cmocka_unit_test(test_lowest_step_is_gathered),
        cmocka_unit_test(test_gradients_are_resent_on_a_new_connection),
        cmocka_unit_test(test_gradients_are_pushed_afterwards),
        cmocka_unit_test(test_slices_assigned_within_a_step_are_computed),
        cmocka_unit_test(test_worker_without_slices_is_idle),
        cmocka_unit_test(test_nothing_is_computed_beyond_until),
        cmocka_unit_test(test_paused_worker_continues),
        cmocka_unit_test(test_new_generation_is_gathered),
        cmocka_unit_test(test_refusal_is_retried),
        cmocka_unit_test(test_missing_step_is_gathered_anew),
        cmocka_unit_test(test_owner_of_slice_0_evaluates),
        cmocka_unit_test(test_evaluation_follows_slice_0),
        cmocka_unit_test(test_new_owner_of_slice_0_goes_back),
        cmocka_unit_test(test_owner_of_slice_0_waits_for_the_result),
        cmocka_unit_test(test_async_evaluates_what_it_has),
        cmocka_unit_test(test_async_slices_are_pushed_separately),
        cmocka_unit_test(test_async_assignment_begins_at_the_slowest_slice),
        cmocka_unit_test(test_answers_of_older_rounds_are_ignored),
        cmocka_unit_test(test_worker_behind_at_the_end_catches_up),
        cmocka_unit_test(test_loop_names_the_ps_it_waits_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
