/* The ps core in sync mode, and its orders: events and the actions they must cause. Async mode is
 * in test_step_async.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 4 };

static void push(uint64_t conn, uint64_t generation, uint64_t step, uint32_t first, uint32_t count)
{
    handle((struct ps_event){.type = PS_EV_PUSH,
                             .conn = {conn},
                             .generation = generation,
                             .step = step,
                             .first = first,
                             .count = count});
}

static void pull(uint64_t conn, uint64_t generation, uint64_t step)
{
    handle((struct ps_event){
        .type = PS_EV_PULL, .conn = {conn}, .generation = generation, .step = step});
}

static void expect_answer(uint32_t nth, uint64_t conn, uint64_t step, bool previous)
{
    const struct ps_action *action = find(PS_DO_ANSWER, nth);
    assert_non_null(action);
    assert_int_equal(action->conn.v, conn);
    assert_int_equal(action->step, step);
    assert_int_equal(action->values, previous ? VALUES_PREVIOUS : VALUES_CURRENT);
}

static void expect_refusal(uint64_t conn, enum refusal why)
{
    const struct ps_action *action = find(PS_DO_REFUSE, 0);
    assert_non_null(action);
    assert_int_equal(action->conn.v, conn);
    assert_int_equal(action->refusal, why);
}

/* A ps of V slices that has loaded generation 1 at `step`. */
static void serve_from(uint64_t step)
{
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_SYNC, .slices = V});
    order((struct run){.phase = RUN_LOADING,
                       .generation = 1,
                       .load_checkpoint = step > 0 ? 3 : 0,
                       .load_step = step});
    assert_int_equal(number_of(PS_DO_LOAD), 1);
    handle((struct ps_event){.type = PS_EV_LOADED});
    assert_int_equal(number_of(PS_DO_ADOPT), 1);
    order((struct run){.phase = RUN_RUNNING, .generation = 1});
}

/* One worker, on connection 9, contributes all slices of the present step. */
static void step_once(void)
{
    push(9, s.generation, s.step, 0, V);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    applied();
}

/* Serves generation 1 at `step`; every 10th step is evaluated and saved, and all of them up to
 * `step` have been. */
static void serve_multiples_from(uint64_t step)
{
    serve_from(step);
    s.config.evaluate_every = s.config.checkpoint_every = 10;
    uint64_t due = step / 10 * 10 + 10;
    order(
        (struct run){.phase = RUN_RUNNING, .generation = 1, .evaluate_step = due, .save_due = due});
}

/* After an ordered load the generation and the step are served. */
static void test_load_order_starts_a_generation(void **state)
{
    (void)state;
    serve_from(12);
    assert_int_equal(s.generation, 1);
    assert_int_equal(s.step, 12);
    assert_int_equal(s.loading_generation, 0);
}

/* The push of the last slice completes the step, and each connection gets one answer. */
static void test_step_is_applied_when_all_slices_arrived(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 1, 0, 0, 2);
    assert_int_equal(number_of(PS_DO_HOLD), 1);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    push(2, 1, 0, 2, 1);
    push(2, 1, 0, 3, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    assert_int_equal(out.part_count, 3);
    assert_int_equal(out.parts[0].count, 2);
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 2);
    expect_answer(0, 1, 1, false);
    expect_answer(1, 2, 1, false);
    assert_int_equal(s.step, 1);
}

/* A duplicate push is dropped, also from a restarted worker, but its sender is answered. */
static void test_duplicate_counts_once_and_is_answered(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 1, 0, 0, 2);
    push(1, 1, 0, 0, 2);
    assert_int_equal(number_of(PS_DO_DROP), 1);
    push(2, 1, 0, 1, 1);
    assert_int_equal(number_of(PS_DO_DROP), 1);
    push(3, 1, 0, 2, 2);
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 3);
}

/* After a reassignment a larger node arrives: it replaces the held nodes below it. */
static void test_larger_node_replaces_nodes_below_it(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 1, 0, 0, 1);
    push(1, 1, 0, 1, 1);
    push(2, 1, 0, 2, 1);
    push(3, 1, 0, 0, 4);
    assert_int_equal(number_of(PS_DO_HOLD), 1);
    assert_int_equal(number_of(PS_DO_RELEASE), 2); /* Slots 1 and 2; HOLD itself replaces slot 0. */
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    assert_int_equal(out.part_count, 1);
    assert_int_equal(out.parts[0].count, 4);
}

