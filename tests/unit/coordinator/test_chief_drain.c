/* Ps and workers leave without the loss of a step (C16). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static int setup(void **state)
{
    (void)state;
    configure();
    return 0;
}

static void leaves(enum role role, uint32_t index)
{
    reports[role == ROLE_WORKER][index].leaving = 1;
    report(role, index);
}

/* Both ps reach the gate and save checkpoint `id` there; the answer of the last one is pending. */
static void reach_gate(uint64_t id, uint64_t gate)
{
    for (uint32_t i = 0; i < 2; i++) {
        reports[0][i].gate = gate;
        ps_at(i, 1, gate);
    }
    ps_saved(0, id, gate);
    ps_saved(1, id, gate);
}

/* Training stops a little ahead; the write that commits the checkpoint pauses the run, which then
 * waits for the ps and loads exactly that step. */
static void ps_leaves_after_a_commit(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 10);
    ps_at(1, 1, 10);
    snprintf(reports[0][1].place, sizeof reports[0][1].place, "h2:/shards");
    leaves(ROLE_PS, 1);
    const uint64_t gate = actions.write->run.gate;
    assert_true(gate > 10 && gate < 100);
    assert_int_equal(actions.write->run.save_step, gate);
    const uint64_t id = actions.write->run.save_checkpoint;
    written();
    reach_gate(id, gate);
    assert_true(actions.write->commits);
    assert_int_equal(actions.write->run.phase, RUN_PAUSED);
    assert_int_equal(actions.write->run.committed_step, gate);
    written();
    settle();
    assert_string_equal(actions.write->run.reason, "ps:1 leaves h2:/shards (drained)");
    written();
    member(ROLE_PS, 1, 0, "exit code 0");
    settle();
    assert_string_equal(chief.write.run.reason, "waiting for ps:1 (drained from h2:/shards)");
    member(ROLE_PS, 1, 99, NULL);
    written();
    ps_at(1, 0, 0);
    settle();
    assert_int_equal(chief.write.run.phase, RUN_LOADING);
    assert_int_equal(chief.write.run.load_step, gate);
    assert_int_equal(chief.write.run.gate, 0);
    assert_int_equal(chief.write.run.recovery.step, gate);
}

/* A ps that passed the gate before it read of it moves the gate. */
static void late_gate_moves(void **state)
{
    (void)state;
    begin_running();
    leaves(ROLE_PS, 0);
    const uint64_t gate = actions.write->run.gate;
    written();
    ps_at(1, 1, gate + 1);
    assert_true(actions.write->run.gate > gate + 1);
}

/* A new chief keeps the gate until every ps has reported, then withdraws it if none leaves. */
static void new_chief_keeps_the_gate(void **state)
{
    (void)state;
    begin_running();
    leaves(ROLE_PS, 0);
    struct run run = actions.write->run;
    written();
    begin();
    elected(2, &run, NULL, NULL, 0);
    assert_int_equal(actions.write->run.gate, run.gate);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        ps_at(i, 1, 0);
    }
    settle();
    assert_int_equal(chief.write.run.gate, 0);
}

/* A chief that never saw the report of the ps knows from /run which host it left. */
static void new_chief_names_the_drained_host(void **state)
{
    (void)state;
    begin_running();
    snprintf(reports[0][1].place, sizeof reports[0][1].place, "h2:/shards");
    leaves(ROLE_PS, 1);
    const uint64_t gate = actions.write->run.gate, id = actions.write->run.save_checkpoint;
    written();
    reach_gate(id, gate);
    const struct run run = actions.write->run;
    assert_int_equal(run.phase, RUN_PAUSED);
    begin();
    elected(2, &run, NULL, NULL, 0);
    written();
    member(ROLE_PS, 0, 10, NULL);
    ps_at(0, 1, gate);
    member(ROLE_PS, 1, 0, NULL);
    settle();
    assert_string_equal(chief.write.run.reason, "waiting for ps:1 (drained from h2:/shards)");
}

