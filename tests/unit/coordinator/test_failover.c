/* A new chief takes over at any point of a run; writes whose answer is lost, deposed chiefs, and a
 * wiped ZooKeeper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static const struct assignment all_to_0 = {.generation = 3, .slice_count = 4};

/* Generation 3 began at checkpoint 5, step 50; while running, checkpoint 6 is ordered for step
 * 70. */
static struct run former_run(enum run_phase phase)
{
    return (struct run){.phase = phase,
                        .epoch = 4,
                        .revision = 9,
                        .generation = 3,
                        .load_checkpoint = 5,
                        .load_step = 50,
                        .committed_checkpoint = 5,
                        .committed_step = 50,
                        .last_checkpoint = 6,
                        .save_checkpoint = phase == RUN_RUNNING ? 6 : 0,
                        .save_step = phase == RUN_RUNNING ? 70 : 0,
                        .until = 100,
                        .ending = true,
                        .evaluate_step = 100,
                        .evaluation = {.step = STEP_NONE},
                        .elections = 4};
}

static const struct chief_checkpoint checkpoint_5 = {.id = 5, .step = 50};

static void take_over(enum run_phase phase)
{
    struct run run = former_run(phase);
    begin();
    elected(5, &run, &all_to_0, &checkpoint_5, 1);
}

static void all_report(uint64_t generation, uint64_t step)
{
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    member(ROLE_WORKER, 1, 0, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        ps_at(i, generation, step);
    }
}

static int setup(void **state)
{
    (void)state;
    configure();
    return 0;
}

/* A new chief only writes its epoch; it moves no slice. */
static void new_chief_leaves_a_running_run_alone(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    assert_string_equal(asked(), "running g3 from 5@50 until 100 save 6@70 eval 100 +elected");
    assert_true(actions.write->run.epoch == 5 && actions.write->run.elections == 5);
    assert_false(actions.write->assigns);
    written();
    all_report(3, 60);
    settle();
    assert_string_equal(asked(), "");
}

/* The former chief's order stands, and the checkpoint is committed. */
static void new_chief_commits_the_ordered_checkpoint(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    all_report(3, 71);
    ps_saved(0, 6, 70);
    ps_saved(1, 6, 70);
    settle();
    assert_string_equal(asked(), "running g3 from 5@50 until 100 save 7@100 eval 100 commit 6@70 "
                                 "+checkpoint");
    assert_int_equal(actions.write->manifest.epoch, 5);
}

/* A load in progress continues in the same generation. */
static void new_chief_waits_for_the_same_generation(void **state)
{
    (void)state;
    take_over(RUN_LOADING);
    assert_string_equal(asked(), "loading g3 from 5@50 until 100 eval 100 +elected");
    written();
    all_report(3, 50);
    assert_string_equal(asked(), "running g3 from 5@50 until 100 save 7@100 eval 100 +running");
}

/* The 39,950 steps made before its term do not count as steps of its first half second, which would
 * put the next checkpoint out of reach. */
static void new_chief_measures_the_rate_itself(void **state)
{
    (void)state;
    struct run run = former_run(RUN_RUNNING);
    config.steps = run.until = run.evaluate_step = 100000;
    config.checkpoint_every_steps = 500;
    run.ending = false;
    run.save_step = 40600;
    run.save_due = 41000;
    begin();
    elected(5, &run, &all_to_0, &checkpoint_5, 1);
    written();
    all_report(3, 40000);
    for (uint64_t step = 40100; step <= 40600; step += 100) {
        pass(100);
        for (uint32_t i = 0; i < 2; i++) { ps_at(i, 3, step); }
        if (chief.op != 0) { written(); }
    }
    for (uint32_t i = 0; i < 2; i++) { ps_saved(i, 6, 40600); }
    settle();
    if (chief.op != 0) { written(); }
    assert_int_equal(chief.run.committed_step, 40600);
    assert_in_range(chief.run.save_step, 41000, 41500);
}

/* With `restore` every ps pauses and loads the committed checkpoint; the redone steps are
 * counted. */
