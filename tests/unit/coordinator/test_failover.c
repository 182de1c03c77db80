/* The chief's own troubles: taking over in the middle of anything, writes whose answer is lost,
 * being deposed, and a ZooKeeper that forgot everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static const struct assignment all_to_0 = {.generation = 3, .slice_count = 4};

/* Of generation 3, which began at checkpoint 5, step 50; checkpoint 6 is ordered for step 70. */
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

static const struct chief_checkpoint checkpoint_5 = {.id = 5, .step = 50, .epoch = 4};

static void take_over(enum run_phase phase)
{
    struct run run = former_run(phase);
    begin();
    office(5, &run, &all_to_0, &checkpoint_5, 1);
}

static void everybody_reports(uint64_t generation, uint64_t step)
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

/* A new chief changes nothing of a run that runs: it says its epoch, and moves no slice. */
static void test_continue(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    assert_string_equal(said(), "running g3 from 5@50 until 100 save 6@70 eval 100 +elected");
    assert_true(actions.write->run.epoch == 5 && actions.write->run.elections == 5);
    assert_false(actions.write->assigns);
    written();
    everybody_reports(3, 60);
    settle();
    assert_string_equal(said(), "");
}

/* In the middle of saving: the order of the former chief is carried on and committed. */
static void test_mid_save(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    everybody_reports(3, 71);
    ps_saved(0, 6, 70);
    ps_saved(1, 6, 70);
    settle();
    assert_string_equal(said(), "running g3 from 5@50 until 100 save 7@100 eval 100 commit 6@70 "
                                "+checkpoint");
    assert_int_equal(actions.write->manifest.epoch, 5);
}

/* In the middle of loading: it waits for the same generation. */
static void test_mid_load(void **state)
{
    (void)state;
    take_over(RUN_LOADING);
    assert_string_equal(said(), "loading g3 from 5@50 until 100 eval 100 +elected");
    written();
    everybody_reports(3, 50);
    assert_string_equal(said(), "running g3 from 5@50 until 100 save 7@100 eval 100 +running");
}

/* How fast training is it learns from what it hears itself: the 39,950 steps before its time, taken
 * for steps of its first half second, would put the next checkpoint out of reach. */