/* Slices move to the worker that stays; if all leave, the slices wait. */
static void workers_that_leave_get_no_slices(void **state)
{
    (void)state;
    begin_running();
    leaves(ROLE_WORKER, 0);
    assert_true(actions.write->assigns);
    for (uint32_t v = 0; v < 4; v++) {
        assert_int_equal(actions.write->assignment.worker[v], UINT16_MAX);
    }
    written();
    member(ROLE_WORKER, 1, 21, NULL);
    worker_ready(1);
    assert_true(actions.write->assigns);
    for (uint32_t v = 0; v < 4; v++) { assert_int_equal(actions.write->assignment.worker[v], 1); }
    assert_int_equal(chief.run.phase, RUN_RUNNING);
}

/* Both ps are at step 10, no worker is left, and a ps leaves; returns the gate. */
static uint64_t leave_without_workers(void)
{
    begin_running();
    ps_at(0, 1, 10);
    ps_at(1, 1, 10);
    member(ROLE_WORKER, 0, 0, "exit code 0");
    settle();
    leaves(ROLE_PS, 0);
    for (int i = 0; i < 3; i++) { written(); }
    assert_true(chief.run.gate > 10);
    return chief.run.gate;
}

/* The ps has read of the gate. */
static void confirm(uint32_t ps, uint64_t gate, bool beyond)
{
    reports[0][ps].gate = gate;
    reports[0][ps].beyond = beyond;
    ps_at(ps, 1, 10);
    settle();
    written();
}

/* Without a worker, the gate is the step that all ps hold, once they have read of a gate. */
static void gate_without_workers_is_the_present_step(void **state)
{
    (void)state;
    const uint64_t gate = leave_without_workers();
    confirm(0, gate, false);
    assert_int_equal(chief.run.gate, gate);
    confirm(1, gate, false);
    written();
    assert_int_equal(chief.run.gate, 10);
    assert_int_equal(chief.run.save_step, 10);
}

/* A part of the next step, such as the updates of one slice in async mode, can be in no checkpoint
 * of the present one: the gate stays ahead. (Simulator: seed 2000133.) */
static void gate_without_workers_is_beyond_a_begun_step(void **state)
{
    (void)state;
    const uint64_t gate = leave_without_workers();
    confirm(0, gate, false);
    confirm(1, gate, true);
    assert_int_equal(chief.run.gate, gate);
    assert_int_equal(chief.run.save_step, gate);
}

/* A push that was on its way begins the step at which the gate was put: the gate moves, so that it
 * can be confirmed again, and stays there. */
static void gate_moves_beyond_a_step_that_begins(void **state)
{
    (void)state;
    const uint64_t gate = leave_without_workers();
    confirm(0, gate, false);
    confirm(1, gate, false);
    written();
    assert_int_equal(chief.run.gate, 10);
    confirm(1, 0, true);
    written();
    const uint64_t moved = chief.run.gate;
    assert_true(moved > 10);
    confirm(0, moved, false);
    confirm(1, moved, true);
    assert_int_equal(chief.run.gate, moved);
}

/* Training waits at the gate for a disk that cannot save it; /run names its ps until it can, or
 * until the ps does not leave. */
static void disk_that_cannot_save_the_gate_is_named(void **state)
{
    (void)state;
    static const char named[] = "the checkpoint at which nodes leave: ps:1 cannot save it (see its "
                                "log); trying again";
    for (int withdrawn = 0; withdrawn < 2; withdrawn++) {
        configure();
        begin_running();
        ps_at(0, 1, 10);
        ps_at(1, 1, 10);
        leaves(ROLE_PS, 1);
        const uint64_t gate = actions.write->run.gate, id = actions.write->run.save_checkpoint;
        written();
        ps_at(0, 1, gate);
        ps_at(1, 1, gate);
        ps_saved(0, id, gate);
        reports[0][1].missed_checkpoint = id;
        report(ROLE_PS, 1);
        settle();
        assert_string_equal(chief.write.run.reason, named);
        assert_int_equal(chief.write.run.phase, RUN_RUNNING);
        assert_int_equal(chief.write.run.gate, gate);
        for (int i = 0; i < 3; i++) { written(); }
        if (withdrawn) {
            reports[0][1].leaving = 0;
            report(ROLE_PS, 1);
            settle();
            assert_int_equal(chief.write.run.gate, 0);
        } else {
            assert_true(chief.run.save_checkpoint > id);
            reach_gate(chief.run.save_checkpoint, gate);
            settle();
            assert_int_equal(chief.write.run.committed_step, gate);
        }
        assert_string_equal(chief.write.run.reason, "");
    }
}

