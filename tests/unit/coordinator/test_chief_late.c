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

/* Confirm the writes of the chief that it does not delay. */
static void write_now(void)
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
        write_now();
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
    write_now();
    pass_and_write(2000);
    late_count = returned_count = 0;
    return 0;
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
    write_now();
}

static void ps_goes_on(uint32_t index, uint64_t step)
{
    ps_lacks(index, step, (struct slice_set){0});
}

static void worker_reports(uint32_t index)
{
    report(ROLE_WORKER, index);
    write_now();
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
    write_now();
    member(ROLE_WORKER, 1, 22, NULL);
    worker_ready(1);
    write_now();
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
    write_now();
    assert_int_equal(chief.run.phase, RUN_PAUSED);
    ps_at(0, 1, 5);
    pass_and_write(1000);
    assert_int_equal(late_count, 0);
}

/* Training is at step 11, and the evaluation of step 10 is ordered: a worker computes it. */
static uint32_t begin_evaluation(void)
{
    chief.config.evaluate_every = 10;
    chief.run.evaluate_step = 10;
    ps_at(0, 1, 11);
    ps_at(1, 1, 11);
    write_now();
    return chief.assignment.worker[0];
}

/* The other worker has nothing to do until the slices of `worker` arrive. */
static void ps_lacks_slices_of(uint32_t worker)
{
    ps_lacks(0, 11, slices_of(worker));
}

/* The owner of slice 0 evaluates between two steps: that takes as long as it expects, even the
 * first time. */
static void evaluation_is_not_late(void **state)
{
    (void)state;
    const uint32_t owner = begin_evaluation();
    reports[1][owner].evaluation_ms = 4000;
    worker_reports(owner);
    pass_and_write(CHIEF_LATE_EVALUATION * 4000 - 50);
    ps_lacks_slices_of(owner);
    assert_int_equal(late_count, 0);
    assert_int_equal(owned_by(owner), V / 2);
    pass_and_write(50);
    ps_lacks_slices_of(owner);
    assert_int_equal(late_count, 1);
    assert_int_equal(owned_by(owner), 0);
}

/* No worker has computed for long enough to expect anything: a limit exists nevertheless. */
static void frozen_first_evaluation_is_late(void **state)
{
    (void)state;
    const uint32_t owner = begin_evaluation();
    pass_and_write(CHIEF_LATE_FIRST_MS - 50);
    ps_lacks_slices_of(owner);
    assert_int_equal(owned_by(owner), V / 2);
    pass_and_write(50);
    ps_lacks_slices_of(owner);
    assert_int_equal(owned_by(owner), 0);
}

/* A worker that has just started does not know how long it takes, but the others do. */
static void new_worker_has_the_time_of_the_others(void **state)
{
    (void)state;
    const uint32_t owner = begin_evaluation();
    reports[1][1 - owner].evaluation_ms = 2000;
    worker_reports(1 - owner);
    pass_and_write(CHIEF_LATE_EVALUATION * 2000 - 50);
    ps_lacks_slices_of(owner);
    assert_int_equal(owned_by(owner), V / 2);
    pass_and_write(50);
    ps_lacks_slices_of(owner);
    assert_int_equal(owned_by(owner), 0);
}

/* A worker that expects more than a day is wrong. */
static void expectations_are_bounded(void **state)
{
    (void)state;
    const uint32_t owner = begin_evaluation();
    reports[1][owner].evaluation_ms = COUNTER_MAX;
    worker_reports(owner);
    pass(CHIEF_LATE_EVALUATION * (uint64_t)CHIEF_EVALUATION_MAX_MS);
    ps_lacks_slices_of(owner);
    assert_int_equal(owned_by(owner), 0);
}

/* Once evaluations were timed, one that takes several times as long is late, too. */
static void frozen_evaluation_is_late(void **state)
{
    (void)state;
    chief.evaluation_ms = 500;
    const uint32_t owner = begin_evaluation();
    ps_lacks_slices_of(owner);
    pass_and_write(CHIEF_LATE_EVALUATION * 500 - 50);
    assert_int_equal(late_count, 0);
    pass_and_write(100);
    ps_lacks_slices_of(owner);
    assert_int_equal(owned_by(owner), 0);
}