static void test_rate_is_its_own(void **state)
{
    (void)state;
    struct run run = former_run(RUN_RUNNING);
    config.steps = run.until = run.evaluate_step = 100000;
    config.checkpoint_every_steps = 500;
    run.ending = false;
    run.save_step = 40600;
    begin();
    office(5, &run, &all_to_0, &checkpoint_5, 1);
    written();
    everybody_reports(3, 40000);
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

/* With `restore` all pause and load the committed checkpoint; the steps are counted. */
static void test_restore_policy(void **state)
{
    (void)state;
    config.restore_on_failover = true;
    take_over(RUN_RUNNING);
    assert_string_equal(said(),
                        "paused g3 from 5@50 until 100 save 6@70 eval 100 +elected +paused");
    written();
    everybody_reports(3, 65);
    assert_string_equal(said(), "loading g4 from 5@50 until 100 eval 100");
    written();
    ps_at(0, 4, 50);
    ps_at(1, 4, 50);
    assert_string_equal(said(), "running g4 from 5@50 until 100 save 7@100 eval 100 +recovered");
    assert_int_equal(actions.write->history[0].recovery, RECOVERY_CHIEF);
    assert_int_equal(actions.write->history[0].steps_redone, 15);
}

/* Everybody died at once: who takes over finds all ps empty, and all is restored. */
static void test_restart(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    member(ROLE_PS, 0, 0, NULL);
    assert_string_equal(said(), "paused g3 from 5@50 until 100 save 6@70 eval 100 +paused");
    written();
    everybody_reports(0, 0);
    assert_string_equal(said(), "loading g4 from 5@50 until 100 eval 100 +task-up");
    assert_int_equal(actions.write->run.recovery.kind, RECOVERY_RESTART);
}

/* An operator's program set /run back to forming: a new generation from the committed checkpoint.
 */
static void test_formed_again(void **state)
{
    (void)state;
    config.steps = 200;
    take_over(RUN_FORMING);
    written();
    everybody_reports(0, 0);
    if (actions.write == NULL) { written(); }
    assert_int_equal(chief.write.run.phase, RUN_LOADING);
    assert_true(chief.write.run.generation == 4 && chief.write.run.load_checkpoint == 5);
    assert_true(chief.write.run.until == 200 && chief.write.run.ending);
    assert_int_equal(chief.write.run.recovery.kind, RECOVERY_RESTART);
}

/* No answer, and /run is as before: the very same write again. */
static void test_unknown_not_applied(void **state)
{
    (void)state;
    struct run before = former_run(RUN_RUNNING);
    take_over(RUN_RUNNING);
    uint64_t revision = actions.write->run.revision;
    answer(CHIEF_WRITE_UNKNOWN, &before);
    assert_string_equal(said(), "");
    assert_int_equal(chief_deadline_ms(&chief), now_ms + CHIEF_RETRY_MS);
    pass(CHIEF_RETRY_MS);
    assert_string_equal(said(), "running g3 from 5@50 until 100 save 6@70 eval 100 +elected");
    assert_int_equal(actions.write->run.revision, revision);
}

/* No answer, and /run is what was written: it is done, and counted once. */
static void test_unknown_applied(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    struct run after = actions.write->run;
    answer(CHIEF_WRITE_UNKNOWN, &after);
    settle();
    assert_string_equal(said(), "");
    assert_int_equal(chief.run.elections, 5);
    assert_int_equal(chief.queue_count, 0);
}

/* The first try came through after all, the second found another version: the same. */
static void test_conflict_is_ours(void **state)
{
    (void)state;
    struct run before = former_run(RUN_RUNNING);
    take_over(RUN_RUNNING);
    struct run after = actions.write->run;
    answer(CHIEF_WRITE_UNKNOWN, &before);
    pass(CHIEF_RETRY_MS);
    answer(CHIEF_WRITE_CONFLICT, &after);
    settle();
    assert_string_equal(said(), "");
    assert_int_equal(chief.run.elections, 5);
}

/* Somebody without the office changed /run: what it says is where the chief goes on from. */
static void test_conflict_foreign(void **state)
{
    (void)state;
    struct run foreign = former_run(RUN_FORMING);
    foreign.revision = 0;
    take_over(RUN_RUNNING);
    answer(CHIEF_WRITE_CONFLICT, &foreign);
    assert_int_equal(actions.write->run.phase, RUN_FORMING);
    assert_int_equal(actions.write->run.epoch, 5);
}

/* A later chief: out. Whether /chief refused or /run tells. */
static void test_deposed(void **state)
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

/* A request that vanished is not deleted; the rest of the write stands. */
static void test_request_gone(void **state)
{
    (void)state;
    begin_running();
    request(8, REQUEST_CHECKPOINT);
    struct run before = chief.run;
    answer(CHIEF_WRITE_REQUEST_GONE, &before);
    pass(CHIEF_RETRY_MS);
    assert_true(actions.write != NULL && !actions.write->answers);
}

/* ZooKeeper was wiped: epoch, generation and ids go on above what the disks name, and the
 * checkpoint that every disk holds is the committed one. */
static void test_wiped(void **state)
{
    (void)state;
    begin();
    office(1, NULL, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        reports[0][i].disk_checkpoint = 8 + i;
        reports[0][i].disk_step = 80 + i;
        reports[0][i].disk_epoch = 6;
        reports[0][i].disk_generation = 4;
        report(ROLE_PS, i);
        if (i == 0) { assert_string_equal(said(), "raise to 7"); }
        if (i == 0) { written(); }
        assert_int_equal(chief.epoch, 7);
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
    }
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    if (actions.write == NULL) { answer(CHIEF_WRITE_OK, NULL); }
    assert_true(chief.write.run.generation == 5 && chief.write.run.epoch == 7);
    assert_true(chief.write.run.load_checkpoint == 8 && chief.write.run.load_step == 80);
    assert_int_equal(chief.write.run.last_checkpoint, 9);
    assert_int_equal(chief.write.run.elections, 1);
}

/* An answer to raising the epoch that was lost: tried again. */
static void test_raise_unknown(void **state)
{
    (void)state;
    begin();
    office(3, NULL, NULL, NULL, 0);
    written();
    member(ROLE_PS, 0, 10, NULL);
    if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
    reports[0][0].disk_epoch = 3;
    report(ROLE_PS, 0);
    assert_string_equal(said(), "raise to 4");
    answer(CHIEF_WRITE_UNKNOWN, NULL);
    pass(CHIEF_RETRY_MS);
    assert_string_equal(said(), "raise to 4");
    answer(CHIEF_WRITE_DEPOSED, NULL);
    assert_int_equal(actions.exit_code, TN_EXIT_DEPOSED);
}

/* A zombie's report, or one that came before its znode was seen, counts when and if it is there. */
static void test_early_report(void **state)
{
    (void)state;
    take_over(RUN_RUNNING);
    written();
    struct report early = {.task = {ROLE_PS, 0}, .incarnation = 10, .generation = 3, .step = 60};
    show((struct chief_event){.type = CHIEF_EV_REPORT, .report = &early});
    assert_false(chief.ps[0].reported);
    member(ROLE_PS, 0, 10, NULL);
    assert_true(chief.ps[0].reported && chief.ps[0].report.step == 60);
    early.incarnation = 9;
    show((struct chief_event){.type = CHIEF_EV_REPORT, .report = &early});
    assert_int_equal(chief.ps[0].report.incarnation, 10);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_continue),
        TEST(test_mid_save),
        TEST(test_rate_is_its_own),
        TEST(test_mid_load),
        TEST(test_restore_policy),
        TEST(test_restart),
        TEST(test_formed_again),
        TEST(test_unknown_applied),
        TEST(test_unknown_not_applied),
        TEST(test_conflict_is_ours),
        TEST(test_conflict_foreign),
        TEST(test_deposed),
        TEST(test_request_gone),
        TEST(test_wiped),
        TEST(test_raise_unknown),
        TEST(test_early_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