/* A push of a step that is applied already is answered at once, once per connection and step. */
static void test_late_push_is_answered_once(void **state)
{
    (void)state;
    serve_from(0);
    step_once();
    push(1, 1, 0, 0, 2);
    assert_int_equal(number_of(PS_DO_DROP), 1);
    expect_answer(0, 1, 1, false);
    push(1, 1, 0, 2, 2);
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
    push(9, 1, 0, 0, V); /* Answered when the step was applied. */
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
}

/* The values of the previous step are kept for workers that restarted in the middle of it. */
static void test_late_pushes_reach_back_one_step(void **state)
{
    (void)state;
    serve_from(0);
    step_once();
    step_once();
    push(1, 1, 0, 0, 1);
    expect_answer(0, 1, 1, true);
    step_once();
    push(2, 1, 0, 0, 1);
    expect_refusal(2, REFUSAL_STEP_GONE);
}

/* A pull is answered for the present and the previous step, waits for the next, and is refused for
 * all others. */
static void test_pull_is_answered_by_step(void **state)
{
    (void)state;
    serve_from(0);
    pull(1, 1, STEP_LATEST);
    expect_answer(0, 1, 0, false);
    step_once();
    step_once();
    pull(1, 1, 2);
    expect_answer(0, 1, 2, false);
    pull(1, 1, 1);
    expect_answer(0, 1, 1, true);
    pull(1, 1, 0);
    expect_refusal(1, REFUSAL_STEP_GONE);
    pull(1, 1, 4);
    expect_refusal(1, REFUSAL_STEP_GONE);
    pull(1, 1, 3);
    assert_int_equal(out.count, 0);
    step_once();
    assert_int_equal(number_of(PS_DO_ANSWER), 2);
}

/* A worker that was answered and then pulls the step before, because its slices were reassigned, is
 * answered again. */
static void test_repeated_pull_is_answered_again(void **state)
{
    (void)state;
    serve_from(0);
    step_once();
    push(1, 1, 0, 0, 2);
    expect_answer(0, 1, 1, false);
    pull(1, 1, 0);
    expect_answer(0, 1, 0, true);
    push(1, 1, 0, 0, 2);
    expect_answer(0, 1, 1, false);
}

/* A worker that waits for the next step and then pulls again is not sent the answer that it waited
 * for, so that its next push is answered. */
static void test_pull_cancels_an_earlier_wait(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 1, 0, 0, 2);
    pull(1, 1, STEP_LATEST);
    expect_answer(0, 1, 0, false);
    push(2, 1, 0, 2, V - 2);
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
    push(1, 1, 0, 0, 4);
    expect_answer(0, 1, 1, false);
}

/* An evaluator that takes over may be behind the others: the values of the last multiple are kept
 * until its result is known. */
static void test_values_of_an_evaluation_are_kept(void **state)
{
    (void)state;
    serve_multiples_from(8);
    for (uint64_t step = 8; step < 15; step++) { step_once(); }
    pull(2, 1, 10);
    assert_int_equal(find(PS_DO_ANSWER, 0)->values, VALUES_EVALUATION);
    assert_int_equal(find(PS_DO_ANSWER, 0)->step, 10);
    order((struct run){.phase = RUN_RUNNING, .generation = 1, .evaluate_step = 20, .save_due = 10});
    assert_int_equal(number_of(PS_DO_UNKEEP), 1);
    pull(2, 1, 10);
    expect_refusal(2, REFUSAL_STEP_GONE);
}

/* An order to save may arrive when training has passed its step, but not after the next one. */
static void test_training_waits_for_the_order_of_an_earlier_multiple(void **state)
{
    (void)state;
    serve_multiples_from(8);
    for (uint64_t step = 8; step < 20; step++) { step_once(); }
    push(9, 1, 20, 0, V);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    assert_int_equal(s.waits_for_checkpoint, 10);
    order((struct run){.phase = RUN_RUNNING,
                       .generation = 1,
                       .evaluate_step = 20,
                       .save_checkpoint = 4,
                       .save_step = 10,
                       .save_due = 20});
    assert_int_equal(find(PS_DO_SAVE, 0)->step, 10);
    assert_int_equal(find(PS_DO_SAVE, 0)->values, VALUES_CHECKPOINT);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    assert_int_equal(s.waits_for_checkpoint, 0);
    assert_int_equal(s.late_checkpoint, 0);
    assert_int_equal(s.kept_checkpoint, 20);
    /* Skipped: it is passed without a save. */
    order((struct run){.phase = RUN_RUNNING, .generation = 1, .evaluate_step = 20, .save_due = 30});
    assert_int_equal(number_of(PS_DO_SAVE), 0);
    assert_int_equal(s.kept_checkpoint, 0);
}

