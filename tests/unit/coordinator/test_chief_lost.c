/* The chief writes again, from memory, the znodes that another program deletes (C15), and decides
 * what to load when manifests or files are lost (C4). */
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

static void lose(unsigned lost)
{
    feed((struct chief_event){.type = CHIEF_EV_LOST, .lost = lost});
}

static void lost_run_is_written_again(void **state)
{
    (void)state;
    begin_running();
    assert_null(actions.write);
    lose(CHIEF_LOST_RUN);
    assert_non_null(actions.write);
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_int_equal(actions.write->run.generation, 1);
    written();
    settle();
    assert_null(actions.write);
}

static void lost_assignment_is_written_again(void **state)
{
    (void)state;
    begin_running();
    lose(CHIEF_LOST_ASSIGNMENT);
    assert_non_null(actions.write);
    assert_true(actions.write->assigns);
    for (uint32_t v = 0; v < 4; v++) { assert_int_equal(actions.write->assignment.worker[v], 0); }
}

static void lost_folders_are_created_again(void **state)
{
    (void)state;
    begin_running();
    lose(CHIEF_LOST_HISTORY | CHIEF_LOST_CHECKPOINTS | CHIEF_LOST_RUN);
    assert_int_equal(actions.restore, CHIEF_LOST_HISTORY | CHIEF_LOST_CHECKPOINTS);
}

/* The election restores /chief. */
static void chief_without_its_record_leaves(void **state)
{
    (void)state;
    begin_running();
    lose(CHIEF_LOST_CHIEF);
    assert_true(actions.exits);
    assert_int_equal(actions.exit_code, TN_EXIT_DEPOSED);
}

static void lost_manifest_is_published_again(void **state)
{
    (void)state;
    const struct chief_checkpoint known[] = {{.id = 4, .step = 40}, {.id = 5, .step = 50}};
    const uint64_t listed[] = {4};
    begin();
    elected(1, NULL, NULL, known, 2);
    feed((struct chief_event){.type = CHIEF_EV_LISTED, .listed = {.ids = listed, .count = 1}});
    assert_int_equal(actions.republish_count, 1);
    assert_int_equal(actions.republish[0], 5);
}

/* /run does not exist; this process remembers `run`. */
static void elected_without_run(const struct run *run)
{
    begin();
    feed((struct chief_event){
        .type = CHIEF_EV_ELECTED,
        .elected = {
            .epoch = 2, .cause = "session lost", .has_run = true, .run = run, .run_lost = true}});
}

/* The former chief may have written more than this process saw. */
static void lost_run_that_is_remembered_leaves_a_margin(void **state)
{
    (void)state;
    const struct run run = {.phase = RUN_RUNNING,
                            .epoch = 1,
                            .generation = 3,
                            .last_checkpoint = 7,
                            .until = 100,
                            .evaluate_step = STEP_NONE,
                            .evaluation = {.step = STEP_NONE}};
    elected_without_run(&run);
    assert_int_equal(actions.write->run.phase, RUN_PAUSED);
    assert_true(actions.write->run.generation > 3 + 1);
    assert_true(actions.write->run.last_checkpoint > 7 + 1);
}

/* The remembered run is older than the first checkpoint, whose manifest was deleted with /run. */
static void lost_run_loads_the_checkpoint_of_the_disks(void **state)
{
    (void)state;
    const struct run run = {.phase = RUN_RUNNING,
                            .epoch = 1,
                            .generation = 3,
                            .last_checkpoint = 1,
                            .until = 100,
                            .evaluate_step = STEP_NONE,
                            .evaluation = {.step = STEP_NONE}};
    elected_without_run(&run);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        reports[0][i].generation = 3;
        reports[0][i].disk_checkpoint = i == 1 ? 4 : 0;
        reports[0][i].disk_step = i == 1 ? 40 : 0;
        report(ROLE_PS, i);
        if (chief.writing && i == 0) { written(); }
    }
    settle();
    assert_int_equal(chief.write.run.phase, RUN_LOADING);
    assert_int_equal(chief.write.run.load_checkpoint, 4);
    assert_int_equal(chief.write.run.load_step, 40);
}

/* The order of a multiple is withdrawn, because its id is in use; the multiple is ordered again. */
static void withdrawn_multiple_is_due_again(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 20;
    begin_running();
    assert_int_equal(chief.run.save_step, 20);
    const uint64_t id = chief.run.save_checkpoint;
    for (uint32_t i = 0; i < 2; i++) { ps_at(i, 1, 20); }
    ps_saved(0, id, 20);
    ps_saved(1, id, 20);
    settle();
    assert_true(chief.writing && chief.write.commits);
    const struct run seen = chief.run;
    answer(CHIEF_WRITE_CHECKPOINT_EXISTS, &seen);
    settle();
    assert_int_equal(chief.write.run.save_step, 20);
    assert_true(chief.write.run.save_checkpoint > id);
}

/* Checkpoint 5 is being loaded as generation 4. */
static const struct run loading = {.phase = RUN_LOADING,
                                   .epoch = 1,
                                   .generation = 4,
                                   .load_checkpoint = 5,
                                   .load_step = 50,
                                   .committed_checkpoint = 5,
                                   .committed_step = 50,
                                   .until = 100,
                                   .evaluate_step = STEP_NONE,
                                   .evaluation = {.step = STEP_NONE}};

/* The manifest of the committed checkpoint was deleted while no node ran, and no disk has a copy. A
 * ps that restarts is asked for that checkpoint again; only an operator starts the run over. */
