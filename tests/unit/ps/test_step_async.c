/* The ps core in async mode: slice clocks, staleness, and the barrier of a checkpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 2 };

/* Whether the push was applied at once. */
static bool push(uint64_t conn, uint64_t step, uint32_t slice)
{
    handle((struct ps_event){.type = PS_EV_PUSH,
                             .conn = {conn},
                             .generation = 1,
                             .step = step,
                             .first = slice,
                             .count = 1});
    return number_of(PS_DO_APPLY) == 1;
}

static void push_applied(uint64_t conn, uint64_t step, uint32_t slice)
{
    assert_true(push(conn, step, slice));
    assert_int_equal(out.part_count, 1);
    assert_int_equal(out.parts[0].first, slice);
    applied();
}

/* Whether it was answered at once. */
static bool pull(uint64_t conn, uint64_t step)
{
    handle((struct ps_event){.type = PS_EV_PULL, .conn = {conn}, .generation = 1, .step = step});
    return number_of(PS_DO_ANSWER) == 1;
}

static void serve(uint64_t max_staleness, uint64_t load_step, const uint64_t *clocks)
{
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_ASYNC,
                                              .slices = V,
                                              .max_staleness = max_staleness});
    struct run run = {
        .phase = RUN_LOADING, .generation = 1, .load_step = load_step, .until = UINT64_MAX};
    order(run);
    handle((struct ps_event){.type = PS_EV_LOADED, .clocks = clocks});
    run.phase = RUN_RUNNING;
    order(run);
}

static void order_save(uint64_t id, uint64_t step)
{
    struct run run = {.phase = RUN_RUNNING,
                      .generation = 1,
                      .until = UINT64_MAX,
                      .save_checkpoint = id,
                      .save_step = step};
    order(run);
}

/* Each push is an update; the step of the shard is that of the slowest slice. */
static void test_each_push_is_an_update(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    push_applied(1, 0, 0);
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
    assert_int_equal(s.step, 0);
    push_applied(2, 0, 1);
    assert_int_equal(s.step, 1);
    push_applied(1, 1, 0);
    assert_int_equal(s.clock[0], 2);
    assert_int_equal(s.step, 1);
}

/* A second push of the same slice and step is not applied, whichever worker sends it. */
static void test_duplicates_are_dropped(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    push_applied(1, 0, 0);
    assert_false(push(3, 0, 0));
    assert_int_equal(number_of(PS_DO_DROP), 1);
    assert_int_equal(number_of(PS_DO_HOLD), 0);
}

/* With staleness 0 step 1 is not answered before all slices have contributed to step 0. */
static void test_zero_staleness_is_lock_step(void **state)
{
    (void)state;
    serve(0, 0, NULL);
    push_applied(1, 0, 0);
    assert_false(pull(1, 1));
    assert_true(push(2, 0, 1));
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
    assert_int_equal(out.items[0].step, 1);
    assert_true(pull(2, 1));
}

/* A push too far ahead is parked, and applied when the other slices have caught up. */
static void test_push_too_far_ahead_waits(void **state)
{
    (void)state;
    serve(1, 0, NULL);
    push_applied(1, 0, 0);
    push_applied(1, 1, 0);
    assert_false(push(1, 2, 0));
    assert_int_equal(number_of(PS_DO_HOLD), 1);
    assert_false(pull(1, 3));
    push_applied(2, 0, 1); /* Step 1 is reached: the parked push is applied. */
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    assert_int_equal(out.parts[0].first, 0);
    applied();
    assert_int_equal(s.clock[0], 3);
    assert_int_equal(number_of(PS_DO_ANSWER), 0); /* Step 3 is still 2 ahead. */
    push_applied(2, 1, 1);
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
}

/* A ps that did not park the push has applied the first one. A worker that sends another one waits
 * for the first. */
