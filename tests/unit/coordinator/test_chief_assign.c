/* C20: slow workers get fewer slices, by the times that they report, and seldom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

enum { SLICE_NS = 1000 * 1000 };

/* A running cluster with two workers and 16 slices. */
static int setup(void **state)
{
    (void)state;
    configure();
    config.slices = 16;
    begin_running();
    member(ROLE_WORKER, 1, 21, NULL);
    worker_ready(1);
    write_all();
    return 0;
}

/* Both workers report, again and again, for this time. Returns how often slices moved. */
static uint32_t report_times(uint64_t first_ns, uint64_t second_ns, uint64_t for_ms)
{
    uint32_t moves = 0;
    reports[1][0].slice_ns = first_ns;
    reports[1][1].slice_ns = second_ns;
    for (uint64_t until_ms = now_ms + for_ms; now_ms < until_ms; now_ms += 100) {
        for (uint32_t i = 0; i < 2; i++) {
            report(ROLE_WORKER, i);
            while (chief.writing) {
                moves += chief.write.assigns;
                answer(CHIEF_WRITE_OK, NULL);
            }
        }
    }
    return moves;
}

/* A worker that needs three times as long gets a third of the slices, once. */
static void slow_worker_gets_fewer_slices(void **state)
{
    (void)state;
    assert_int_equal(owned_by(1), 8);
    assert_int_equal(report_times(SLICE_NS, 3 * SLICE_NS, 60000), 1);
    assert_int_equal(owned_by(0), 12);
    assert_int_equal(owned_by(1), 4);
}

/* While the time of an owner is unknown, or times differ little, slices stay. */
static void slices_stay_without_a_reason(void **state)
{
    (void)state;
    assert_int_equal(report_times(SLICE_NS, 0, 60000), 0);
    assert_int_equal(report_times(SLICE_NS, SLICE_NS + SLICE_NS / 10, 60000), 0);
    assert_int_equal(owned_by(1), 8);
}

/* Slices that have just been assigned stay where they are for a while. */
static void slices_stay_for_a_while(void **state)
{
    (void)state;
    member(ROLE_WORKER, 1, 0, "killed");
    write_all();
    member(ROLE_WORKER, 1, 22, NULL);
    reports[1][1].ready = 1;
    assert_int_equal(report_times(SLICE_NS, SLICE_NS, 100), 1);
    assert_int_equal(report_times(SLICE_NS, 3 * SLICE_NS, CHIEF_BALANCE_MS - 500), 0);
    assert_int_equal(report_times(SLICE_NS, 3 * SLICE_NS, 1000), 1);
}

/* Two hosts that are slow in turn, as fast as the chief looks: it looks less and less often. */
static void slices_do_not_flutter(void **state)
{
    (void)state;
    uint32_t moves = 0;
    for (uint32_t i = 0; i < 180; i++) {
        const bool even = i % 2 == 0;
        moves += report_times(even ? SLICE_NS : 4 * SLICE_NS, even ? 4 * SLICE_NS : SLICE_NS, 5000);
    }
    assert_in_range(moves, 2, 10);
}

/* A new chief moves nothing at first. */
static void new_chief_moves_nothing(void **state)
{
    (void)state;
    const struct run run = chief.run;
    const struct assignment assignment = chief.assignment;
    begin();
    elected(2, &run, &assignment, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        ps_at(i, 1, 0);
        member(ROLE_WORKER, i, 20 + i, NULL);
        reports[1][i].ready = 1;
    }
    assert_int_equal(report_times(SLICE_NS, 3 * SLICE_NS, CHIEF_BALANCE_MS / 2), 0);
    assert_int_equal(owned_by(1), 8);
    assert_int_equal(report_times(SLICE_NS, 3 * SLICE_NS, CHIEF_BALANCE_MS), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(slow_worker_gets_fewer_slices, setup),
        cmocka_unit_test_setup(slices_stay_without_a_reason, setup),
        cmocka_unit_test_setup(slices_stay_for_a_while, setup),
        cmocka_unit_test_setup(slices_do_not_flutter, setup),
        cmocka_unit_test_setup(new_chief_moves_nothing, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