static void held_run_whose_manifest_is_gone_does_not_start_over(void **state)
{
    (void)state;
    const struct chief_checkpoint older = {.id = 3, .step = 30};
    struct run run = loading;
    run.phase = RUN_HELD;
    run.held_checkpoint = 5;
    run.held_step = 50;
    for (uint32_t known = 0; known < 2; known++) {
        begin();
        elected(2, &run, NULL, &older, known);
        written();
        for (uint32_t i = 0; i < 2; i++) {
            member(ROLE_PS, i, 10 + i, NULL);
            report(ROLE_PS, i);
            if (chief.writing && i == 0) { written(); }
        }
        settle();
        assert_int_equal(chief.write.run.phase, RUN_LOADING);
        assert_int_equal(chief.write.run.load_checkpoint, 5);
        assert_int_equal(chief.write.run.load_step, 50);
    }
}

/* Checkpoint 5 is being loaded, but ZooKeeper has lost all manifests. ps:0 has a copy of that of
 * checkpoint 4. Both loads fail, ps:1 lacks `missing`. */
static void fail_to_load(enum load_missing missing)
{
    begin();
    elected(2, &loading, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        reports[0][i].failed_load = 5;
        reports[0][i].failed_load_generation = 4;
    }
    reports[0][0].failed_load_missing = MISSING_MANIFEST;
    reports[0][0].disk_checkpoint = 4;
    reports[0][0].disk_step = 40;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "held g4 from 5@50 gate 100 +held");
    written();
    reports[0][1].failed_load_missing = missing;
    report(ROLE_PS, 1);
}

/* Another program deleted a manifest before a disk had a copy: the checkpoint before is loaded,
 * from the copy on a disk. */
static void checkpoint_whose_manifest_is_lost_is_given_up(void **state)
{
    (void)state;
    fail_to_load(MISSING_MANIFEST);
    assert_string_equal(asked(), "loading g5 from 4@40 gate 100 eval 100 +fallback");
    assert_true(run_is_unloadable(&actions.write->run, 5));
}

/* The files of ps:1 may be on another host. */
static void checkpoint_of_another_disk_is_not_given_up(void **state)
{
    (void)state;
    fail_to_load(MISSING_FILES);
    assert_int_equal(chief.write.run.phase, RUN_HELD);
}

static void load_fails(uint32_t ps, uint64_t checkpoint, uint64_t generation)
{
    reports[0][ps].failed_load = checkpoint;
    reports[0][ps].failed_load_generation = generation;
    report(ROLE_PS, ps);
}

/* ZooKeeper had lost the manifest of checkpoint 5. The ps, of which one has a copy, load it. */
static void loaded_checkpoint_of_a_disk_is_listed(void **state)
{
    (void)state;
    begin();
    elected(2, &loading, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        ps_at(i, 4, 50);
    }
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(chief.checkpoint_count, 1);
    assert_int_equal(chief.checkpoints[0].id, 5);
    assert_int_equal(chief.checkpoints[0].step, 50);
}

/* Checkpoint 5 is damaged, and ps:1 lacks its files of checkpoint 4. The chief that committed 5 may
 * have died before it deleted the manifest of 4. */
static void lack_the_one_before(uint32_t keep)
{
    const struct chief_checkpoint known[] = {
        {.id = 3, .step = 30}, {.id = 4, .step = 40}, {.id = 5, .step = 50}};
    struct run run = loading;
    run.load_checkpoint = run.committed_checkpoint = 4;
    run.load_step = run.committed_step = 40;
    run.unloadable[run.unloadable_count++] = 5;
    config.checkpoint_keep = keep;
    begin();
    elected(2, &run, NULL, known, 3);
    written();
    for (uint32_t i = 0; i < 2; i++) { member(ROLE_PS, i, 10 + i, NULL); }
    reports[0][0].generation = 4;
    report(ROLE_PS, 0);
    reports[0][1].failed_load_missing = MISSING_FILES;
    load_fails(1, 4, 4);
}

/* C4: the ps have deleted the files of 4 when 5 was committed. */
static void superseded_checkpoint_without_files_is_passed_over(void **state)
{
    (void)state;
    lack_the_one_before(1);
    assert_string_equal(asked(), "loading g5 from 3@30 gate 100 eval 100 +fallback");
}

/* The ps keep the files of 4, so they may be on another host. */
static void kept_checkpoint_without_files_holds_the_run(void **state)
{
    (void)state;
    lack_the_one_before(2);
    assert_int_equal(chief.write.run.phase, RUN_HELD);
    assert_int_equal(chief.write.run.held_checkpoint, 4);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lost_run_is_written_again),
        TEST(lost_assignment_is_written_again),
        TEST(lost_folders_are_created_again),
        TEST(chief_without_its_record_leaves),
        TEST(lost_manifest_is_published_again),
        TEST(lost_run_that_is_remembered_leaves_a_margin),
        TEST(lost_run_loads_the_checkpoint_of_the_disks),
        TEST(withdrawn_multiple_is_due_again),
        TEST(held_run_whose_manifest_is_gone_does_not_start_over),
        TEST(checkpoint_whose_manifest_is_lost_is_given_up),
        TEST(checkpoint_of_another_disk_is_not_given_up),
        TEST(loaded_checkpoint_of_a_disk_is_listed),
        TEST(superseded_checkpoint_without_files_is_passed_over),
        TEST(kept_checkpoint_without_files_holds_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
