/* The number of workers of a run: C22. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static void scale_to(uint64_t id, uint64_t workers)
{
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = id, .kind = REQUEST_SCALE, .by = "operator", .step = workers}});
    write_all();
}

/* Without ps; the run has both workers of the range "1-2", and each owns two of four slices. */
static int setup(void **state)
{
    (void)state;
    configure();
    config.strategy = STRATEGY_MIRROR;
    config.ps = 0;
    config.workers_least = 1;
    config.manifest.shard_count = 1;
    config.manifest.shards[0] = (struct manifest_shard){.count = 64};
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    write_all();
    assert_int_equal(chief.run.workers, 1);
    holds(0, 1, 0);
    write_all();
    scale_to(1, 2);
    member(ROLE_WORKER, 1, 21, NULL);
    worker_ready(1);
    holds(1, 1, 0);
    write_all();
    assert_int_equal(chief.run.workers, 2);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(owned_by(0), 2);
    return 0;
}

/* A worker beyond the number loses its slices when the other one is known to live; its end does not
 * count as a recovery. */
static void an_unwanted_worker_leaves_without_a_recovery(void **state)
{
    (void)state;
    scale_to(2, 1);
    assert_int_equal(chief.run.workers, 1);
    reports[1][1].leaving = 1;
    report(ROLE_WORKER, 1);
    write_all();
    assert_int_equal(owned_by(0), 2);
    pass(CHIEF_DEPART_MS);
    holds(0, 1, 4);
    write_all();
    assert_int_equal(owned_by(0), 4);
    member(ROLE_WORKER, 1, 0, NULL);
    assert_non_null(actions.write);
    for (uint32_t i = 0; i < actions.write->history_count; i++) {
        assert_int_not_equal(actions.write->history[i].kind, HISTORY_RECOVERED);
    }
    write_all();
    assert_null(actions.write);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    scale_to(3, 2);
    member(ROLE_WORKER, 1, 22, NULL);
    worker_ready(1);
    holds(1, 1, 5);
    write_all();
    assert_int_equal(owned_by(1), 2);
    member(ROLE_WORKER, 1, 0, "signal 9 (Killed)");
    assert_non_null(actions.write);
    const struct history_entry *last = &actions.write->history[actions.write->history_count - 1];
    assert_int_equal(last->kind, HISTORY_RECOVERED);
}

/* Its agent has not asked it to leave yet. */
static void an_unwanted_worker_gets_no_slices(void **state)
{
    (void)state;
    scale_to(2, 1);
    pass(CHIEF_DEPART_MS);
    holds(0, 1, 4);
    write_all();
    assert_int_equal(owned_by(0), 4);
    member(ROLE_WORKER, 1, 0, NULL);
    member(ROLE_WORKER, 1, 22, NULL);
    worker_ready(1);
    holds(1, 1, 5);
    write_all();
    assert_int_equal(owned_by(1), 0);
}

/* While the worker that stays has no values, the others keep their slices, also when they leave;
 * slices of the one that died go to them. */
static void the_last_holder_is_awaited(void **state)
{
    (void)state;
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    write_all();
    assert_int_equal(owned_by(1), 4);
    scale_to(2, 1);
    reports[1][1].leaving = 1;
    report(ROLE_WORKER, 1);
    write_all();
    assert_int_equal(owned_by(1), 4);
    member(ROLE_WORKER, 0, 23, NULL);
    worker_ready(0);
    write_all();
    assert_int_equal(owned_by(1), 4);
    holds(0, 1, 3);
    write_all();
    assert_int_equal(owned_by(0), 4);
    assert_int_equal(chief.run.generation, 1);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
}

/* When all workers leave, they go on to a gate; the run pauses with its checkpoint, and they load
 * it when they are back. */
static void all_leave_at_a_gate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        reports[1][i].leaving = 1;
        report(ROLE_WORKER, i);
    }
    write_all();
    const uint64_t gate = chief.run.gate;
    assert_true(gate > 0);
    assert_int_equal(chief.run.save_step, gate);
    assert_int_equal(owned_by(0) + owned_by(1), 4);
    reports[1][chief.run.save_writer].saved_checkpoint = chief.run.save_checkpoint;
    reports[1][chief.run.save_writer].saved_step = gate;
    holds(0, 1, gate);
    holds(1, 1, gate);
    write_all();
    assert_int_equal(chief.run.committed_step, gate);
    assert_int_equal(chief.run.phase, RUN_RUNNING); /* They may not have read of the gate. */
    for (uint32_t i = 0; i < 2; i++) {
        reports[1][i].gate = gate;
        report(ROLE_WORKER, i);
    }
    write_all();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    member(ROLE_WORKER, 0, 0, NULL);
    member(ROLE_WORKER, 1, 0, NULL);
    write_all();
    assert_int_equal(chief.run.phase, RUN_LOADING);
    assert_int_equal(chief.run.load_step, gate);
}

/* The slices of one that is lost on the way to the gate go to another that leaves. */
static void one_is_lost_before_the_gate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        reports[1][i].leaving = 1;
        report(ROLE_WORKER, i);
    }
    write_all();
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    write_all();
    assert_true(chief.run.gate > 0);
    assert_int_equal(owned_by(1), 4);
}

/* C24: a run that stops has no gate; workers that all leave keep their slices, and end it. */
static void all_leave_while_the_run_stops(void **state)
{
    (void)state;
    feed((struct chief_event){.type = CHIEF_EV_REQUEST,
                              .request = {.id = 2, .kind = REQUEST_STOP, .by = "operator"}});
    write_all();
    assert_true(chief.run.ending);
    holds(0, 1, chief.run.until);
    write_all();
    assert_int_equal(chief.run.phase, RUN_STOPPING);
    for (uint32_t i = 0; i < 2; i++) {
        reports[1][i].leaving = 1;
        report(ROLE_WORKER, i);
    }
    write_all();
    assert_int_equal(owned_by(0) + owned_by(1), 4);
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    write_all();
    assert_int_equal(owned_by(1), 4);
}

/* Numbers outside the range change nothing, and the request is answered; so it is with a job that
 * declares none. */
static void other_numbers_change_nothing(void **state)
{
    (void)state;
    scale_to(2, 3);
    assert_int_equal(chief.run.workers, 2);
    scale_to(3, 0);
    assert_int_equal(chief.run.workers, 2);
    assert_false(chief.request.waits);
    chief.config.workers_least = 0;
    scale_to(4, 1);
    assert_int_equal(chief.run.workers, 0);
}

/* A new chief keeps the number, within the range of its own job. */
static void a_new_chief_keeps_the_number(void **state)
{
    (void)state;
    const struct run run = chief.run;
    const struct assignment assignment = chief.assignment;
    begin();
    elected(2, &run, &assignment, NULL, 0);
    write_all();
    assert_int_equal(chief.run.workers, 2);
    config.workers = config.min_workers = 1;
    begin();
    elected(3, &run, &assignment, NULL, 0);
    write_all();
    assert_int_equal(chief.run.workers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_unwanted_worker_leaves_without_a_recovery, setup),
        cmocka_unit_test_setup(an_unwanted_worker_gets_no_slices, setup),
        cmocka_unit_test_setup(the_last_holder_is_awaited, setup),
        cmocka_unit_test_setup(all_leave_at_a_gate, setup),
        cmocka_unit_test_setup(one_is_lost_before_the_gate, setup),
        cmocka_unit_test_setup(all_leave_while_the_run_stops, setup),
        cmocka_unit_test_setup(other_numbers_change_nothing, setup),
        cmocka_unit_test_setup(a_new_chief_keeps_the_number, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
