/* C23: the slices of a worker that delays the others go to them, until it reports again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

enum { V = 8, LIMIT_MS = 200 };

static uint32_t late_count, returned_count;
static uint64_t returned_after_ms;

static void write_all(void)
{
    for (int i = 0; i < 10; i++) {
        if (chief.writing) {
            for (uint32_t k = 0; k < chief.write.history_count; k++) {
                const struct history_entry *entry = &chief.write.history[k];
                late_count += entry->kind == HISTORY_LATE;
                returned_count += entry->kind == HISTORY_RETURNED;
                if (entry->kind == HISTORY_RETURNED) { returned_after_ms = entry->took_ms; }
            }
            answer(CHIEF_WRITE_OK, NULL);
        }
        if (!chief.writing) { pass(0); }
    }
}

static void pass_and_write(uint64_t milliseconds)
{
    for (uint64_t i = 0; i < milliseconds; i += 10) {
        pass(10);
        write_all();
    }
}

/* Two workers own four slices each, and have trained for a while. */
static int setup(void **state)
{
    (void)state;
    configure();
    config.slices = V;
    config.steps = 1000;
    begin_running();
    member(ROLE_WORKER, 1, 21, NULL);
    worker_ready(1);
    write_all();
    pass_and_write(2000);
    late_count = returned_count = 0;
    return 0;
}

static uint32_t owned_by(uint32_t worker)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < chief.assignment.slice_count; v++) {
        count += chief.assignment.worker[v] == worker;
    }
    return count;
}

static struct slice_set slices_of(uint32_t worker)
{
    struct slice_set set = {0};
    for (uint32_t v = 0; v < chief.assignment.slice_count; v++) {
        if (chief.assignment.worker[v] == worker) {
            slice_set_add(&set, (struct slice_node){v, 1});
        }
    }
    return set;
}

/* A ps reports that it lacks these slices of `step`. */
static void ps_lacks(uint32_t index, uint64_t step, struct slice_set late)
{
    reports[0][index].late = late;
    reports[0][index].late_after_ms = slice_set_count(&late) > 0 ? LIMIT_MS : 0;
    ps_at(index, 1, step);
    write_all();
}

static void ps_goes_on(uint32_t index, uint64_t step)
{
    ps_lacks(index, step, (struct slice_set){0});
}

static void worker_reports(uint32_t index)
{
    report(ROLE_WORKER, index);
    write_all();
}

/* Worker 1 is late at step `step`, which the others complete. */
static void worker_is_late(uint64_t step)
{
    ps_lacks(0, step, slices_of(1));
    ps_goes_on(0, step + 1);
}

/* The other worker gets the slices at once, and the history names the straggler. */
static void other_worker_gets_the_slices(void **state)
{
    (void)state;
    assert_int_equal(owned_by(1), V / 2);
    ps_lacks(0, 5, slices_of(1));
    assert_int_equal(owned_by(0), V);
    assert_int_equal(late_count, 1);
}

/* A worker that is frozen for long gets nothing; when it reports again, it gets a share. */
static void straggler_gets_slices_when_it_reports(void **state)
{
    (void)state;
    worker_is_late(5);
    pass_and_write(3 * CHIEF_LATE_MS);
    assert_int_equal(owned_by(1), 0);
    worker_reports(1);
    assert_int_equal(owned_by(1), V / 2);
    assert_int_equal(returned_count, 1);
    assert_int_equal(returned_after_ms, 3 * CHIEF_LATE_MS);
}

/* One that reports soon waits for a while: slices do not flutter. */
static void straggler_waits_for_a_while(void **state)
{
    (void)state;
    worker_is_late(5);
    pass_and_write(100);
    worker_reports(1);
    pass_and_write(CHIEF_LATE_MS - 200);
    assert_int_equal(owned_by(1), 0);
    pass_and_write(200);
    assert_int_equal(owned_by(1), V / 2);
}

/* One that is late again and again waits longer each time, and as long as at first after it was in
 * time for long. */
static void straggler_waits_longer_each_time(void **state)
{
    (void)state;
    uint64_t wait_ms = CHIEF_LATE_MS;
    for (uint64_t i = 0; i < 5; i++, wait_ms *= 2) {
        pass_and_write(LIMIT_MS);
        worker_is_late(5 + i);
        pass_and_write(10);
        worker_reports(1);
        pass_and_write(wait_ms - 50);
        assert_int_equal(owned_by(1), 0);
        pass_and_write(50);
        assert_int_equal(owned_by(1), V / 2);
    }
    pass_and_write(CHIEF_LATE_GOOD * wait_ms);
    worker_is_late(50);
    pass_and_write(10);
    worker_reports(1);
    pass_and_write(CHIEF_LATE_MS);
    assert_int_equal(owned_by(1), V / 2);
}