/* A push that was sent before may still arrive, so no ps leaves before each has read of the
 * gate. */
static void every_ps_reads_of_the_gate_before_one_leaves(void **state)
{
    (void)state;
    const uint64_t gate = leave_without_workers();
    confirm(0, gate, false);
    confirm(1, gate, false);
    written();
    const uint64_t id = chief.run.save_checkpoint;
    for (uint32_t i = 0; i < 2; i++) { ps_saved(i, id, 10); }
    settle();
    written();
    assert_int_equal(chief.run.committed_step, 10);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    for (uint32_t i = 0; i < 2; i++) {
        assert_null(actions.write);
        reports[0][i].gate = 10;
        report(ROLE_PS, i);
    }
    assert_int_equal(actions.write->run.phase, RUN_PAUSED);
}

/* After an operator paused the run, a push may still arrive, too. */
static void paused_run_goes_to_the_gate_before_a_ps_leaves(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 10);
    ps_at(1, 1, 10);
    request(1, REQUEST_PAUSE);
    for (int i = 0; i < 3; i++) { written(); }
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    leaves(ROLE_PS, 0);
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_int_equal(actions.write->run.gate, 10);
    const uint64_t id = actions.write->run.save_checkpoint;
    written();
    reach_gate(id, 10);
    assert_int_equal(actions.write->run.phase, RUN_PAUSED);
    written();
    settle();
    assert_true(chief.run.pause_requested);
    assert_int_equal(chief.run.recovery.kind, RECOVERY_PS);
    assert_int_equal(chief.run.phase, RUN_PAUSED);
}

/* In async mode a ps may have applied updates beyond a checkpoint that was committed before the
 * operator paused the run, so it could never report that step as its gate. */
static void gate_of_a_paused_run_is_not_a_committed_step(void **state)
{
    (void)state;
    begin_running();
    request(1, REQUEST_CHECKPOINT);
    for (int i = 0; i < 3; i++) { written(); }
    const uint64_t id = chief.run.save_checkpoint, step = chief.run.save_step;
    for (uint32_t i = 0; i < 2; i++) {
        ps_at(i, 1, step);
        ps_saved(i, id, step);
    }
    settle();
    for (int i = 0; i < 3; i++) { written(); }
    assert_int_equal(chief.run.committed_step, step);
    request(2, REQUEST_PAUSE);
    for (int i = 0; i < 3; i++) { written(); }
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    leaves(ROLE_PS, 0);
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_int_equal(actions.write->run.gate, step + 1);
}

/* A ps that was killed beside a drain returns with its values: the run continues once, and the gate
 * is set again. */
static void warm_ps_continues_a_drained_run(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 10);
    ps_at(1, 1, 10);
    leaves(ROLE_PS, 0);
    for (int i = 0; i < 3; i++) { written(); }
    member(ROLE_PS, 1, 0, "session lost");
    settle();
    assert_int_equal(chief.write.run.phase, RUN_PAUSED);
    written();
    member(ROLE_PS, 1, 99, NULL);
    ps_at(1, 1, 10);
    settle();
    assert_int_equal(chief.write.run.phase, RUN_RUNNING);
    assert_int_equal(chief.write.run.recovery.kind, RECOVERY_NONE);
    for (int i = 0; i < 4; i++) { written(); }
    const uint64_t gate = chief.run.gate;
    assert_true(gate > 10);
    for (int i = 0; i < 5; i++) {
        report(ROLE_PS, 1);
        settle();
        assert_int_equal(chief.write.run.gate, gate);
        assert_int_equal(chief.run.phase, RUN_RUNNING);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ps_leaves_after_a_commit),
        TEST(late_gate_moves),
        TEST(new_chief_keeps_the_gate),
        TEST(new_chief_names_the_drained_host),
        TEST(workers_that_leave_get_no_slices),
        TEST(gate_without_workers_is_the_present_step),
        TEST(gate_without_workers_is_beyond_a_begun_step),
        TEST(gate_moves_beyond_a_step_that_begins),
        TEST(disk_that_cannot_save_the_gate_is_named),
        TEST(every_ps_reads_of_the_gate_before_one_leaves),
        TEST(paused_run_goes_to_the_gate_before_a_ps_leaves),
        TEST(gate_of_a_paused_run_is_not_a_committed_step),
        TEST(warm_ps_continues_a_drained_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
