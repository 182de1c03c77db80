/* The decisions of the chief: from forming to done, and what interrupts a run. */
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

/* The missing tasks are named; then load, run, save and evaluate the last step, done. */
static void first_run_goes_from_forming_to_done(void **state)
{
    (void)state;
    begin();
    elected(1, NULL, NULL, NULL, 0);
    assert_string_equal(asked(), "forming +elected");
    assert_string_equal(actions.write->run.reason,
                        "waiting for ps:0, ps:1, workers (0 of 1 ready)");
    assert_true(actions.write->run.epoch == 1 && actions.write->run.elections == 1);
    written();
    member(ROLE_PS, 0, 10, NULL);
    report(ROLE_PS, 0);
    member(ROLE_PS, 1, 11, NULL);
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    settle();
    assert_string_equal(asked(), "forming +task-up +task-up +task-up");
    assert_string_equal(actions.write->run.reason, "waiting for ps:1 (no report yet)");
    written();
    report(ROLE_PS, 1);
    assert_string_equal(asked(), "loading g1 from 0@0 until 100 eval 100");
    assert_true(actions.write->assigns && actions.write->assignment.worker[3] == 0);
    written();
    ps_at(0, 1, 0);
    assert_string_equal(asked(), "");
    ps_at(1, 1, 0);
    assert_string_equal(asked(), "running g1 from 0@0 until 100 save 1@100 eval 100 +running");
    written();
    ps_at(0, 1, 100);
    ps_at(1, 1, 100);
    assert_string_equal(asked(), "stopping g1 from 0@0 until 100 save 1@100 eval 100");
    written();
    evaluated(1, 100, 0.5);
    assert_string_equal(asked(), "stopping g1 from 0@0 until 100 save 1@100 +evaluated");
    ps_saved(0, 1, 100);
    ps_saved(1, 1, 100);
    written();
    assert_string_equal(asked(), "done g1 from 0@0 until 100 commit 1@100 +checkpoint +done");
    assert_true(actions.write->manifest.shard_count == 2 && actions.write->manifest.epoch == 1);
    written();
    assert_string_equal(asked(), "");
    pass(CHIEF_LINGER_MS - 1);
    assert_false(actions.exits);
    pass(1);
    assert_string_equal(asked(), "exit 0");
}

/* A ps is lost and reports again with its values: no step is redone. */
static void ps_that_kept_its_values_redoes_no_step(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 40);
    ps_at(1, 1, 41);
    member(ROLE_PS, 1, 0, "signal 9 (Killed)");
    assert_string_equal(asked(),
                        "paused g1 from 0@0 until 100 save 1@100 eval 100 +task-lost +paused");
    assert_true(actions.write->run.recovery.kind == RECOVERY_PS &&
                actions.write->run.recovery.step == 41);
    assert_string_equal(actions.write->run.recovery.cause, "signal 9 (Killed)");
    written();
    member(ROLE_PS, 1, 12, NULL);
    now_ms += 18;
    ps_at(1, 1, 41);
    assert_string_equal(asked(),
                        "running g1 from 0@0 until 100 save 1@100 eval 100 +task-up +recovered");
    const struct history_entry *entry = &actions.write->history[1];
    assert_true(entry->recovery == RECOVERY_PS && entry->task.index == 1);
    assert_true(entry->steps_redone == 0 && entry->took_ms == 18);
    assert_string_equal(entry->cause, "signal 9 (Killed)");
    assert_int_equal(actions.write->run.recovery.kind, RECOVERY_NONE);
}

/* A ps restarts empty: every ps loads the committed checkpoint, and the steps since are redone. */
static void ps_that_lost_its_values_makes_all_load(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 20;
    begin_running();
    ps_saved(0, 1, 20);
    ps_saved(1, 1, 20);
    assert_string_equal(asked(), "running g1 from 0@0 until 100 save 2@40 eval 100 commit 1@20 "
                                 "+checkpoint");
    written();
    ps_at(0, 1, 33);
    member(ROLE_PS, 0, 15, "signal 11 (Segmentation fault)");
    written();
    assert_string_equal(asked(), "");
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "loading g2 from 1@20 until 100 eval 100");
    assert_true(actions.write->assigns && actions.write->assignment.generation == 2);
    written();
    ps_at(0, 2, 20);
    ps_at(1, 2, 20);
    assert_string_equal(asked(), "running g2 from 1@20 until 100 save 3@40 eval 100 +recovered");
    assert_int_equal(actions.write->history[0].steps_redone, 13);
    assert_int_equal(actions.write->history[0].checkpoint, 1);
}

/* A generation that cannot load falls back to the previous checkpoint, then to the initial values.
 */
