/* One replica: each test feeds events, and compares what it asks for as text. It is worker 0 of
 * three, with two ranges, of the workers 0 and 1, and four slices. tests/sim/replicas tests the
 * whole protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/replica_text.h"

static const char *loaded(void)
{
    return feed((struct replica_event){
        .type = REPLICA_EV_LOADED, .generation = run.generation, .step = run.load_step});
}

/* Generation 1 is being loaded; both peers are connected. */
static int set_up(void **state)
{
    (void)state;
    now_ms = 1000;
    memset(writers, 0, sizeof writers);
    run = (struct run){.phase = RUN_LOADING, .generation = 1, .until = 100};
    run.evaluate_step = run.evaluation.step = STEP_NONE;
    replica_init(&replica, &(struct replica_config){
                               .workers = 3, .ranges = 2, .slices = 4, .index = 0, .keep_sums = 1});
    (void)happens(REPLICA_EV_LINK_UP, 1);
    (void)happens(REPLICA_EV_LINK_UP, 2);
    (void)order();
    return 0;
}

/* Whole, at step 0; worker 0 owns slices 0 and 1 and range 0, and has computed them. */
static int set_up_training(void **state)
{
    (void)set_up(state);
    (void)loaded();
    run.phase = RUN_RUNNING;
    (void)order();
    (void)assign(0, 0, 1, 1);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    return 0;
}

/* ------------------------------------------------------------------ a step */

/* A worker pushes to the owner of the other range, adds its own range up, and applies both. */
static void a_step(void **state)
{
    (void)state;
    assert_string_equal(loaded(), "adopt @0");
    run.phase = RUN_RUNNING;
    assert_string_equal(order(), "");
    assert_string_equal(assign(0, 0, 1, 1), "compute 0+2");
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0), "push r1 to 1 0+2");
    assert_string_equal(push(1, 0, 0, 2, 2), "hold r0 2+2; reduce r0 of 2; answer c11 r0 @0");
    assert_string_equal(from(1, REPLICA_EV_SUM, 1, 0, 0, 0),
                        "take r1; apply @0; forget @0; compute 0+2");
    assert_int_equal(replica.step, 1);
}

/* The owner's own gradients are terms of its sum without a copy. */
static void own_gradients_are_parts(void **state)
{
    (void)state;
    (void)push(1, 0, 0, 2, 2);
    const struct replica_action *reduce = &actions.items[1];
    assert_int_equal(reduce->part_count, 2);
    assert_int_equal(actions.parts[reduce->first_part].own, 0);
    assert_int_equal(actions.parts[reduce->first_part + 1].own, REPLICA_NOT_OWN);
    assert_int_equal(actions.parts[reduce->first_part + 1].first, 2);
}

/* A repeated push is not held again, and its question is answered. */
static void a_repeated_push_is_dropped(void **state)
{
    (void)state;
    assert_string_equal(push(2, 0, 0, 2, 1), "hold r0 2+1");
    assert_string_equal(push(2, 0, 0, 2, 1), "");
    assert_string_equal(push(1, 0, 0, 2, 2), "hold r0 2+2; reduce r0 of 2; answer c12 r0 @0; "
                                             "answer c11 r0 @0");
    assert_string_equal(push(2, 0, 0, 2, 1), "answer c12 r0 @0");
}

/* The pushes of the next step are held apart, and count when it begins. */
static void early_pushes_are_held(void **state)
{
    (void)state;
    assert_string_equal(push(1, 0, 1, 2, 2), "hold r0 2+2; pull r0 from 1");
    (void)push(2, 0, 0, 2, 2);
    (void)from(1, REPLICA_EV_SUM, 1, 0, 0, 0);
    assert_int_equal(replica.step, 1);
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0),
                        "push r1 to 1 0+2; reduce r0 of 2; answer c11 r0 @1");
}

/* ------------------------------------------------------- questions and moves */