static void test_parked_push_is_not_replaced(void **state)
{
    (void)state;
    serve(0, 0, NULL);
    push_applied(1, 0, 0);
    assert_false(push(1, 1, 0));
    assert_int_equal(number_of(PS_DO_HOLD), 1);
    assert_false(push(2, 1, 0));
    assert_int_equal(number_of(PS_DO_HOLD), 0);
    assert_int_equal(number_of(PS_DO_DROP), 1);
    assert_false(pull(2, 2));
    assert_false(push(2, 0, 0)); /* Applied already. */
    assert_int_equal(number_of(PS_DO_DROP), 1);
    push_applied(3, 0, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    applied();
    assert_int_equal(s.clock[0], 2);
}

/* A push that would skip a contribution is refused, so that its sender gathers again. */
static void test_push_above_the_clock_is_refused(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    push_applied(1, 0, 0);
    assert_false(push(1, 2, 0));
    assert_int_equal(number_of(PS_DO_DROP), 1);
    assert_int_equal(number_of(PS_DO_REFUSE), 1);
    assert_int_equal(s.clock[0], 1);
}

/* A pull of step `until` is answered when all contributions below it are applied. */
static void test_pull_of_the_last_step_waits_for_all_slices(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    struct run run = {.phase = RUN_RUNNING, .generation = 1, .until = 1};
    order(run);
    push_applied(1, 0, 0);
    assert_false(pull(1, 1));
    assert_true(push(2, 0, 1));
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
}

/* The gate of a drain was ordered after the worker had pulled the end: its values are evaluated. */
static void test_pull_of_the_end_waits_although_the_gate_is_reached(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    push_applied(1, 0, 0);
    push_applied(1, 1, 0);
    push_applied(1, 2, 0);
    struct run run = {.phase = RUN_RUNNING, .generation = 1, .until = 3, .revision = 1};
    handle((struct ps_event){.type = PS_EV_RUN, .run = &run});
    push_applied(2, 0, 1);
    push_applied(2, 1, 1);
    assert_false(pull(1, 3));
    run.gate = 1, run.revision = 2;
    handle((struct ps_event){.type = PS_EV_RUN, .run = &run});
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
    run.gate = 0, run.revision = 3;
    handle((struct ps_event){.type = PS_EV_RUN, .run = &run});
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
    push_applied(2, 2, 1);
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
}

/* Follows an order that ends at `until`, and takes a pull of the next step by order 3. */
static bool pull_beyond(uint64_t revision, uint64_t until)
{
    struct run run = {.phase = RUN_RUNNING, .generation = 1, .until = until, .revision = revision};
    push_applied(1, 0, 0);
    push_applied(2, 0, 1);
    push_applied(1, 1, 0);
    order(run);
    handle((struct ps_event){
        .type = PS_EV_PULL, .conn = {1}, .generation = 1, .step = until + 1, .revision = 3});
    return number_of(PS_DO_ANSWER) == 1;
}

/* The worker has read that training continues beyond `until`, and to what step. */
static void test_pull_by_a_newer_order_waits_for_it(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    assert_false(pull_beyond(2, 1));
    struct run run = {.phase = RUN_RUNNING, .generation = 1, .until = 2, .revision = 3};
    order(run);
    assert_int_equal(number_of(PS_DO_ANSWER), 0);
    push_applied(2, 1, 1);
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
}

/* The end was moved back; the worker will read of it. */
static void test_pull_by_an_older_order_is_answered_at_the_end(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    assert_true(pull_beyond(4, 1));
}

/* A worker pushes before it reads of the end: the saved values stay the last ones, unless the end
 * is moved. */
static void test_push_beyond_the_end_waits(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    struct run run = {.phase = RUN_STOPPING, .generation = 1, .until = 1};
    run.save_checkpoint = 4, run.save_step = 1;
    order(run);
    push_applied(1, 0, 0);
    assert_true(push(2, 0, 1));
    applied();
    assert_int_equal(number_of(PS_DO_SAVE), 1);
    handle((struct ps_event){.type = PS_EV_SAVED, .checkpoint = 4});
    assert_false(push(2, 1, 1));
    assert_true(pull(1, 1));
    assert_int_equal(s.clock[1], 1);
    run.until = 2;
    order(run);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    applied();
    assert_int_equal(s.clock[1], 2);
}

/* A checkpoint holds exactly the contributions below its step. */
static void test_checkpoint_is_a_barrier(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    order_save(7, 1);
    push_applied(1, 0, 0);
    assert_false(push(1, 1, 0));
    assert_false(pull(1, 2)); /* It waits for its parked push. */
    assert_true(push(2, 0, 1));
    applied();
    assert_int_equal(number_of(PS_DO_SAVE), 1);
    assert_int_equal(out.items[0].type, PS_DO_SAVE); /* Before the parked push is applied. */
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    assert_int_equal(s.clock[0], 1);
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
}

/* Contributions to a multiple of the interval wait until it is ordered or skipped. */
static void test_contributions_wait_for_the_order_of_a_multiple(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    struct run run = {.phase = RUN_RUNNING, .generation = 1, .until = 9, .save_due = 1};
    order(run);
    push_applied(1, 0, 0);
    assert_false(push(1, 1, 0));
    push_applied(2, 0, 1);
    assert_int_equal(s.waits_for_checkpoint, 1);
    run.save_checkpoint = 4, run.save_step = 1, run.save_due = 2;
    order(run);
    assert_int_equal(number_of(PS_DO_SAVE), 1);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    applied();
    assert_int_equal(s.waits_for_checkpoint, 0);
    assert_int_equal(s.late_checkpoint, 0);
}

/* If a slice is past the ordered step, the save is missed at once. */
static void test_late_save_is_missed(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    push_applied(1, 0, 0);
    push_applied(1, 1, 0);
    order_save(7, 1);
    assert_int_equal(s.missed_checkpoint, 7);
    order_save(8, 2);
    assert_int_equal(s.missed_checkpoint, 7);
}

/* A worker that gathered an earlier step does not wait for its later pushes. */
static void test_parked_push_delays_only_later_pulls(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    order_save(7, 1);
    push_applied(1, 0, 0);
    assert_false(push(1, 1, 0)); /* Behind the barrier. */
    assert_false(pull(1, 2));
    assert_true(pull(1, 1));
}

/* Clocks are restored with the shard: its contributions are not applied again. */
static void test_clocks_are_restored(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 5, (const uint64_t[V]){5, 7});
    assert_int_equal(s.step, 5);
    assert_false(push(1, 6, 1));
    push_applied(1, 7, 1);
    push_applied(1, 5, 0);
}