static void restore_policy_pauses_and_loads(void **state)
{
    (void)state;
    config.restore_on_failover = true;
    take_over(RUN_RUNNING);
    assert_string_equal(asked(),
                        "paused g3 from 5@50 until 100 save 6@70 eval 100 +elected +paused");
    written();
    all_report(3, 65);
    assert_string_equal(asked(), "loading g4 from 5@50 until 100 eval 100");
    written();
    ps_at(0, 4, 50);
    ps_at(1, 4, 50);
    assert_string_equal(asked(), "running g4 from 5@50 until 100 save 7@100 eval 100 +recovered");
    assert_int_equal(actions.write->history[0].recovery, RECOVERY_CHIEF);
    assert_int_equal(actions.write->history[0].steps_redone, 15);
}

/* All processes died at once: the new chief finds every ps empty, and restores. */
static void empty_ps_after_a_failover_are_a_restart(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    member(ROLE_PS, 0, 0, NULL);
    assert_string_equal(asked(), "paused g3 from 5@50 until 100 save 6@70 eval 100 +paused");
    written();
    all_report(0, 0);
    assert_string_equal(asked(), "loading g4 from 5@50 until 100 eval 100 +task-up");
    assert_int_equal(actions.write->run.recovery.kind, RECOVERY_RESTART);
}

/* An operator's program set /run back to forming: a new generation loads the committed
 * checkpoint. */
static void reformed_run_loads_the_committed_checkpoint(void **state)
{
    (void)state;
    config.steps = 200;
    take_over(RUN_FORMING);
    written();
    all_report(0, 0);
    if (actions.write == NULL) { written(); }
    assert_int_equal(chief.write.run.phase, RUN_LOADING);
    assert_true(chief.write.run.generation == 4 && chief.write.run.load_checkpoint == 5);
    assert_true(chief.write.run.until == 200 && chief.write.run.ending);
    assert_int_equal(chief.write.run.recovery.kind, RECOVERY_RESTART);
}

/* No answer, and /run is unchanged: the same write is sent again. */
static void lost_write_is_repeated_unchanged(void **state)
{
    (void)state;
    struct run before = former_run(RUN_RUNNING);
    take_over(RUN_RUNNING);
    uint64_t revision = actions.write->run.revision;
    answer(CHIEF_WRITE_UNKNOWN, &before);
    assert_string_equal(asked(), "");
    assert_int_equal(chief_deadline_ms(&chief), now_ms + CHIEF_RETRY_MS);
    pass(CHIEF_RETRY_MS);
    assert_string_equal(asked(), "running g3 from 5@50 until 100 save 6@70 eval 100 +elected");
    assert_int_equal(actions.write->run.revision, revision);
}

/* No answer, and /run has the new contents: the write is done, and counts once. */
static void applied_write_without_answer_is_done(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    struct run after = actions.write->run;
    answer(CHIEF_WRITE_UNKNOWN, &after);
    settle();
    assert_string_equal(asked(), "");
    assert_int_equal(chief.run.elections, 5);
    assert_int_equal(chief.queue_count, 0);
}

/* The first attempt was applied after all, so the second one finds another version. */
static void conflict_with_our_own_write_is_success(void **state)
{
    (void)state;
    struct run before = former_run(RUN_RUNNING);
    take_over(RUN_RUNNING);
    struct run after = actions.write->run;
    answer(CHIEF_WRITE_UNKNOWN, &before);
    pass(CHIEF_RETRY_MS);
    answer(CHIEF_WRITE_CONFLICT, &after);
    settle();
    assert_string_equal(asked(), "");
    assert_int_equal(chief.run.elections, 5);
}

/* Another program changed /run: the chief continues from its contents. */
static void foreign_write_to_run_is_adopted(void **state)
{
    (void)state;
    struct run foreign = former_run(RUN_FORMING);
    foreign.revision = 0;
    take_over(RUN_RUNNING);
    answer(CHIEF_WRITE_CONFLICT, &foreign);
    assert_int_equal(actions.write->run.phase, RUN_FORMING);
    assert_int_equal(actions.write->run.epoch, 5);
}