/* Sums of one step back are kept; of earlier ones the values must be asked for. */
static void late_questions(void **state)
{
    (void)state;
    for (uint64_t step = 0; step < 2; step++) {
        (void)push(1, 0, step, 2, 2);
        (void)from(1, REPLICA_EV_SUM, 1, step, 0, 0);
        (void)happens(REPLICA_EV_COMPUTED, 0);
    }
    assert_int_equal(replica.step, 2);
    assert_string_equal(from(2, REPLICA_EV_PULL, 1, 1, 0, 0), "answer c12 r1 @1");
    assert_string_equal(from(2, REPLICA_EV_PULL, 0, 0, 0, 0), "refuse c12 gone");
    assert_string_equal(from(2, REPLICA_EV_PULL_VALUES, 0, 0, 0, 0), "send-values @2");
    assert_string_equal(from(2, REPLICA_EV_PULL_VALUES, 0, 2, 0, 0), "refuse c12 not-here");
}

/* Another range, a step too far ahead, another generation. */
static void refused_questions(void **state)
{
    (void)state;
    assert_string_equal(push(2, 1, 0, 2, 2), "refuse c12 not-owner");
    assert_string_equal(push(2, 0, 2, 2, 2), "refuse c12 not-here; pull r0 from 2");
    run.generation = 2;
    assert_string_equal(push(2, 0, 0, 2, 2), "refuse c12 not-here");
}

/* The owner of range 1 dies: what it computed and what it owned moves, and its successor gets
 * everything again. */
static void the_death_of_an_owner(void **state)
{
    (void)state;
    assert_string_equal(happens(REPLICA_EV_LINK_DOWN, 1), "");
    assert_string_equal(assign(0, 0, 2, 2), "push r1 to 2 0+2");
    assert_string_equal(push(2, 0, 0, 2, 2), "hold r0 2+2; reduce r0 of 2; answer c12 r0 @0");
    assert_string_equal(assign(0, 0, 0, 2), "compute 2+1");
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0), "push r1 to 2 2+1");
}

/* Held gradients stay when the range moves away and comes back. */
static void a_range_that_comes_back(void **state)
{
    (void)state;
    (void)push(1, 0, 0, 3, 1);
    (void)assign(1, 1, 1, 1);
    assert_string_equal(push(2, 0, 0, 2, 1), "refuse c12 not-owner");
    (void)assign(0, 0, 1, 1);
    assert_string_equal(push(2, 0, 0, 2, 1),
                        "hold r0 2+1; reduce r0 of 3; answer c11 r0 @0; answer c12 r0 @0");
}

/* A refused question is repeated 20 ms later, at once on a new connection. */
static void questions_are_repeated(void **state)
{
    (void)state;
    assert_string_equal(refused(1, 1, 0, REPLICA_NOT_OWNER), "");
    assert_int_equal(replica_deadline_ms(&replica), now_ms + REPLICA_RETRY_MS);
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "push r1 to 1 0+2; pull r0 from 1");
    (void)happens(REPLICA_EV_LINK_DOWN, 1);
    assert_string_equal(happens(REPLICA_EV_LINK_UP, 1), "push r1 to 1 0+2");
}

/* An owner that lacks the sum of its own range asks one peer after the other, and none twice that
 * has not answered. */
static void an_owner_asks_around(void **state)
{
    (void)state;
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "pull r0 from 1");
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "");
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "pull r0 from 2");
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "");
    (void)refused(1, 0, 0, REPLICA_NOT_HERE);
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "pull r0 from 1");
}

/* -------------------------------------------------------------------- values */