static void damaged_checkpoint_falls_back_to_the_previous(void **state)
{
    (void)state;
    const struct chief_checkpoint list[] = {{.id = 5, .step = 50, .epoch = 1},
                                            {.id = 3, .step = 30, .epoch = 1}};
    const struct run run = {.phase = RUN_LOADING,
                            .epoch = 1,
                            .generation = 4,
                            .load_checkpoint = 5,
                            .load_step = 50,
                            .committed_checkpoint = 5,
                            .committed_step = 50,
                            .last_checkpoint = 5,
                            .until = 100,
                            .ending = true,
                            .evaluate_step = 100,
                            .evaluation = {.step = STEP_NONE}};
    begin();
    elected(2, &run, NULL, list, 2);
    written();
    member(ROLE_PS, 0, 10, NULL);
    member(ROLE_PS, 1, 11, NULL);
    report(ROLE_PS, 0);
    reports[0][1].failed_load = 5;
    reports[0][1].failed_load_generation = 4;
    report(ROLE_PS, 1);
    assert_string_equal(asked(), "loading g5 from 3@30 until 100 eval 100 +fallback");
    assert_string_equal(actions.write->history[0].cause,
                        "ps:1 cannot load it; loading checkpoint 3");
    assert_int_equal(actions.write->run.committed_checkpoint, 3);
    written();
    reports[0][0].failed_load = 3;
    reports[0][0].failed_load_generation = 5;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "loading g6 from 0@0 until 100 eval 100 +fallback");
    written();
    reports[0][0].failed_load = 0;
    reports[0][0].failed_load_generation = 6;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "failed g6 from 0@0 until 100 eval 100 +failed");
    written();
    pass(CHIEF_LINGER_MS);
    assert_string_equal(asked(), "exit 1");
}

/* A disk that fails repeatedly does not increase the lead: checkpoints would move out of reach. */
static void failing_disk_does_not_move_orders_ahead(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 10;
    begin_running();
    for (uint64_t id = 1; id < 6; id++) {
        assert_int_equal(chief.run.save_checkpoint, id);
        ps_at(0, 1, chief.run.save_step);
        ps_saved(1, id, chief.run.save_step);
        reports[0][0].missed_checkpoint = id;
        report(ROLE_PS, 0);
        pass(CHIEF_SOFT_MS);
        written();
    }
    assert_int_equal(chief.boost, 0);
}

/* A checkpoint that a ps learned of too late is dropped and ordered again, further ahead. */
static void missed_checkpoint_is_ordered_again_further_ahead(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 20;
    begin_running();
    assert_int_equal(chief.run.save_step, 20);
    ps_at(0, 1, 21);
    reports[0][0].missed_checkpoint = reports[0][0].late_checkpoint = 1;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "running g1 from 0@0 until 100 save 2@40 eval 100");
    ps_saved(1, 1, 20);
    written();
    assert_string_equal(asked(), "");
    assert_true(chief.boost > 0);
}

/* A disk that cannot save the last checkpoint delays the end, and /run names its ps. */
static void last_checkpoint_is_retried_and_its_ps_named(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 100);
    ps_at(1, 1, 100);
    written();
    reports[0][1].missed_checkpoint = 1;
    report(ROLE_PS, 1);
    pass(CHIEF_SOFT_MS);
    assert_int_equal(actions.write->run.save_checkpoint, 2);
    assert_non_null(strstr(actions.write->run.reason, "ps:1 cannot save"));
    written();
    evaluated(1, 100, 0.5);
    answer(CHIEF_WRITE_OK, NULL);
    ps_saved(0, 2, 100);
    ps_saved(1, 2, 100);
    answer(CHIEF_WRITE_OK, NULL);
    assert_int_equal(chief.run.phase, RUN_DONE);
    assert_string_equal(chief.run.reason, "");
}

/* `keep` checkpoints stay; older ones are deleted once a newer one is committed. */
static void old_checkpoints_are_deleted_after_a_commit(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 20;
    begin_running();
    for (uint64_t id = 1; id <= 3; id++) {
        ps_at(0, 1, 20 * id);
        ps_saved(0, id, 20 * id);
        ps_saved(1, id, 20 * id);
        if (actions.write == NULL) { settle(); }
        assert_true(actions.write != NULL && actions.write->commits);
        written();
        assert_int_equal(actions.delete_count, id == 3);
    }
    assert_int_equal(actions.deletes[0], 1);
}

/* A checkpoint by time is ordered a little ahead of the fastest ps, and only after a new step. */
static void checkpoint_by_time_needs_progress(void **state)
{
    (void)state;
    config.checkpoint_every_ms = 60000;
    begin_running();
    assert_int_equal(chief.run.save_checkpoint, 0);
    pass(60000);
    assert_string_equal(asked(), "");
    ps_at(0, 1, 30);
    assert_string_equal(asked(), "running g1 from 0@0 until 100 save 1@32 eval 100");
}

/* With a target no node passes an evaluation before its result; the run ends where it is reached.
 */
