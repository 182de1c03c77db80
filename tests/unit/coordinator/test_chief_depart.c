/* Which workers without ps may go: C24. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/depart_scene.h"

/* A write takes its slices, when the other worker is known to live; a later one releases it. Its
 * incarnation is not listed any longer than it is needed. */
static void it_is_released_after_its_slices(void **state)
{
    (void)state;
    leaves(1);
    write_all();
    assert_int_equal(owned_by(1), 2);
    assert_int_equal(chief.run.released_count, 0);
    reports_again(0, 4);
    assert_int_equal(owned_by(1), 0);
    assert_int_equal(chief.run.released_count, 0);
    owns_nothing(1, 4);
    assert_true(is_released(1));
    assert_int_equal(chief.run.released_count, 1);
    const uint64_t revision = chief.run.revision;
    reports_again(0, 5);
    assert_int_equal(chief.run.revision, revision); /* Nothing has changed. */
    member(ROLE_WORKER, 1, 0, NULL);
    write_all();
    joins(1);
    is_at(1, 6);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    assert_int_equal(owned_by(1), 2);
}

/* The other worker may have died: it has not been heard since. */
static void a_silent_worker_may_be_dead(void **state)
{
    (void)state;
    leaves(1);
    pass(CHIEF_DEPART_MS - 1);
    is_at(0, 4);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    assert_int_equal(owned_by(1), 2);
}

/* The other worker has started again without values: training continues with the one that leaves,
 * until the other one has fetched them. */
static void the_other_has_no_values_yet(void **state)
{
    (void)state;
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    write_all();
    member(ROLE_WORKER, 0, FIRST_INCARNATION + 9, NULL);
    worker_ready(0);
    leaves(1);
    write_all();
    pass(CHIEF_DEPART_MS);
    report(ROLE_WORKER, 0);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    assert_int_equal(owned_by(1), 4);
    is_at(0, 3);
    write_all();
    assert_int_equal(owned_by(0), 4);
    owns_nothing(1, 3);
    assert_true(is_released(1));
}

/* The other worker has fetched values while this one trained alone. It is released once the other
 * has its steps, and stays released although it follows the other ones. */
static void the_other_has_not_all_steps_yet(void **state)
{
    (void)state;
    leaves(1);
    owns_nothing(1, 4); /* As if it had not owned any before the last assignment. */
    is_at(1, 9);        /* Alone: the other one has just fetched step 4. */
    reports_again(0, 4);
    assert_int_equal(owned_by(1), 0);
    assert_int_equal(chief.run.released_count, 0);
    reports[1][1].leaving = LEAVING;
    is_at(1, 11);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    owns_nothing(1, 12);
    is_at(0, 11);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    owns_nothing(1, 13);
    is_at(0, 12);
    write_all();
    assert_true(is_released(1));
    owns_nothing(1, 14);
    assert_true(is_released(1));
}

/* Each may be the last one that has the values: they go on to a gate. */
static void none_is_released_if_all_leave(void **state)
{
    (void)state;
    leaves(0);
    leaves(1);
    write_all();
    assert_true(chief.run.gate > 0);
    reports_again(0, 1);
    assert_int_equal(chief.run.released_count, 0);
}

/* The last one that stays leaves, too, before the first one has exited. */
static void a_release_is_withdrawn(void **state)
{
    (void)state;
    leaves(1);
    reports_again(0, 4);
    owns_nothing(1, 4);
    assert_true(is_released(1));
    leaves(0);
    assert_non_null(actions.write);
    assert_int_equal(actions.write->run.released_count, 0);
    assert_true(actions.write->run.gate > 0);
}

/* A new chief does not know whether the others live, so the workers stay that its predecessor has
 * released. */
static void a_new_chief_releases_again(void **state)
{
    (void)state;
    leaves(1);
    reports_again(0, 4);
    owns_nothing(1, 4);
    const struct run run = chief.run;
    const struct assignment assignment = chief.assignment;
    begin();
    elected(2, &run, &assignment, NULL, 0);
    joins(0);
    joins(1);
    leaves(1);
    reports[1][1].leaving = LEAVING_WITHOUT_SLICES;
    is_at(1, 4);
    is_at(0, 4);
    answer(CHIEF_WRITE_OK, NULL);
    assert_int_equal(chief.run.epoch, 2);
    assert_int_equal(chief.run.released_count, 0);
    write_all();
    reports_again(0, 5);
    assert_true(is_released(1));
}

/* The first report of the one that leaves came before its registration was read: the other one may
 * have died since. */
static void an_early_report_begins_the_departure(void **state)
{
    (void)state;
    leaves(1);
    reports_again(0, 4);
    owns_nothing(1, 4);
    const struct run run = chief.run;
    const struct assignment assignment = chief.assignment;
    begin();
    elected(2, &run, &assignment, NULL, 0);
    answer(CHIEF_WRITE_OK, NULL);
    joins(0);
    is_at(0, 4);
    reports[1][1] = (struct report){.task = {ROLE_WORKER, 1},
                                    .incarnation = FIRST_INCARNATION + 1,
                                    .ready = 1,
                                    .leaving = LEAVING_WITHOUT_SLICES,
                                    .evaluation = {.step = STEP_NONE}};
    is_at(1, 4);
    member(ROLE_WORKER, 1, FIRST_INCARNATION + 1, NULL);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    reports_again(0, 5);
    assert_true(is_released(1));
}

