/* When a worker without ps that was asked to leave may go (C16, C24). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/node/node.h"
#include "mirror/departure.h"

enum { ASKED_MS = 1000, LATER_MS = ASKED_MS + NODE_DRAIN_MS - 1, INCARNATION = 21 };

static struct run run;
static struct departure departure;

/* The run is running; the worker has the values, and no slices. */
static int setup(void **state)
{
    (void)state;
    run = (struct run){.phase = RUN_RUNNING, .generation = 1, .until = 100};
    departure = (struct departure){
        .incarnation = INCARNATION, .run = &run, .holds = true, .asked_ms = ASKED_MS};
    return 0;
}

static bool may_go(uint64_t now_ms)
{
    return departure_may_go(&departure, now_ms);
}

/* The chief has found that others have the values. */
static void release(uint64_t incarnation)
{
    run.released[run.released_count++] = incarnation;
}

/* Without slices a worker with values stays until it is released, however long no chief writes. */
static void it_stays_until_it_is_released(void **state)
{
    (void)state;
    assert_false(may_go(LATER_MS));
    release(INCARNATION - 1); /* Another one. */
    assert_false(may_go(LATER_MS));
    release(INCARNATION);
    assert_true(may_go(ASKED_MS));
    departure.holds = false;
    run.released_count = 0;
    assert_true(may_go(ASKED_MS));
}

/* C22: a worker that is not to run may be the last one that has the values. */
static void an_unwanted_worker_stays_until_it_is_released(void **state)
{
    (void)state;
    run.workers = 1;
    assert_false(may_go(LATER_MS));
    release(INCARNATION);
    assert_true(may_go(ASKED_MS));
    departure.owns = true;
    assert_false(may_go(LATER_MS));
}

/* It owns slices, or does not know yet whether it does. */
static void an_owner_of_slices_stays(void **state)
{
    (void)state;
    departure.owns = true;
    assert_false(may_go(LATER_MS));
    run.phase = RUN_STOPPING;
    departure.holds = false;
    assert_false(may_go(LATER_MS));
    run.phase = RUN_LOADING;
    assert_true(may_go(LATER_MS));
}

/* All leave, so none is released: each may be the last one that has the values, until the write
 * that commits the checkpoint of the gate pauses the run. */
static void no_worker_goes_before_the_gate_is_saved(void **state)
{
    (void)state;
    run.gate = 20;
    assert_false(may_go(LATER_MS));
    run.committed_step = 20; /* Another worker has passed the gate, which moves. */
    assert_false(may_go(LATER_MS));
    departure.holds = false;
    assert_true(may_go(LATER_MS));
    departure.holds = true;
    run.phase = RUN_PAUSED;
    run.recovery.kind = RECOVERY_WORKER;
    assert_true(may_go(LATER_MS));
}

/* The last steps and their checkpoint need a worker that has the values. */
static void it_stays_until_the_end_of_a_run_that_stops(void **state)
{
    (void)state;
    run.phase = RUN_STOPPING;
    assert_false(may_go(LATER_MS));
    run.phase = RUN_DONE;
    assert_true(may_go(LATER_MS));
}

/* The chief lets a run that an operator has paused continue to the gate. */
static void it_stays_while_an_operator_pauses_the_run(void **state)
{
    (void)state;
    run.phase = RUN_PAUSED;
    run.recovery.kind = RECOVERY_OPERATOR;
    assert_false(may_go(LATER_MS));
    release(INCARNATION);
    assert_true(may_go(LATER_MS));
    departure.owns = true;
    assert_false(may_go(LATER_MS));
    departure.holds = false;
    assert_true(may_go(LATER_MS));
}

/* A save is finished first, in any phase. */
static void a_save_is_finished(void **state)
{
    (void)state;
    departure.saves = true;
    run.phase = RUN_PAUSED;
    assert_false(may_go(LATER_MS));
    departure.saves = false;
    assert_true(may_go(LATER_MS));
}

/* No wait is unbounded, and a worker that knows of no run has nothing to lose. */
static void it_goes_in_any_case(void **state)
{
    (void)state;
    run.gate = 20;
    departure.owns = departure.saves = true;
    assert_false(may_go(ASKED_MS + NODE_DRAIN_MS - 1));
    assert_true(may_go(ASKED_MS + NODE_DRAIN_MS));
    departure.run = NULL;
    assert_true(may_go(ASKED_MS));
}

/* It is asked again when its time is over. */
static void the_deadline_is_known(void **state)
{
    (void)state;
    assert_int_equal(departure_deadline_ms(&departure), ASKED_MS + NODE_DRAIN_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_stays_until_it_is_released, setup),
        cmocka_unit_test_setup(an_unwanted_worker_stays_until_it_is_released, setup),
        cmocka_unit_test_setup(an_owner_of_slices_stays, setup),
        cmocka_unit_test_setup(no_worker_goes_before_the_gate_is_saved, setup),
        cmocka_unit_test_setup(it_stays_until_the_end_of_a_run_that_stops, setup),
        cmocka_unit_test_setup(it_stays_while_an_operator_pauses_the_run, setup),
        cmocka_unit_test_setup(a_save_is_finished, setup),
        cmocka_unit_test_setup(it_goes_in_any_case, setup),
        cmocka_unit_test_setup(the_deadline_is_known, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