/* A parked push is applied even if its connection has closed. */
static void test_parked_push_outlives_its_connection(void **state)
{
    (void)state;
    serve(0, 0, NULL);
    push_applied(1, 0, 0);
    assert_false(push(1, 1, 0));
    handle((struct ps_event){.type = PS_EV_CONN_CLOSED, .conn = {1}});
    push_applied(2, 0, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
}

/* Whether it was answered at once. */
static bool look_up(uint64_t conn, uint64_t step)
{
    handle((struct ps_event){.type = PS_EV_LOOKUP, .conn = {conn}, .generation = 1, .step = step});
    return number_of(PS_DO_ANSWER_LOOKUP) == 1;
}

/* Rows are sent as values are: not before the pushes of their connection below the step are
 * applied, and not too far ahead. */
static void test_lookups_wait_as_pulls_do(void **state)
{
    (void)state;
    serve(1, 0, NULL);
    s.config.rows = true;
    assert_true(look_up(1, 0));
    push_applied(1, 0, 0);
    assert_true(look_up(1, 1));
    push_applied(1, 1, 0);
    assert_false(push(1, 2, 0)); /* Parked: the other slice is at step 0. */
    assert_false(look_up(1, 3));
    assert_int_equal(number_of(PS_DO_KEEP_LOOKUP), 1);
    assert_true(push(2, 0, 1));
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER_LOOKUP), 0);
    assert_int_equal(number_of(PS_DO_APPLY), 1); /* The parked one. */
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER_LOOKUP), 0); /* Step 3 is too far ahead. */
    assert_true(push(2, 1, 1));
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER_LOOKUP), 1);
    assert_int_equal(out.items[0].step, 3);
    assert_true(out.items[0].waiting);
}

/* Rows never change while they are read: a lookup during an update waits for its end. */
static void test_lookup_during_an_update_waits(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    s.config.rows = true;
    assert_true(push(1, 0, 0));
    assert_false(look_up(2, 0));
    applied();
    assert_int_equal(number_of(PS_DO_ANSWER_LOOKUP), 1);
}

/* A checkpoint is a barrier for pushes alone: lookups of a step that was reached are answered. */
static void test_lookups_pass_a_barrier(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    s.config.rows = true;
    push_applied(1, 0, 0);
    order_save(1, 1);
    assert_false(push(1, 1, 0));
    assert_true(look_up(1, 1));
    assert_false(look_up(1, 2));
    assert_true(look_up(2, 1));
}

/* C16: with updates of one slice beyond it, the step of the shard cannot be saved. */
static void test_beyond_the_step(void **state)
{
    (void)state;
    serve(STALENESS_FREE, 0, NULL);
    assert_false(ps_step_is_beyond(&s));
    push_applied(1, 0, 0);
    assert_true(s.step == 0 && ps_step_is_beyond(&s));
    push_applied(2, 0, 1);
    assert_true(s.step == 1 && !ps_step_is_beyond(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_push_is_an_update),
        cmocka_unit_test(test_duplicates_are_dropped),
        cmocka_unit_test(test_beyond_the_step),
        cmocka_unit_test(test_zero_staleness_is_lock_step),
        cmocka_unit_test(test_push_too_far_ahead_waits),
        cmocka_unit_test(test_parked_push_is_not_replaced),
        cmocka_unit_test(test_push_above_the_clock_is_refused),
        cmocka_unit_test(test_pull_of_the_last_step_waits_for_all_slices),
        cmocka_unit_test(test_pull_of_the_end_waits_although_the_gate_is_reached),
        cmocka_unit_test(test_pull_by_a_newer_order_waits_for_it),
        cmocka_unit_test(test_pull_by_an_older_order_is_answered_at_the_end),
        cmocka_unit_test(test_push_beyond_the_end_waits),
        cmocka_unit_test(test_checkpoint_is_a_barrier),
        cmocka_unit_test(test_contributions_wait_for_the_order_of_a_multiple),
        cmocka_unit_test(test_late_save_is_missed),
        cmocka_unit_test(test_parked_push_delays_only_later_pulls),
        cmocka_unit_test(test_clocks_are_restored),
        cmocka_unit_test(test_parked_push_outlives_its_connection),
        cmocka_unit_test(test_lookups_wait_as_pulls_do),
        cmocka_unit_test(test_lookup_during_an_update_waits),
        cmocka_unit_test(test_lookups_pass_a_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