/* While no worker has delivered all its slices, none could compute others. */
static void nothing_moves_without_an_idle_worker(void **state)
{
    (void)state;
    struct slice_set late = slices_of(1), first = slices_of(0);
    for (uint32_t v = 0; v < V; v++) {
        if (!slice_set_has_all(&first, (struct slice_node){v, 1})) { continue; }
        slice_set_add(&late, (struct slice_node){v, 1});
        break;
    }
    ps_lacks(0, 5, late);
    assert_int_equal(owned_by(1), V / 2);
    assert_int_equal(late_count, 0);
    ps_lacks(0, 5, slices_of(1));
    assert_int_equal(owned_by(1), 0);
}

/* Slices that have just been assigned have the time of a ps's limit. */
static void new_owner_has_time(void **state)
{
    (void)state;
    member(ROLE_WORKER, 1, 0, "killed");
    write_all();
    member(ROLE_WORKER, 1, 22, NULL);
    worker_ready(1);
    write_all();
    assert_int_equal(owned_by(1), V / 2);
    ps_lacks(0, 5, slices_of(1));
    pass_and_write(LIMIT_MS - 20);
    ps_lacks(0, 5, slices_of(1));
    assert_int_equal(owned_by(1), V / 2);
    pass_and_write(20);
    assert_int_equal(owned_by(1), V / 2);
    ps_lacks(0, 5, slices_of(1));
    assert_int_equal(owned_by(1), 0);
}

/* One report moves slices once, however long it stands: the ps may be frozen by now. */
static void old_report_counts_once(void **state)
{
    (void)state;
    struct slice_set late = slices_of(1);
    ps_lacks(0, 5, late);
    pass_and_write(2 * CHIEF_LATE_MS);
    worker_reports(1);
    pass_and_write(2 * CHIEF_LATE_MS);
    assert_int_equal(late_count, 1);
    assert_int_equal(owned_by(1), V / 2);
}

/* Reports of another generation, and those of a run that pauses, change nothing. */
static void other_generations_do_not_count(void **state)
{
    (void)state;
    reports[0][0].late = slices_of(1);
    reports[0][0].late_after_ms = LIMIT_MS;
    member(ROLE_PS, 1, 0, "killed");
    write_all();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    ps_at(0, 1, 5);
    pass_and_write(1000);
    assert_int_equal(late_count, 0);
}

/* The owner of slice 0 evaluates between two steps: that takes as long as it takes. */
static void evaluation_is_not_late(void **state)
{
    (void)state;
    config.evaluate_every = 10;
    chief.config.evaluate_every = 10;
    chief.run.evaluate_step = 10;
    const uint32_t owner = chief.assignment.worker[0];
    ps_at(0, 1, 11);
    ps_at(1, 1, 11);
    write_all();
    ps_lacks(0, 11, slices_of(owner));
    pass_and_write(10000);
    assert_int_equal(late_count, 0);
    assert_int_equal(owned_by(owner), V / 2);
}

/* Once evaluations were timed, one that takes several times as long is late, too. */
static void frozen_evaluation_is_late(void **state)
{
    (void)state;
    chief.config.evaluate_every = 10;
    chief.run.evaluate_step = 10;
    chief.evaluation_ms = 500;
    const uint32_t owner = chief.assignment.worker[0];
    ps_at(0, 1, 11);
    ps_at(1, 1, 11);
    ps_lacks(0, 11, slices_of(owner));
    pass_and_write(CHIEF_LATE_EVALUATION * 500 - 50);
    assert_int_equal(late_count, 0);
    pass_and_write(100);
    ps_lacks(0, 11, slices_of(owner));
    assert_int_equal(owned_by(owner), 0);
}

/* The only worker that is in time dies: a straggler is better than none. */
static void straggler_replaces_the_dead(void **state)
{
    (void)state;
    worker_is_late(5);
    assert_int_equal(owned_by(0), V);
    member(ROLE_WORKER, 0, 0, "killed");
    write_all();
    assert_int_equal(owned_by(1), V);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(other_worker_gets_the_slices, setup),
        cmocka_unit_test_setup(straggler_gets_slices_when_it_reports, setup),
        cmocka_unit_test_setup(straggler_waits_for_a_while, setup),
        cmocka_unit_test_setup(straggler_waits_longer_each_time, setup),
        cmocka_unit_test_setup(nothing_moves_without_an_idle_worker, setup),
        cmocka_unit_test_setup(new_owner_has_time, setup),
        cmocka_unit_test_setup(old_report_counts_once, setup),
        cmocka_unit_test_setup(other_generations_do_not_count, setup),
        cmocka_unit_test_setup(evaluation_is_not_late, setup),
        cmocka_unit_test_setup(frozen_evaluation_is_late, setup),
        cmocka_unit_test_setup(straggler_replaces_the_dead, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
