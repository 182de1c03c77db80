/* Departures from a run without ps that an operator has paused, and from groups: C16, C24. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/depart_scene.h"

/* The workers report that they have read of the pause. */
static void pause_at(uint64_t step_of_0, uint64_t step_of_1)
{
    request(2, REQUEST_PAUSE);
    write_all();
    is_at(0, step_of_0);
    is_at(1, step_of_1);
    write_all();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
}

/* Its process starts again, and has read of the last order. */
static void restarts(uint32_t worker)
{
    member(ROLE_WORKER, worker, 0, "exit code 0");
    write_all();
    member(ROLE_WORKER, worker, FIRST_INCARNATION + 10 + worker, NULL);
    worker_ready(worker);
    reports[1][worker].order_epoch = chief.run.epoch;
    reports[1][worker].order_revision = chief.run.revision;
    report(ROLE_WORKER, worker);
    write_all();
}

/* As write_all(), within much less than CHIEF_FETCH_MS. */
static void write_soon(void)
{
    for (int i = 0; i < 2; i++) {
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        if (!chief.writing) { settle(); }
    }
    if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
}

static void confirms(uint32_t worker)
{
    reports[1][worker].gate = chief.run.gate;
    is_at(worker, chief.run.gate);
    write_soon();
}

/* The writer has saved the checkpoint of the gate. */
static void saves_gate(void)
{
    struct report *writer = &reports[1][chief.run.save_writer];
    assert_int_equal(chief.run.save_step, chief.run.gate);
    writer->saved_checkpoint = chief.run.save_checkpoint;
    writer->saved_step = chief.run.gate;
    writer->saved_bytes = 64;
    confirms(chief.run.save_writer);
    assert_int_equal(chief.run.committed_step, chief.run.gate);
}

/* M8: a worker that starts again in the pause gets no values. The last one that has them does not
 * wait for it: it goes to a gate, and leaves when the checkpoint is committed. */
static void the_last_holder_leaves_a_pause_at_a_gate(void **state)
{
    (void)state;
    pause_at(4, 4);
    restarts(0);
    leaves(1);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(chief.run.gate, 4);
    saves_gate();
    assert_int_equal(chief.run.phase, RUN_RUNNING); /* The other one can fetch the values. */
    pass(CHIEF_FETCH_MS);
    assert_non_null(actions.write);
    write_all();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    assert_int_equal(chief.run.recovery.kind, RECOVERY_WORKER);
    assert_true(chief.run.pause_requested);
    assert_int_equal(chief.run.released_count, 0);
}

/* The other worker has fetched the values on the way to the gate. When it leaves later, in the same
 * pause, it needs no other gate. */
static void the_other_fetches_values_at_the_gate(void **state)
{
    (void)state;
    pause_at(4, 4);
    restarts(0);
    leaves(1);
    write_all();
    saves_gate();
    confirms(0);
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    const uint64_t gate = chief.run.gate;
    restarts(1);
    leaves(0);
    write_all();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    assert_int_equal(chief.run.gate, gate);
}

/* A pause may begin when one worker has completed a step and the other one has not. */
static void a_worker_that_is_ahead_leaves_a_pause_at_a_gate(void **state)
{
    (void)state;
    pause_at(4, 5);
    leaves(1);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(chief.run.gate, 5);
    saves_gate();
    if (chief.run.save_writer != 1) { confirms(1); }
    confirms(0);
    assert_int_equal(chief.run.phase, RUN_PAUSED);
}

/* One that stays and lacks the last step is waited for, because another one may have it alone. */
static void all_that_stay_reach_the_gate(void **state)
{
    (void)state;
    joins(2);
    pause_at(5, 6);
    is_at(2, 4);
    leaves(1);
    write_soon();
    assert_int_equal(chief.run.gate, 6);
    saves_gate();
    confirms(0);
    confirms(1);
    reports[1][2].gate = chief.run.gate;
    is_at(2, 5);
    write_soon();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    is_at(2, 6);
    write_soon();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
}

/* The others have the same step: no checkpoint is needed. */
static void a_worker_is_released_in_a_pause(void **state)
{
    (void)state;
    pause_at(4, 4);
    leaves(1);
    reports_again(0, 4);
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    assert_int_equal(chief.run.gate, 0);
    owns_nothing(1, 4);
    assert_true(is_released(1));
}

/* C22: workers that are no longer to run leave a pause, too. */
static void an_unwanted_worker_leaves_a_pause_at_a_gate(void **state)
{
    (void)state;
    config.workers_least = 1;
    chief.config.workers_least = 1;
    pause_at(4, 4);
    restarts(0);
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 3, .kind = REQUEST_SCALE, .by = "operator", .step = 1}});
    write_all();
    leaves(1);
    write_all();
    assert_int_equal(chief.run.workers, 1);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(chief.run.gate, 4);
}

/* The worker that left dies on the way to the gate: none needs the gate, and the run is paused
 * again. */