/* The chief exits when /chief refuses its write, and when /run has a higher epoch. */
static void deposed_chief_exits(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    answer(CHIEF_WRITE_DEPOSED, NULL);
    assert_int_equal(actions.exit_code, TN_EXIT_DEPOSED);
    take_over(RUN_RUNNING);
    struct run later = former_run(RUN_RUNNING);
    later.epoch = 6;
    answer(CHIEF_WRITE_UNKNOWN, &later);
    assert_true(actions.exits && actions.exit_code == TN_EXIT_DEPOSED);
}

/* Every ps reports the last step, but one was only passing it: it had not read the order to
 * stop. */
static void end_moves_when_a_ps_has_passed_it(void **state)
{
    (void)state;
    begin_running();
    request(8, REQUEST_STOP);
    written();
    const uint64_t end = chief.run.until, generation = chief.run.generation;
    for (uint32_t i = 0; i < config.ps; i++) { ps_at(i, generation, end); }
    written();
    assert_int_equal(chief.run.phase, RUN_STOPPING);
    ps_at(0, generation, end + 2);
    written();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    const uint64_t moved = chief.run.until;
    assert_true(chief.run.ending && moved >= end + 2);
    reports[0][0].missed_checkpoint = reports[0][0].late_checkpoint = chief.run.save_checkpoint;
    for (uint32_t i = 0; i < config.ps; i++) { ps_at(i, generation, moved); }
    written();
    assert_int_equal(chief.run.phase, RUN_STOPPING);
    assert_int_equal(chief.run.save_step, moved);
}

/* A request whose sender withdrew it just before the write has no effect, and the next request is
 * granted. */
static void withdrawn_request_has_no_effect(void **state)
{
    (void)state;
    begin_running();
    struct run before = chief.run;
    request(8, REQUEST_STOP);
    assert_true(actions.write->answers && actions.write->run.until < before.until);
    answer(CHIEF_WRITE_REQUEST_GONE, &before);
    pass(CHIEF_RETRY_MS);
    assert_null(actions.write);
    assert_int_equal(chief.run.until, before.until);
    request(9, REQUEST_PAUSE);
    assert_true(actions.write->answers && actions.write->run.pause_requested);
    assert_int_equal(actions.write->run.until, before.until);
}

/* The same when another program changed /run meanwhile: the chief must not take the next request
 * for the one that was withdrawn. */
static void withdrawn_request_is_forgotten_with_a_foreign_run(void **state)
{
    (void)state;
    begin_running();
    request(8, REQUEST_STOP);
    struct run foreign = chief.run;
    foreign.revision += 100;
    answer(CHIEF_WRITE_REQUEST_GONE, &foreign);
    assert_false(chief.request.waits);
    assert_true(actions.write == NULL || !actions.write->answers);
}

/* Epoch, generation and ids continue above those on the disks, and the checkpoint that every disk
 * holds is the committed one. */
static void wiped_zookeeper_starts_above_the_disks(void **state)
{
    (void)state;
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        reports[0][i].disk_checkpoint = 8 + i;
        reports[0][i].disk_last_checkpoint = 11 - i;
        reports[0][i].disk_step = 80 + i;
        reports[0][i].disk_epoch = 6;
        reports[0][i].disk_generation = 4;
        report(ROLE_PS, i);
        if (i == 0) { assert_string_equal(asked(), "raise to 7"); }
        if (i == 0) { written(); }
        assert_int_equal(chief.epoch, 7);
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
    }
    member(ROLE_WORKER, 0, 20, NULL);
    reports[1][0].generation = 6; /* It survived, but no ps of that generation did. */
    worker_ready(0);
    if (actions.write == NULL) { answer(CHIEF_WRITE_OK, NULL); }
    assert_true(chief.write.run.generation == 7 && chief.write.run.epoch == 7);
    assert_true(chief.write.run.load_checkpoint == 9 && chief.write.run.load_step == 81);
    assert_int_equal(chief.write.run.last_checkpoint, 11); /* 11 was never committed. */
    assert_int_equal(chief.write.run.elections, 1);
}

