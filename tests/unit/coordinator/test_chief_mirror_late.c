/* Backup work without ps (C23, M12): workers report which slices delay them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/chief_strategy.h"
#include "tests/unit/coordinator/chief_scene.h"

enum { V = 4, LIMIT_MS = 200 };

/* Confirm the writes of the chief that it does not delay. */
static void write_now(void)
{
    for (int i = 0; i < 10; i++) {
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        if (!chief.writing) { pass(0); }
    }
}

static void pass_and_write(uint64_t milliseconds)
{
    for (uint64_t i = 0; i < milliseconds; i += 10) {
        pass(10);
        write_now();
    }
}

static void is_at(uint32_t worker, uint64_t step)
{
    struct report *it = &reports[1][worker];
    it->generation = chief.run.generation;
    it->step = step;
    it->late = (struct slice_set){0};
    it->late_after_ms = it->late_periods = 0;
    report(ROLE_WORKER, worker);
    write_now();
}

/* Worker `judge`, at `step`, waits for all slices of `other`. */
static void waits(uint32_t judge, uint64_t step, uint32_t other)
{
    struct report *it = &reports[1][judge];
    it->generation = chief.run.generation;
    it->step = step;
    it->late = (struct slice_set){0};
    for (uint32_t v = 0; v < V; v++) {
        if (chief.assignment.worker[v] != other) { continue; }
        slice_set_add(&it->late, (struct slice_node){v, 1});
    }
    it->late_after_ms = LIMIT_MS;
    it->late_periods++;
    report(ROLE_WORKER, judge);
    write_now();
}

/* The workers share four slices, and are at step 5. */
static void begin_with(uint32_t workers)
{
    configure();
    config.workers = workers;
    config.strategy = STRATEGY_MIRROR;
    config.ps = 0;
    config.slices = V;
    config.steps = 1000;
    config.manifest.shard_count = 1;
    config.manifest.shards[0] = (struct manifest_shard){.count = 64};
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < workers; i++) {
        member(ROLE_WORKER, i, 20 + i, NULL);
        worker_ready(i);
    }
    write_now();
    for (uint32_t i = 0; i < workers; i++) { is_at(i, 0); }
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    pass_and_write(1000);
    for (uint32_t i = 0; i < workers; i++) { is_at(i, 5); }
    for (uint32_t i = 0; i < workers; i++) { assert_true(owned_by(i) > 0); }
}

/* Two workers own two slices each. */
static int setup(void **state)
{
    (void)state;
    begin_with(2);
    return 0;
}

/* The worker that waits gets the slices, and with them the ranges, of the one that is late. */
static void the_other_worker_gets_the_slices(void **state)
{
    (void)state;
    waits(0, 5, 1);
    assert_int_equal(owned_by(0), V);
    assert_int_equal(chief.assignment.late_count, 1);
    assert_int_equal(chief.run.phase, RUN_RUNNING);
}

/* A worker that lacks what others have had for a step delays itself. */
static void one_that_is_behind_is_not_believed(void **state)
{
    (void)state;
    is_at(0, 6);
    waits(1, 5, 0);
    assert_int_equal(owned_by(0), V / 2);
    waits(1, 6, 0);
    assert_int_equal(owned_by(0), 0);
}

/* If two workers cannot reach each other, the one whose report is first continues alone. A worker
 * that was frozen reports the others, too. */
static void one_that_is_late_is_not_believed(void **state)
{
    (void)state;
    waits(0, 5, 1);
    pass_and_write(2 * LIMIT_MS);
    waits(1, 5, 0);
    assert_int_equal(owned_by(0), V);
    begin_with(3);
    waits(0, 5, 1);
    pass_and_write(2 * LIMIT_MS);
    waits(1, 5, 0);
    assert_int_equal(owned_by(0) + owned_by(2), V);
    assert_true(owned_by(0) > 0);
}

/* After a freeze a worker fetches the values of the others before it gets slices. */
static void it_returns_once_it_has_caught_up(void **state)
{
    (void)state;
    waits(0, 5, 1);
    is_at(0, 90);
    pass_and_write(2 * CHIEF_LATE_MS);
    is_at(1, 5);
    pass_and_write(2 * CHIEF_LATE_MS);
    assert_int_equal(owned_by(1), 0);
    is_at(1, 88);
    assert_int_equal(owned_by(1), V / 2);
}

/* Its steps of another generation are other ones. */
static void it_returns_in_another_generation(void **state)
{
    (void)state;
    waits(0, 5, 1);
    pass_and_write(CHIEF_LATE_MS);
    chief.run.generation++;
    is_at(0, 2);
    is_at(1, 2);
    assert_int_equal(owned_by(1), V / 2);
}

