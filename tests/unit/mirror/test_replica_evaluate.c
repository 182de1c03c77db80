/* Which worker evaluates without ps, and when another one takes the evaluation over (M9, M12).
 * There is one range. Slices 0 and 3 are worker 2's, slice 1 is worker 0's, slice 2 is worker 1's;
 * worker 3 owns no slice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/replica_scene.h"

enum { V = 4, WORKERS = 4, STEP = 7, EVALUATION_MS = 300 };

static void order(enum run_phase phase)
{
    run.phase = phase;
    handle(next_order());
}

static void link(uint32_t peer, bool up)
{
    handle((struct replica_event){.type = up ? REPLICA_EV_LINK_UP : REPLICA_EV_LINK_DOWN,
                                  .peer = peer});
}

/* Whether the last event began an evaluation of STEP. */
static bool begins(void)
{
    bool found = false;
    for (uint32_t i = 0; i < actions.count; i++) {
        if (actions.items[i].type != REPLICA_DO_EVALUATE) { continue; }
        assert_int_equal(actions.items[i].step, STEP);
        assert_false(found);
        found = true;
    }
    assert_true(!found || replica.evaluating);
    return found;
}

static bool begins_after(uint64_t ms)
{
    now_ms += ms;
    handle((struct replica_event){.type = REPLICA_EV_TICK});
    return begins();
}

/* Worker `index`, which is connected to all others, has the values of STEP, which must be
 * evaluated, since now. */
static void wait_at_step(uint32_t index)
{
    now_ms = 1000;
    memset(writers, 0, sizeof writers);
    run = (struct run){.generation = 1, .until = 100, .load_step = STEP, .evaluate_step = STEP};
    run.evaluation.step = STEP_NONE;
    replica_init(&replica, &(struct replica_config){
                               .workers = WORKERS, .ranges = 1, .slices = V, .index = index});
    for (uint32_t peer = 0; peer < WORKERS; peer++) {
        if (peer != index) { link(peer, true); }
    }
    order(RUN_LOADING);
    handle((struct replica_event){.type = REPLICA_EV_LOADED, .generation = 1, .step = STEP});
    handle(owners(2, 0, 1, 2));
    order(RUN_RUNNING);
}

/* The owner of slice 0 evaluates at once, and once. */
static void first_one_evaluates_at_once(void **state)
{
    (void)state;
    wait_at_step(2);
    assert_true(begins());
    handle((struct replica_event){.type = REPLICA_EV_EVALUATED});
    assert_false(begins());
    assert_false(begins_after(60000));
    assert_int_equal(replica_deadline_ms(&replica), UINT64_MAX);
}

/* The others follow in the order of their first slices, and wake for it by themselves. */
static void others_follow_in_order(void **state)
{
    (void)state;
    for (uint32_t place = 1; place <= 2; place++) {
        wait_at_step(place - 1);
        assert_false(begins());
        assert_int_equal(replica_deadline_ms(&replica), now_ms + place * LATENESS_LEAST_MS);
        assert_false(begins_after(place * LATENESS_LEAST_MS - 1));
        assert_true(begins_after(1));
    }
    wait_at_step(3); /* It has no slices. */
    assert_false(begins_after(60000));
}

/* An evaluation that takes long is not late soon. */
static void long_evaluation_is_waited_for(void **state)
{
    (void)state;
    wait_at_step(0);
    handle((struct replica_event){.type = REPLICA_EV_COMPUTED, .evaluation_ms = EVALUATION_MS});
    assert_false(begins_after(LATENESS_FACTOR * EVALUATION_MS - 1));
    assert_true(begins_after(1));
}

/* The result is known before the evaluation is late: training continues. */
static void known_result_ends_the_wait(void **state)
{
    (void)state;
    wait_at_step(0);
    assert_false(begins_after(LATENESS_LEAST_MS - 1));
    run.evaluate_step = STEP + 5;
    order(RUN_RUNNING);
    assert_true(replica.computing);
    handle((struct replica_event){.type = REPLICA_EV_COMPUTED});
    assert_false(begins_after(60000));
}

/* Time in which no worker may evaluate does not count. */
static void pause_begins_the_wait_again(void **state)
{
    (void)state;
    wait_at_step(0);
    assert_false(begins_after(LATENESS_LEAST_MS - 1));
    order(RUN_PAUSED);
    assert_false(begins_after(60000));
    order(RUN_RUNNING);
    assert_false(begins_after(LATENESS_LEAST_MS - 1));
    assert_true(begins_after(1));
}

/* The last step is evaluated when the run is stopping. */
static void last_step_is_taken_over(void **state)
{
    (void)state;
    wait_at_step(0);
    run.until = STEP;
    order(RUN_STOPPING);
    assert_false(begins_after(LATENESS_LEAST_MS - 1));
    assert_true(begins_after(1));
}

/* Slices that move give the evaluation to their new owner at once. */
static void new_owner_of_the_first_slice_evaluates(void **state)
{
    (void)state;
    wait_at_step(0);
    assert_false(begins());
    handle(owners(0, 0, 1, 1));
    assert_true(begins());
}

/* While one owner of slices is connected, a worker without slices leaves the evaluation to it. */
static void worker_without_slices_evaluates_when_no_owner_is_connected(void **state)
{
    (void)state;
    wait_at_step(3);
    link(2, false);
    link(0, false);
    assert_false(begins_after(60000));
    link(1, false);
    assert_true(begins());
    handle((struct replica_event){.type = REPLICA_EV_EVALUATED});
    assert_false(begins_after(60000));
}

/* Several workers without slices follow each other in the order of their numbers. */
static void workers_without_slices_evaluate_in_turn(void **state)
{
    (void)state;
    wait_at_step(3);
    handle(owners(0, 0, 0, 0));
    assert_false(begins_after(60000));
    link(0, false);
    assert_int_equal(replica_deadline_ms(&replica), now_ms + UINT64_C(2) * LATENESS_LEAST_MS);
    assert_false(begins_after(UINT64_C(2) * LATENESS_LEAST_MS - 1));
    assert_true(begins_after(1));
}

/* An owner that returns evaluates itself. */
static void owner_that_returns_takes_the_evaluation_back(void **state)
{
    (void)state;
    wait_at_step(3);
    handle(owners(0, 0, 0, 0));
    link(0, false);
    assert_false(begins_after(LATENESS_LEAST_MS - 1));
    link(0, true);
    assert_false(begins_after(60000));
    assert_int_equal(replica_deadline_ms(&replica), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_one_evaluates_at_once),
        cmocka_unit_test(others_follow_in_order),
        cmocka_unit_test(long_evaluation_is_waited_for),
        cmocka_unit_test(known_result_ends_the_wait),
        cmocka_unit_test(pause_begins_the_wait_again),
        cmocka_unit_test(last_step_is_taken_over),
        cmocka_unit_test(new_owner_of_the_first_slice_evaluates),
        cmocka_unit_test(worker_without_slices_evaluates_when_no_owner_is_connected),
        cmocka_unit_test(workers_without_slices_evaluate_in_turn),
        cmocka_unit_test(owner_that_returns_takes_the_evaluation_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