static void target_gates_each_evaluation(void **state)
{
    (void)state;
    config.target_accuracy = 0.8;
    config.evaluate_every = 30;
    begin_running();
    assert_true(chief.run.until == 30 && !chief.run.ending && chief.run.evaluate_step == 30);
    ps_at(0, 1, 30);
    ps_at(1, 1, 30);
    evaluated(1, 30, 0.7);
    assert_string_equal(asked(), "running g1 from 0@0 gate 60 eval 60 +evaluated");
    written();
    ps_at(0, 1, 60);
    ps_at(1, 1, 60);
    evaluated(1, 60, 0.8);
    assert_string_equal(asked(), "stopping g1 from 0@0 until 60 save 1@60 +evaluated");
    written();
    ps_saved(0, 1, 60);
    ps_saved(1, 1, 60);
    assert_string_equal(asked(), "done g1 from 0@0 until 60 commit 1@60 +checkpoint +done");
}

/* After a late result the next evaluation is ordered for a step that is still ahead. */
static void evaluation_is_not_ordered_for_a_past_step(void **state)
{
    (void)state;
    config.evaluate_every = 10;
    begin_running();
    assert_int_equal(chief.run.evaluate_step, 10);
    ps_at(0, 1, 34);
    evaluated(1, 10, 0.1);
    assert_string_equal(asked(), "running g1 from 0@0 until 100 save 1@100 eval 40 +evaluated");
    written();
    evaluated(1, 39, 0.1);
    settle();
    assert_string_equal(asked(), "");
}

/* An operator's pause also holds after a load; resuming records the recovery. */
static void operator_pauses_and_resumes(void **state)
{
    (void)state;
    begin_running();
    request(8, REQUEST_PAUSE);
    assert_string_equal(asked(),
                        "paused g1 from 0@0 until 100 save 1@100 eval 100 -request 8 +paused");
    assert_string_equal(actions.write->run.reason, "paused by an operator");
    written();
    member(ROLE_PS, 0, 30, "signal 9 (Killed)");
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "loading g2 from 0@0 until 100 eval 100 +task-lost +task-up");
    written();
    ps_at(0, 2, 0);
    ps_at(1, 2, 0);
    settle();
    assert_string_equal(asked(), "loading g2 from 0@0 until 100 eval 100");
    written();
    request(9, REQUEST_RESUME);
    assert_string_equal(asked(), "running g2 from 0@0 until 100 save 2@100 eval 100 -request 9 "
                                 "+recovered");
    assert_int_equal(actions.write->history[0].recovery, RECOVERY_OPERATOR);
}

/* A stop sets an end a little ahead; a ps that had passed it moves the end. */
static void operator_stop_ends_a_little_ahead(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 40);
    request(8, REQUEST_STOP);
    assert_string_equal(asked(), "running g1 from 0@0 until 47 save 2@47 eval 47 -request 8");
    written();
    ps_at(0, 1, 50);
    assert_string_equal(asked(), "running g1 from 0@0 until 64 save 2@47 eval 64");
    reports[0][0].missed_checkpoint = 2;
    report(ROLE_PS, 0);
    written();
    settle();
    written();
    ps_at(0, 1, 64);
    ps_at(1, 1, 64);
    assert_string_equal(asked(), "stopping g1 from 0@0 until 64 save 3@64 eval 64");
}

/* A stop while forming fails the run. */
static void stop_before_training_fails_the_run(void **state)
{
    (void)state;
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    request(8, REQUEST_STOP);
    assert_string_equal(asked(), "failed -request 8 +failed");
}

/* The request is deleted first, so that the successor does not resign as well. */
static void chief_resigns_after_the_request_is_deleted(void **state)
{
    (void)state;
    begin_running();
    request(8, REQUEST_RESIGN);
    assert_string_equal(asked(), "running g1 from 0@0 until 100 save 1@100 eval 100 -request 8");
    written();
    assert_string_equal(asked(), "resign");
}

/* The slices of a lost worker are assigned to the others at once. */
static void slices_of_a_lost_worker_move_at_once(void **state)
{
    (void)state;
    begin_running();
    member(ROLE_WORKER, 1, 21, NULL);
    written();
    worker_ready(1);
    assert_true(actions.write->assigns && actions.write->assignment.worker[3] == 1);
    written();
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    assert_true(actions.write->assigns && actions.write->assignment.worker[0] == 1);
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_run_goes_from_forming_to_done),
        TEST(ps_that_kept_its_values_redoes_no_step),
        TEST(ps_that_lost_its_values_makes_all_load),
        TEST(damaged_checkpoint_falls_back_to_the_previous),
        TEST(missed_checkpoint_is_ordered_again_further_ahead),
        TEST(failing_disk_does_not_move_orders_ahead),
        TEST(last_checkpoint_is_retried_and_its_ps_named),
        TEST(old_checkpoints_are_deleted_after_a_commit),
        TEST(checkpoint_by_time_needs_progress),
        TEST(target_gates_each_evaluation),
        TEST(evaluation_is_not_ordered_for_a_past_step),
        TEST(operator_pauses_and_resumes),
        TEST(operator_stop_ends_a_little_ahead),
        TEST(stop_before_training_fails_the_run),
        TEST(chief_resigns_after_the_request_is_deleted),
        TEST(slices_of_a_lost_worker_move_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
