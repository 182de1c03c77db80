/* A chief without ps: one worker that holds the values is enough (section M, C21). */
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
    config.strategy = STRATEGY_MIRROR;
    config.ps = 0;
    config.checkpoint_every_steps = 20;
    config.manifest.shard_count = 1;
    config.manifest.shards[0] = (struct manifest_shard){.count = 64};
    return 0;
}

/* Both workers hold generation 1 at step 0, and each owns two of four slices. */
static void begin_replicas(void)
{
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_WORKER, i, 20 + i, NULL);
        worker_ready(i);
    }
    write_all();
    assert_int_equal(chief.run.phase, RUN_LOADING);
    holds(0, 1, 0);
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    holds(1, 1, 0);
    write_all();
}

/* Only workers that reported the values are named (M2). */
static void slices_go_to_holders(void **state)
{
    (void)state;
    begin_replicas();
    assert_int_equal(owned_by(0), 2);
    assert_int_equal(owned_by(1), 2);
    holds(1, 0, 0);
    write_all();
    assert_int_equal(owned_by(0), 4);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
}

/* With a survivor nothing pauses; the history has the loss as a recovery without lost steps. */
static void a_survivor_trains_on(void **state)
{
    (void)state;
    begin_replicas();
    holds(0, 1, 10);
    holds(1, 1, 11);
    member(ROLE_WORKER, 1, 0, "signal 9 (Killed)");
    assert_non_null(actions.write);
    const struct history_entry *entry = NULL;
    for (uint32_t i = 0; i < actions.write->history_count; i++) {
        if (actions.write->history[i].kind == HISTORY_RECOVERED) {
            entry = &actions.write->history[i];
        }
    }
    assert_non_null(entry);
    assert_int_equal(entry->recovery, RECOVERY_WORKER);
    assert_int_equal(entry->task.index, 1);
    assert_int_equal(entry->steps_redone, 0);
    assert_string_equal(entry->cause, "signal 9 (Killed)");
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_int_equal(actions.write->run.generation, 1);
    write_all();
    assert_int_equal(owned_by(0), 4);
    pass(1000);
    assert_null(actions.write);
}

/* Without one the run pauses, counts, and loads only when all registered workers have read of the
 * pause (M8). */
static void a_load_waits_for_the_count(void **state)
{
    (void)state;
    begin_replicas();
    holds(0, 1, 10);
    holds(1, 0, 0);
    write_all();
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    assert_int_equal(actions.write->run.phase, RUN_PAUSED);
    written();
    pass(1000);
    write_all();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    const uint64_t paused = chief.run.generation;
    holds(1, 0, 0);
    write_all();
    assert_int_equal(chief.run.phase, RUN_LOADING);
    assert_int_equal(chief.run.generation, paused + 1);
    holds(1, paused + 1, 0);
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_int_equal(actions.write->history[0].recovery, RECOVERY_WORKER);
    assert_int_equal(actions.write->history[0].steps_redone, 10);
}

/* A worker that got the values on its way to the pause is found by the count. */
static void the_count_finds_a_holder(void **state)
{
    (void)state;
    begin_replicas();
    holds(1, 0, 0);
    write_all();
    holds(0, 1, 12);
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    assert_int_equal(actions.write->run.phase, RUN_PAUSED);
    written();
    holds(1, 1, 12);
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_int_equal(actions.write->run.generation, 1);
    assert_int_equal(actions.write->history[0].kind, HISTORY_RECOVERED);
    assert_int_equal(actions.write->history[0].recovery, RECOVERY_WORKER);
    assert_int_equal(actions.write->history[0].steps_redone, 0);
}

/* The order names its writer, which alone decides whether it is saved (M10). */
static void the_order_names_its_writer(void **state)
{
    (void)state;
    begin_replicas();
    assert_int_equal(chief.run.save_step, 20);
    assert_int_equal(chief.run.save_writer, 0);
    const uint64_t id = chief.run.save_checkpoint;
    struct report *it = &reports[1][1];
    it->saved_checkpoint = id;
    it->saved_step = 20;
    it->saved_bytes = 64;
    holds(1, 1, 20);
    assert_null(actions.write);
    it = &reports[1][0];
    it->saved_checkpoint = id;
    it->saved_step = 20;
    it->saved_bytes = 77;
    holds(0, 1, 20);
    write_all();
    assert_int_equal(chief.run.committed_checkpoint, id);
    assert_int_equal(chief.checkpoints[0].step, 20);
}

/* An order whose writer died is withdrawn, and counted as skipped. */
static void a_lost_writer_skips_its_checkpoint(void **state)
{
    (void)state;
    begin_replicas();
    const uint64_t id = chief.run.save_checkpoint;
    holds(0, 1, 19);
    holds(1, 1, 19);
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    write_all();
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_int_equal(chief.run.skipped_checkpoints, 1);
    assert_true(chief.run.save_checkpoint > id);
    assert_int_equal(chief.run.save_step, 40);
    assert_int_equal(chief.run.save_writer, 1);
}

/* All registered workers must have failed; a checkpoint that is nowhere holds the run. */
static void a_load_fails_when_all_have_failed(void **state)
{
    (void)state;
    const struct chief_checkpoint checkpoint = {.id = 4, .step = 40};
    struct run run = {.phase = RUN_FORMING,
                      .evaluate_step = STEP_NONE,
                      .evaluation = {.step = STEP_NONE},
                      .committed_checkpoint = 4,
                      .committed_step = 40,
                      .last_checkpoint = 4,
                      .generation = 3};
    begin();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_WORKER, i, 20 + i, NULL);
        worker_ready(i);
    }
    elected(2, &run, NULL, &checkpoint, 1);
    write_all();
    assert_int_equal(chief.run.phase, RUN_LOADING);
    const uint64_t generation = chief.run.generation;
    for (uint32_t i = 0; i < 2; i++) {
        reports[1][i].failed_load = 4;
        reports[1][i].failed_load_generation = generation;
        reports[1][i].failed_load_missing = 1;
        assert_int_equal(chief.run.phase, RUN_LOADING);
        holds(i, 0, 0);
        write_all();
    }
    assert_int_equal(chief.run.phase, RUN_HELD);
    holds(0, 0, 0);
    holds(1, 0, 0);
    write_all();
    assert_int_equal(chief.run.missing_count, 2);
    assert_int_equal(chief.run.phase, RUN_HELD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slices_go_to_holders, setup),
        cmocka_unit_test_setup(a_survivor_trains_on, setup),
        cmocka_unit_test_setup(a_load_waits_for_the_count, setup),
        cmocka_unit_test_setup(the_count_finds_a_holder, setup),
        cmocka_unit_test_setup(the_order_names_its_writer, setup),
        cmocka_unit_test_setup(a_lost_writer_skips_its_checkpoint, setup),
        cmocka_unit_test_setup(a_load_fails_when_all_have_failed, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