/* After a load there is no previous step. */
static void test_loaded_shard_has_no_previous_step(void **state)
{
    (void)state;
    serve_from(12);
    pull(1, 1, 11);
    expect_refusal(1, REFUSAL_STEP_GONE);
    push(1, 1, 10, 0, 1);
    expect_refusal(1, REFUSAL_STEP_GONE);
}

/* Requests of earlier and later generations are refused with the reason. */
static void test_other_generations_are_refused(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 2, 0, 0, 1);
    expect_refusal(1, REFUSAL_GENERATION);
    assert_int_equal(number_of(PS_DO_DROP), 1);
    pull(1, 0, STEP_LATEST);
    expect_refusal(1, REFUSAL_GENERATION);
    push(1, 1, 1, 0, 1); /* A lost generation had the same number. */
    expect_refusal(1, REFUSAL_STEP_GONE);
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_SYNC, .slices = V});
    pull(1, 0, STEP_LATEST);
    expect_refusal(1, REFUSAL_NOT_RUNNING);
}

/* A closed connection gets no answer, but its push counts. */
static void test_push_of_a_closed_connection_counts(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 1, 0, 0, 2);
    handle((struct ps_event){.type = PS_EV_CONN_CLOSED, .conn = {1}});
    push(2, 1, 0, 2, 2);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
    expect_answer(0, 2, 1, false);
}

/* A new generation refuses waiting requests, releases held sums and loads new values. */
static void test_new_generation_drops_everything(void **state)
{
    (void)state;
    serve_from(0);
    push(1, 1, 0, 0, 2);
    order(
        (struct run){.phase = RUN_LOADING, .generation = 2, .load_checkpoint = 7, .load_step = 5});
    expect_refusal(1, REFUSAL_NOT_RUNNING);
    assert_int_equal(number_of(PS_DO_RELEASE_ALL), 1);
    assert_int_equal(number_of(PS_DO_FORGET), 1);
    assert_int_equal(find(PS_DO_LOAD, 0)->checkpoint, 7);
    assert_int_equal(s.generation, 0);
    push(1, 1, 0, 2, 2);
    expect_refusal(1, REFUSAL_NOT_RUNNING);
    handle((struct ps_event){.type = PS_EV_LOADED});
    push(1, 2, 5, 2, 2);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
}

/* If the order changes during a load, the loaded arrays are discarded and the newer one is
 * loaded. */
static void test_outdated_load_is_discarded(void **state)
{
    (void)state;
    serve_from(0);
    order((struct run){.phase = RUN_LOADING, .generation = 2, .load_checkpoint = 7});
    order((struct run){.phase = RUN_LOADING, .generation = 3, .load_checkpoint = 6});
    assert_int_equal(out.count, 0);
    handle((struct ps_event){.type = PS_EV_LOADED});
    assert_int_equal(number_of(PS_DO_DISCARD), 1);
    assert_int_equal(find(PS_DO_LOAD, 0)->checkpoint, 6);
    handle((struct ps_event){.type = PS_EV_LOADED});
    assert_int_equal(s.generation, 3);
}

/* A failed load is reported and not repeated; another order is carried out. */
static void test_failed_load_waits_for_another_order(void **state)
{
    (void)state;
    serve_from(0);
    struct run run = {.phase = RUN_LOADING, .generation = 2, .load_checkpoint = 7};
    order(run);
    handle((struct ps_event){.type = PS_EV_LOAD_FAILED});
    assert_int_equal(s.failed_load, 7);
    assert_int_equal(s.failed_load_generation, 2);
    order(run);
    assert_int_equal(out.count, 0);
    run.generation = 3;
    run.load_checkpoint = 6;
    order(run);
    assert_int_equal(number_of(PS_DO_LOAD), 1);
}

/* A restarted ps does not load a generation that is running, because its steps are lost. */
static void test_restarted_ps_does_not_load_a_running_generation(void **state)
{
    (void)state;
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_SYNC, .slices = V});
    order((struct run){.phase = RUN_RUNNING, .generation = 4, .load_checkpoint = 2});
    assert_int_equal(out.count, 0);
    assert_int_equal(s.generation, 0);
}