/* One that gets its first slices may be some steps behind, and catches up at the cost of others. */
static void one_that_joins_has_more_time(void **state)
{
    (void)state;
    waits(0, 5, 1);
    is_at(0, 90);
    pass_and_write(2 * CHIEF_LATE_MS);
    is_at(1, 88);
    assert_int_equal(owned_by(1), V / 2);
    is_at(0, 91);
    pass_and_write(2 * LIMIT_MS);
    waits(0, 91, 1);
    assert_int_equal(owned_by(1), V / 2);
    pass_and_write((CHIEF_LATE_JOIN - 2) * LIMIT_MS);
    waits(0, 91, 1);
    assert_int_equal(owned_by(1), 0);
}

/* It has that time once: after its first step it is as any other. */
static void one_that_has_joined_has_not(void **state)
{
    (void)state;
    waits(0, 5, 1);
    is_at(0, 90);
    pass_and_write(2 * CHIEF_LATE_MS);
    is_at(1, 88);
    is_at(0, 92);
    is_at(1, 92);
    pass_and_write(2 * LIMIT_MS);
    waits(0, 92, 1);
    assert_int_equal(owned_by(1), 0);
}

/* An order for a checkpoint names a worker that is in time (M10). */
static void a_late_worker_writes_no_checkpoint(void **state)
{
    (void)state;
    assert_int_equal(chief.strategy->choose_writer(&chief, &chief.run), 0);
    waits(1, 5, 0);
    assert_int_equal(chief.strategy->choose_writer(&chief, &chief.run), 1);
    member(ROLE_WORKER, 1, 0, "killed");
    write_now();
    assert_int_equal(chief.strategy->choose_writer(&chief, &chief.run), 0);
    assert_int_equal(owned_by(0), V);
}

/* Training would wait at the next multiple while the order stands. */
static void an_order_to_a_late_worker_is_withdrawn(void **state)
{
    (void)state;
    const uint64_t id = chief.run.save_checkpoint;
    assert_int_not_equal(id, 0);
    assert_int_equal(chief.run.save_writer, 0);
    waits(1, 5, 0);
    pass_and_write(CHIEF_SOFT_MS);
    assert_true(chief.run.save_checkpoint > id);
    assert_int_equal(chief.run.save_writer, 1);
    const uint64_t next = chief.run.save_checkpoint;
    member(ROLE_WORKER, 1, 0, "killed");
    pass_and_write(CHIEF_SOFT_MS);
    assert_true(chief.run.save_checkpoint > next);
    assert_int_equal(chief.run.save_writer, 0);
    const uint64_t last = chief.run.save_checkpoint;
    pass_and_write(1000);
    assert_int_equal(chief.run.save_checkpoint, last);
}

/* The process that replaces a late one is not late. */
static void a_restarted_worker_is_not_late(void **state)
{
    (void)state;
    waits(0, 5, 1);
    member(ROLE_WORKER, 1, 0, "killed");
    write_now();
    member(ROLE_WORKER, 1, 31, NULL);
    worker_ready(1);
    is_at(1, 5);
    assert_int_equal(owned_by(1), V / 2);
}

/* C24: while a worker leaves, one that is late is not waited for, and neither keeps its slices. */
static void one_that_leaves_does_not_wait_for_a_late_one(void **state)
{
    (void)state;
    begin_with(3);
    reports[1][1].leaving = LEAVING;
    is_at(1, 6);
    waits(2, 6, 0);
    assert_int_equal(owned_by(0), 0);
    pass_and_write(CHIEF_DEPART_MS);
    is_at(2, 7);
    assert_int_equal(owned_by(2), V);
    reports[1][1].leaving = LEAVING_WITHOUT_SLICES;
    is_at(1, 7);
    assert_true(run_has_released(&chief.run, reports[1][1].incarnation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_other_worker_gets_the_slices, setup),
        cmocka_unit_test_setup(one_that_is_behind_is_not_believed, setup),
        cmocka_unit_test_setup(one_that_is_late_is_not_believed, setup),
        cmocka_unit_test_setup(it_returns_once_it_has_caught_up, setup),
        cmocka_unit_test_setup(it_returns_in_another_generation, setup),
        cmocka_unit_test_setup(one_that_joins_has_more_time, setup),
        cmocka_unit_test_setup(one_that_has_joined_has_not, setup),
        cmocka_unit_test_setup(a_late_worker_writes_no_checkpoint, setup),
        cmocka_unit_test_setup(an_order_to_a_late_worker_is_withdrawn, setup),
        cmocka_unit_test_setup(a_restarted_worker_is_not_late, setup),
        cmocka_unit_test(one_that_leaves_does_not_wait_for_a_late_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