/* A newcomer asks its peers in turn, and computes once it has values. */
static void a_newcomer_asks_for_values(void **state)
{
    (void)state;
    run.phase = RUN_RUNNING;
    assert_string_equal(order(), "pull-values from 1");
    assert_string_equal(refused(1, REPLICA_ALL_RANGES, 0, REPLICA_NOT_HERE), "");
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK, 0), "pull-values from 2");
    assert_string_equal(from(2, REPLICA_EV_VALUES, 0, 7, 0, 0), "drop; adopt @7");
    assert_string_equal(assign(1, 0, 0, 2), "compute 1+1 2+1");
    assert_string_equal(loaded(), "");
}

/* One that receives GONE keeps its values until others have arrived, and takes none that are
 * older. */
static void one_that_is_behind(void **state)
{
    (void)state;
    assert_string_equal(refused(1, 1, 5, REPLICA_GONE), "pull-values from 1; pull r0 from 1");
    assert_true(replica.whole);
    assert_int_equal(replica.step, 0);
    (void)from(1, REPLICA_EV_VALUES, 0, 0, 0, 0);
    assert_int_equal(replica.step, 0);
    assert_string_equal(from(1, REPLICA_EV_VALUES, 0, 6, 0, 0),
                        "drop; forget @0; adopt @6; compute 0+2");
    assert_int_equal(replica.step, 6);
}

/* Those that wait for a step that was jumped over receive a refusal. */
static void waiters_of_a_lost_step(void **state)
{
    (void)state;
    (void)push(2, 0, 0, 2, 1);
    (void)refused(1, 1, 5, REPLICA_GONE);
    assert_non_null(strstr(from(1, REPLICA_EV_VALUES, 0, 6, 0, 0), "refuse c12 gone"));
}

/* While the chief counts, neither a load nor the values of a peer make a holder. */
static void none_becomes_whole_in_a_pause(void **state)
{
    (void)state;
    run.phase = RUN_RUNNING;
    (void)order();
    run.phase = RUN_PAUSED;
    (void)order();
    assert_string_equal(loaded(), "");
    assert_string_equal(from(1, REPLICA_EV_VALUES, 0, 7, 0, 0), "");
    assert_false(replica.whole);
    assert_int_equal(replica.revision, run.revision);
}

/* Only another generation releases values; its load is carried out once. */
static void another_generation(void **state)
{
    (void)state;
    (void)push(2, 0, 0, 2, 1);
    run.phase = RUN_PAUSED;
    (void)order();
    assert_true(replica.whole);
    run.phase = RUN_LOADING;
    run.generation = 2;
    assert_string_equal(order(), "refuse c12 not-here; forget @0; drop; load @0");
    assert_false(replica.whole);
    assert_string_equal(order(), "");
}

/* ------------------------------------------------- checkpoints, evaluations, end */

/* A checkpoint is saved at its step by the writers in /run, or reported as missed. */
static void checkpoints(void **state)
{
    (void)state;
    run.save_checkpoint = 1;
    run.save_step = 1;
    writers[0] = 2;
    writers[1] = 0;
    assert_string_equal(order(), "");
    (void)push(1, 0, 0, 2, 2);
    assert_string_equal(from(1, REPLICA_EV_SUM, 1, 0, 0, 0),
                        "take r1; apply @0; forget @0; save r1 of 1; compute 0+2");
    run.save_checkpoint = 2;
    run.save_step = 0;
    assert_string_equal(order(), "miss r1 of 2");
    assert_string_equal(order(), "");
}

/* No worker passes a step that must be evaluated, or at which a checkpoint is due. */
static void steps_that_are_not_passed(void **state)
{
    (void)state;
    run.evaluate_step = 1;
    run.save_due = 1;
    (void)order();
    (void)push(1, 0, 0, 2, 2);
    assert_string_equal(from(1, REPLICA_EV_SUM, 1, 0, 0, 0),
                        "take r1; apply @0; forget @0; evaluate @1");
    assert_string_equal(happens(REPLICA_EV_EVALUATED, 0), "");
    assert_int_equal(replica_waits_for_checkpoint(&replica), 1);
    run.evaluate_step = 50;
    assert_string_equal(order(), "");
    run.save_due = 20;
    assert_string_equal(order(), "compute 0+2");
}