/* A checkpoint is saved once, when exactly its step is applied. */
static void test_save_happens_exactly_at_its_step(void **state)
{
    (void)state;
    serve_from(0);
    struct run run = {.phase = RUN_RUNNING, .generation = 1, .save_checkpoint = 5, .save_step = 2};
    order(run);
    step_once();
    assert_int_equal(number_of(PS_DO_SAVE), 0);
    step_once();
    assert_int_equal(number_of(PS_DO_SAVE), 1);
    assert_int_equal(find(PS_DO_SAVE, 0)->step, 2);
    order(run);
    assert_int_equal(out.count, 0);
    handle((struct ps_event){.type = PS_EV_SAVED, .checkpoint = 5});
    assert_int_equal(s.saved_checkpoint, 5);
    assert_int_equal(s.saved_step, 2);
}

/* An order for the present step is saved at once; for an earlier step it is reported as missed. */
static void test_late_save_is_missed(void **state)
{
    (void)state;
    serve_from(0);
    step_once();
    order(
        (struct run){.phase = RUN_STOPPING, .generation = 1, .save_checkpoint = 5, .save_step = 1});
    assert_int_equal(number_of(PS_DO_SAVE), 1);
    handle((struct ps_event){.type = PS_EV_SAVE_FAILED, .checkpoint = 5});
    assert_int_equal(s.missed_checkpoint, 5);
    assert_int_equal(s.late_checkpoint, 0); /* Not late: the disk failed. */
    assert_int_equal(s.saved_checkpoint, 0);
    order(
        (struct run){.phase = RUN_STOPPING, .generation = 1, .save_checkpoint = 6, .save_step = 0});
    assert_int_equal(out.count, 0);
    assert_int_equal(s.missed_checkpoint, 6);
    assert_int_equal(s.late_checkpoint, 6);
}

/* An order of another generation saves nothing. */
static void test_save_of_another_generation_is_ignored(void **state)
{
    (void)state;
    serve_from(0);
    order(
        (struct run){.phase = RUN_RUNNING, .generation = 2, .save_checkpoint = 5, .save_step = 0});
    assert_int_equal(out.count, 0);
    assert_int_equal(s.missed_checkpoint, 0);
}

/* While two saves are in progress a third one is missed, so that memory is bounded. */
static void test_third_concurrent_save_is_missed(void **state)
{
    (void)state;
    serve_from(0);
    for (uint64_t id = 1; id <= 3; id++) {
        order((struct run){.phase = RUN_RUNNING, .generation = 1, .save_checkpoint = id});
        assert_int_equal(number_of(PS_DO_SAVE), id < 3 ? 1 : 0);
    }
    assert_int_equal(s.missed_checkpoint, 3);
    handle((struct ps_event){.type = PS_EV_SAVED, .checkpoint = 2});
    handle((struct ps_event){.type = PS_EV_SAVED, .checkpoint = 1});
    assert_int_equal(s.saved_checkpoint, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_order_starts_a_generation),
        cmocka_unit_test(test_step_is_applied_when_all_slices_arrived),
        cmocka_unit_test(test_duplicate_counts_once_and_is_answered),
        cmocka_unit_test(test_larger_node_replaces_nodes_below_it),
        cmocka_unit_test(test_late_push_is_answered_once),
        cmocka_unit_test(test_late_pushes_reach_back_one_step),
        cmocka_unit_test(test_pull_is_answered_by_step),
        cmocka_unit_test(test_repeated_pull_is_answered_again),
        cmocka_unit_test(test_pull_cancels_an_earlier_wait),
        cmocka_unit_test(test_loaded_shard_has_no_previous_step),
        cmocka_unit_test(test_values_of_an_evaluation_are_kept),
        cmocka_unit_test(test_training_waits_for_the_order_of_an_earlier_multiple),
        cmocka_unit_test(test_other_generations_are_refused),
        cmocka_unit_test(test_push_of_a_closed_connection_counts),
        cmocka_unit_test(test_new_generation_drops_everything),
        cmocka_unit_test(test_outdated_load_is_discarded),
        cmocka_unit_test(test_failed_load_waits_for_another_order),
        cmocka_unit_test(test_restarted_ps_does_not_load_a_running_generation),
        cmocka_unit_test(test_save_happens_exactly_at_its_step),
        cmocka_unit_test(test_late_save_is_missed),
        cmocka_unit_test(test_save_of_another_generation_is_ignored),
        cmocka_unit_test(test_third_concurrent_save_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