static void a_paused_run_does_not_train_on_without_its_gate(void **state)
{
    (void)state;
    pause_at(4, 5);
    leaves(1);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    member(ROLE_WORKER, 1, 0, "signal 9 (Killed)");
    write_all();
    assert_int_equal(chief.run.gate, 0);
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    assert_int_equal(chief.run.recovery.kind, RECOVERY_OPERATOR);
    assert_string_equal(chief.run.recovery.cause, "operator");
}

/* The operator resumes the run on its way to the gate: the pause is over, and others stay. */
static void a_resume_ends_the_gate_of_a_pause(void **state)
{
    (void)state;
    pause_at(4, 5);
    leaves(1);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    request(3, REQUEST_RESUME);
    write_all();
    assert_int_equal(chief.run.gate, 0);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(chief.run.recovery.kind, RECOVERY_NONE);
    reports_again(0, 6);
    owns_nothing(1, 6);
    assert_true(is_released(1));
}

/* M13: no member but the head computes. The head does not wait for them: it goes to a gate. */
static void all_heads_leave_at_a_gate(void **state)
{
    (void)state;
    reports[1][1].ready = 0;
    is_at(1, 4);
    is_at(0, 4);
    write_all();
    leaves(0);
    write_all();
    assert_true(chief.run.gate > 4);
    saves_gate();
    if (chief.run.save_writer != 0) { confirms(0); }
    confirms(1);
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    member(ROLE_WORKER, 0, 0, "exit code 0");
    confirms(1);
    assert_int_equal(chief.run.phase, RUN_RUNNING); /* Until a head is back. */
}

/* Its values remain although no group can compute. */
static void a_member_is_released_while_its_head_waits(void **state)
{
    (void)state;
    joins(2);
    reports[1][2].ready = 0;
    is_at(2, 4);
    for (uint32_t i = 0; i < 2; i++) {
        reports[1][i].ready = 0;
        is_at(i, 4);
    }
    write_all();
    reports[1][2].leaving = LEAVING_WITHOUT_SLICES;
    report(ROLE_WORKER, 2);
    reports_again(1, 4);
    reports_again(0, 4);
    assert_int_equal(chief.run.gate, 0);
    assert_true(is_released(2));
}

/* C22: the wanted worker is absent, or gets no values. The others do not lose them when their time
 * is over. */
static void unwanted_workers_leave_at_a_gate_in_the_end(void **state)
{
    (void)state;
    config.workers_least = 1;
    chief.config.workers_least = 1;
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 3, .kind = REQUEST_SCALE, .by = "operator", .step = 1}});
    write_all();
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    leaves(1);
    write_soon();
    assert_int_equal(chief.run.workers, 1);
    assert_int_equal(chief.run.gate, 0);
    restarts(0);
    pass(CHIEF_FETCH_MS);
    write_soon();
    assert_true(chief.run.gate > 0);
    saves_gate();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
}

/* C23: the worker that leaves computes until the other one is in time again. */
static void a_late_worker_gets_no_slices_of_one_that_leaves(void **state)
{
    (void)state;
    chief.workers[0].straggler = (struct chief_straggler){
        .is_late = true, .since_ms = now_ms, .until_ms = now_ms + CHIEF_LATE_MAX_MS};
    leaves(1);
    write_all();
    assert_int_equal(owned_by(1), config.slices);
    assert_int_equal(owned_by(0), 0);
}

/* A late worker may remain late for longer than one that leaves has time. */
static void a_late_worker_does_not_keep_the_last_one(void **state)
{
    (void)state;
    chief.workers[0].straggler = (struct chief_straggler){
        .is_late = true, .since_ms = now_ms, .until_ms = now_ms + CHIEF_LATE_MAX_MS};
    leaves(1);
    write_all();
    assert_true(chief.run.gate > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_last_holder_leaves_a_pause_at_a_gate, setup),
        cmocka_unit_test_setup(the_other_fetches_values_at_the_gate, setup),
        cmocka_unit_test_setup(a_worker_that_is_ahead_leaves_a_pause_at_a_gate, setup),
        cmocka_unit_test_setup(all_that_stay_reach_the_gate, setup),
        cmocka_unit_test_setup(a_worker_is_released_in_a_pause, setup),
        cmocka_unit_test_setup(an_unwanted_worker_leaves_a_pause_at_a_gate, setup),
        cmocka_unit_test_setup(a_paused_run_does_not_train_on_without_its_gate, setup),
        cmocka_unit_test_setup(a_resume_ends_the_gate_of_a_pause, setup),
        cmocka_unit_test_setup(all_heads_leave_at_a_gate, setup),
        cmocka_unit_test_setup(a_member_is_released_while_its_head_waits, setup),
        cmocka_unit_test_setup(unwanted_workers_leave_at_a_gate_in_the_end, setup),
        cmocka_unit_test_setup(a_late_worker_gets_no_slices_of_one_that_leaves, setup),
        cmocka_unit_test_setup(a_late_worker_does_not_keep_the_last_one, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