/* The heir of slice 0 evaluates the step again: all are still there. */
static void a_successor_evaluates(void **state)
{
    (void)state;
    (void)assign(1, 1, 0, 0);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    run.evaluate_step = 0;
    assert_string_equal(order(), "");
    assert_string_equal(assign(0, 1, 0, 0), "evaluate @0");
}

/* Steps below the end are computed while the run is stopping; the last one is the end. */
static void the_end(void **state)
{
    (void)state;
    run.phase = RUN_STOPPING;
    run.until = 1;
    (void)order();
    assert_string_equal(assign(0, 0, 0, 1), "compute 2+1");
    (void)happens(REPLICA_EV_COMPUTED, 0);
    (void)push(1, 0, 0, 3, 1);
    assert_string_equal(from(1, REPLICA_EV_SUM, 1, 0, 0, 0), "take r1; apply @0; forget @0");
    assert_string_equal(assign(0, 0, 0, 0), "");
    assert_int_equal(replica_deadline_ms(&replica), UINT64_MAX);
}

/* More questions than fit are refused, but what they push counts. */
static void too_many_questions(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < REPLICA_WAITERS_MAX; i++) {
        (void)from(1000 + i, REPLICA_EV_PULL, 0, 0, 0, 0);
    }
    assert_string_equal(push(1, 0, 0, 3, 1), "hold r0 3+1; refuse c11 not-here");
    (void)push(2, 0, 0, 2, 1);
    assert_true(replica.have[0]);
    assert_int_equal(replica.waiter_count, 0);
    assert_string_equal(from(1, REPLICA_EV_PULL, 0, 0, 0, 0), "answer c11 r0 @0");
}

/* The range and worker that a log line names. */
static void the_range_it_waits_for(void **state)
{
    (void)state;
    uint32_t range, worker;
    assert_true(replica_waits_for(&replica, &range, &worker));
    assert_int_equal(range, 0);
    (void)push(1, 0, 0, 2, 2);
    assert_true(replica_waits_for(&replica, &range, &worker));
    assert_int_equal(range, 1);
    assert_int_equal(worker, 1);
    (void)from(1, REPLICA_EV_SUM, 1, 0, 0, 0);
    assert_false(replica_waits_for(&replica, &range, &worker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_step, set_up),
        cmocka_unit_test_setup(own_gradients_are_parts, set_up_training),
        cmocka_unit_test_setup(a_repeated_push_is_dropped, set_up_training),
        cmocka_unit_test_setup(early_pushes_are_held, set_up_training),
        cmocka_unit_test_setup(late_questions, set_up_training),
        cmocka_unit_test_setup(refused_questions, set_up_training),
        cmocka_unit_test_setup(the_death_of_an_owner, set_up_training),
        cmocka_unit_test_setup(a_range_that_comes_back, set_up_training),
        cmocka_unit_test_setup(questions_are_repeated, set_up_training),
        cmocka_unit_test_setup(an_owner_asks_around, set_up_training),
        cmocka_unit_test_setup(a_newcomer_asks_for_values, set_up),
        cmocka_unit_test_setup(one_that_is_behind, set_up_training),
        cmocka_unit_test_setup(waiters_of_a_lost_step, set_up_training),
        cmocka_unit_test_setup(none_becomes_whole_in_a_pause, set_up),
        cmocka_unit_test_setup(another_generation, set_up_training),
        cmocka_unit_test_setup(checkpoints, set_up_training),
        cmocka_unit_test_setup(steps_that_are_not_passed, set_up_training),
        cmocka_unit_test_setup(a_successor_evaluates, set_up_training),
        cmocka_unit_test_setup(the_end, set_up_training),
        cmocka_unit_test_setup(too_many_questions, set_up_training),
        cmocka_unit_test_setup(the_range_it_waits_for, set_up_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