/* ZooKeeper did not answer for long: the one that stays may have died since. */
static void a_release_that_was_not_written_is_decided_again(void **state)
{
    (void)state;
    leaves(1);
    reports_again(0, 4);
    reports[1][1].leaving = LEAVING_WITHOUT_SLICES;
    is_at(1, 4);
    assert_non_null(actions.write);
    assert_int_equal(actions.write->run.released_count, 1);
    const struct run before = chief.run;
    answer(CHIEF_WRITE_UNKNOWN, &before);
    pass(20000);
    assert_non_null(actions.write);
    assert_int_equal(actions.write->run.released_count, 0);
    write_all();
    assert_int_equal(chief.run.released_count, 0);
    reports_again(0, 5);
    assert_true(is_released(1));
}

/* The first attempt was carried out all the same, after /run had been read: all of it counts, also
 * the slices that a new worker gets. */
static void an_attempt_that_came_late_counts(void **state)
{
    (void)state;
    leaves(1);
    reports_again(0, 4);
    joins(2);
    write_all();
    request(2, REQUEST_CHECKPOINT);
    is_at(2, 4);
    reports[1][1].leaving = LEAVING_WITHOUT_SLICES;
    is_at(1, 4);
    answer(CHIEF_WRITE_OK, NULL);
    assert_non_null(actions.write);
    assert_true(actions.write->assigns);
    const struct run before = chief.run, first = actions.write->run;
    assert_int_equal(first.released_count, 1);
    answer(CHIEF_WRITE_UNKNOWN, &before);
    pass(CHIEF_RETRY_MS);
    assert_non_null(actions.write);
    assert_true(actions.write->run.revision > first.revision);
    answer(CHIEF_WRITE_CONFLICT, &first);
    assert_true(is_released(1));
    assert_int_equal(owned_by(2), 2);
    assert_int_equal(chief.run.revision, first.revision);
}

/* The run gets to its end with the workers that are present. */
static void none_is_released_while_the_run_stops(void **state)
{
    (void)state;
    request(2, REQUEST_STOP);
    write_all();
    is_at(0, chief.run.until);
    write_all();
    assert_int_equal(chief.run.phase, RUN_STOPPING);
    leaves(1);
    reports_again(0, chief.run.until);
    assert_int_equal(chief.run.released_count, 0);
}

/* The last holder among the workers that are present stays, whatever the job calls for (C22). */
static void an_unwanted_worker_is_released(void **state)
{
    (void)state;
    config.workers_least = 1;
    chief.config.workers_least = 1;
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 2, .kind = REQUEST_SCALE, .by = "operator", .step = 1}});
    write_all();
    leaves(1);
    write_all();
    assert_int_equal(chief.run.workers, 1);
    assert_int_equal(chief.run.released_count, 0);
    reports_again(0, 4);
    owns_nothing(1, 4);
    assert_true(is_released(1));
}

/* With ps, no worker has values that others lack. */
static void with_ps_none_is_released(void **state)
{
    (void)state;
    configure();
    begin_running();
    joins(1);
    write_all();
    leaves(1);
    write_all();
    assert_int_equal(owned_by(1), 0);
    assert_int_equal(chief.run.released_count, 0);
}

/* With ps, one that leaves because the run is to have fewer workers keeps its slices while no other
 * worker is ready (C22); one that leaves for another reason does not. */
static void with_ps_an_unwanted_worker_keeps_its_slices(void **state)
{
    (void)state;
    configure();
    config.workers_least = 1;
    begin_running();
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 2, .kind = REQUEST_SCALE, .by = "operator", .step = 2}});
    write_all();
    joins(1);
    write_all();
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 3, .kind = REQUEST_SCALE, .by = "operator", .step = 1}});
    member(ROLE_WORKER, 0, 0, "signal 9 (Killed)");
    leaves(1);
    write_all();
    assert_int_equal(chief.run.workers, 1);
    assert_int_equal(owned_by(1), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_is_released_after_its_slices, setup),
        cmocka_unit_test_setup(a_silent_worker_may_be_dead, setup),
        cmocka_unit_test_setup(the_other_has_no_values_yet, setup),
        cmocka_unit_test_setup(the_other_has_not_all_steps_yet, setup),
        cmocka_unit_test_setup(none_is_released_if_all_leave, setup),
        cmocka_unit_test_setup(a_release_is_withdrawn, setup),
        cmocka_unit_test_setup(a_new_chief_releases_again, setup),
        cmocka_unit_test_setup(an_early_report_begins_the_departure, setup),
        cmocka_unit_test_setup(a_release_that_was_not_written_is_decided_again, setup),
        cmocka_unit_test_setup(an_attempt_that_came_late_counts, setup),
        cmocka_unit_test_setup(none_is_released_while_the_run_stops, setup),
        cmocka_unit_test_setup(an_unwanted_worker_is_released, setup),
        cmocka_unit_test(with_ps_none_is_released),
        cmocka_unit_test(with_ps_an_unwanted_worker_keeps_its_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