/* Raising the epoch is repeated when its answer was lost. */
static void raising_the_epoch_is_repeated(void **state)
{
    (void)state;
    begin();
    elected(3, NULL, NULL, NULL, 0);
    written();
    member(ROLE_PS, 0, 10, NULL);
    if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
    reports[0][0].disk_epoch = 3;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "raise to 4");
    answer(CHIEF_WRITE_UNKNOWN, NULL);
    pass(CHIEF_RETRY_MS);
    assert_string_equal(asked(), "raise to 4");
    answer(CHIEF_WRITE_DEPOSED, NULL);
    assert_int_equal(actions.exit_code, TN_EXIT_DEPOSED);
}

/* A report counts only once its incarnation is a member; one of a former incarnation never does. */
static void early_report_counts_once_its_member_is_seen(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    struct report early = {.task = {ROLE_PS, 0}, .incarnation = 10, .generation = 3, .step = 60};
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = &early});
    assert_false(chief.ps[0].reported);
    member(ROLE_PS, 0, 10, NULL);
    assert_true(chief.ps[0].reported && chief.ps[0].report.step == 60);
    early.incarnation = 9;
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = &early});
    assert_int_equal(chief.ps[0].report.incarnation, 10);
}

/* ps 0 (10) dies; its successor (12) reports before its znode is seen, and is acknowledged. Then
 * late reports arrive: of 10, of a process that died before this chief was elected (9), and an
 * older one of the successor. */
static void late_report_does_not_replace_an_early_one(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    member(ROLE_PS, 0, 10, NULL);
    member(ROLE_PS, 0, 0, "killed");
    struct report early = {
        .task = {ROLE_PS, 0}, .incarnation = 12, .sequence = 3, .disk_checkpoint = 5};
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = &early});
    struct report late[] = {early, early, early};
    late[0].incarnation = 10;
    late[1].incarnation = 9;
    late[2].sequence = 2;
    late[2].disk_checkpoint = 0;
    for (int i = 0; i < 3; i++) {
        feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = &late[i]});
    }
    member(ROLE_PS, 0, 12, NULL);
    assert_true(chief.ps[0].reported);
    assert_int_equal(chief.ps[0].report.sequence, 3);
    assert_int_equal(chief.ps[0].report.disk_checkpoint, 5);
}

/* The ps that died with the chief reports nothing: the step is the last one that /run records. */
static void pause_shows_the_last_recorded_step(void **state)
{
    (void)state;
    struct run run = former_run(RUN_RUNNING);
    run.load_checkpoint = run.load_step = 0;
    begin();
    elected(5, &run, &all_to_0, &checkpoint_5, 1);
    written();
    member(ROLE_PS, 0, 0, "killed");
    assert_string_equal(asked(), "paused g3 from 0@0 until 100 save 6@70 eval 100 +paused");
    assert_int_equal(actions.write->history[0].step, 50);
    assert_int_equal(actions.write->run.recovery.step, 50);
    run.evaluation.step = 60;
    begin();
    elected(5, &run, &all_to_0, &checkpoint_5, 1);
    written();
    member(ROLE_PS, 0, 0, "killed");
    assert_int_equal(actions.write->run.recovery.step, 60);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_chief_leaves_a_running_run_alone),
        TEST(new_chief_commits_the_ordered_checkpoint),
        TEST(new_chief_measures_the_rate_itself),
        TEST(new_chief_waits_for_the_same_generation),
        TEST(pause_shows_the_last_recorded_step),
        TEST(restore_policy_pauses_and_loads),
        TEST(empty_ps_after_a_failover_are_a_restart),
        TEST(reformed_run_loads_the_committed_checkpoint),
        TEST(applied_write_without_answer_is_done),
        TEST(lost_write_is_repeated_unchanged),
        TEST(conflict_with_our_own_write_is_success),
        TEST(foreign_write_to_run_is_adopted),
        TEST(deposed_chief_exits),
        TEST(end_moves_when_a_ps_has_passed_it),
        TEST(withdrawn_request_has_no_effect),
        TEST(withdrawn_request_is_forgotten_with_a_foreign_run),
        TEST(wiped_zookeeper_starts_above_the_disks),
        TEST(raising_the_epoch_is_repeated),
        TEST(early_report_counts_once_its_member_is_seen),
        TEST(late_report_does_not_replace_an_early_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