/* The worker that takes the evaluation over has as much time, however long the other one had. */
static void next_worker_has_time(void **state)
{
    (void)state;
    chief.config.workers = 3;
    member(ROLE_WORKER, 2, 23, NULL);
    worker_ready(2);
    write_now();
    const uint32_t owner = begin_evaluation();
    pass_and_write(CHIEF_LATE_FIRST_MS);
    ps_lacks_slices_of(owner);
    const uint32_t next = chief.assignment.worker[0];
    assert_int_not_equal(next, owner);
    pass_and_write(CHIEF_LATE_FIRST_MS - 50);
    ps_lacks_slices_of(next);
    assert_int_equal(late_count, 1);
    assert_int_equal(chief.assignment.worker[0], next);
    pass_and_write(50);
    ps_lacks_slices_of(next);
    assert_int_equal(late_count, 2);
}

/* The time of the worker that has sent the result counts, not that of one that was frozen. */
static void evaluation_is_timed(void **state)
{
    (void)state;
    const uint32_t owner = begin_evaluation();
    pass_and_write(CHIEF_LATE_FIRST_MS);
    ps_lacks_slices_of(owner);
    pass_and_write(300);
    const uint32_t next = chief.assignment.worker[0];
    reports[1][next].generation = 1;
    reports[1][next].evaluation = (struct evaluation){.step = 10};
    worker_reports(next);
    assert_in_range(chief.evaluation_ms, 300, 350);
}

/* C8: no node passes the evaluation before its result is known, so that no slice is late. The chief
 * finds by itself that the worker does. */
static void awaited_evaluation_is_late(void **state)
{
    (void)state;
    chief.config.target_accuracy = 0.5;
    chief.run.until = 11;
    chief.run.evaluate_step = 11;
    ps_at(0, 1, 11);
    ps_at(1, 1, 11);
    write_now();
    const uint32_t owner = chief.assignment.worker[0];
    assert_in_range(chief_deadline_ms(&chief), now_ms, now_ms + CHIEF_LATE_FIRST_MS);
    pass_and_write(CHIEF_LATE_FIRST_MS - 50);
    assert_int_equal(late_count, 0);
    pass_and_write(100);
    assert_int_equal(late_count, 1);
    assert_int_equal(owned_by(owner), 0);
}

/* C8: the result of a frozen worker is awaited if no other worker can evaluate. */
static void only_worker_evaluates(void **state)
{
    (void)state;
    member(ROLE_WORKER, 1, 0, "killed");
    write_now();
    chief.config.target_accuracy = 0.5;
    chief.run.until = 11;
    chief.run.evaluate_step = 11;
    ps_at(0, 1, 11);
    ps_at(1, 1, 11);
    pass_and_write(3 * CHIEF_LATE_FIRST_MS);
    assert_int_equal(late_count, 0);
    assert_int_equal(owned_by(0), V);
    assert_true(chief_deadline_ms(&chief) > now_ms);
}

/* The only worker that is in time dies: a straggler is better than none. */
static void straggler_replaces_the_dead(void **state)
{
    (void)state;
    worker_is_late(5);
    assert_int_equal(owned_by(0), V);
    member(ROLE_WORKER, 0, 0, "killed");
    write_now();
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
        cmocka_unit_test_setup(frozen_first_evaluation_is_late, setup),
        cmocka_unit_test_setup(new_worker_has_the_time_of_the_others, setup),
        cmocka_unit_test_setup(expectations_are_bounded, setup),
        cmocka_unit_test_setup(frozen_evaluation_is_late, setup),
        cmocka_unit_test_setup(next_worker_has_time, setup),
        cmocka_unit_test_setup(evaluation_is_timed, setup),
        cmocka_unit_test_setup(awaited_evaluation_is_late, setup),
        cmocka_unit_test_setup(only_worker_evaluates, setup),
        cmocka_unit_test_setup(straggler_replaces_the_dead, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
