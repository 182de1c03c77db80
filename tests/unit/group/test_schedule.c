/* group/schedule.h: which part of which slice a member computes next. */
#include "group/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Part 0 reads nothing, part 1 reads arrivals 0 and 1, part 2 reads 2; 3 is a result. */
enum { PARTS = 3, ARRIVALS = 4, GENERATION = 4, STEP = 9 };
static const uint32_t readers[ARRIVALS] = {1, 1, 2, 3};
static bool here[SCHEDULE_SLOTS * ARRIVALS];

static struct slice_schedule new_schedule(void)
{
    struct slice_schedule schedule;
    schedule_init(&schedule, &(struct schedule_config){
                                 .parts = PARTS,
                                 .readers = readers,
                                 .arrivals = ARRIVALS,
                                 .here = here,
                             });
    return schedule;
}

static struct schedule_label label_of(uint32_t slice)
{
    return (struct schedule_label){GENERATION, STEP, slice};
}

static void order(struct slice_schedule *schedule, uint32_t first, uint32_t count)
{
    assert_true(schedule_order(schedule, GENERATION, STEP, (struct slice_node){first, count}));
}

static enum schedule_arrival arrive(struct slice_schedule *schedule, uint32_t slice,
                                    uint32_t arrival)
{
    uint32_t slot;
    const struct schedule_label label = label_of(slice);
    return schedule_arrived(schedule, &label, arrival, &slot);
}

static void check_run(struct slice_schedule *schedule, uint32_t slice, uint32_t part)
{
    const struct schedule_next next = schedule_next(schedule);
    assert_int_equal(next.what, SCHEDULE_RUN);
    assert_int_equal(next.label.slice, slice);
    assert_int_equal(next.label.step, STEP);
    assert_int_equal(next.part, part);
    schedule_ran(schedule);
}

static void check_waits(const struct slice_schedule *schedule)
{
    assert_int_equal(schedule_next(schedule).what, SCHEDULE_WAIT);
}

static void check_finish(struct slice_schedule *schedule, bool is_last)
{
    assert_int_equal(schedule_next(schedule).what, SCHEDULE_FINISH);
    assert_true(schedule_finished(schedule) == is_last);
}

/* Parts run in their order, each when all that it reads has arrived; results come last. */
static void parts_in_order(void **state)
{
    (void)state;
    struct slice_schedule schedule = new_schedule();
    check_waits(&schedule);
    order(&schedule, 0, 1);
    check_run(&schedule, 0, 0);
    check_waits(&schedule);
    assert_int_equal(arrive(&schedule, 0, 2), SCHEDULE_KEEP);
    assert_int_equal(arrive(&schedule, 0, 1), SCHEDULE_KEEP);
    check_waits(&schedule);
    assert_int_equal(arrive(&schedule, 0, 0), SCHEDULE_KEEP);
    check_run(&schedule, 0, 1);
    check_run(&schedule, 0, 2);
    check_waits(&schedule);
    assert_false(schedule_is_idle(&schedule));
    assert_int_equal(arrive(&schedule, 0, 3), SCHEDULE_KEEP);
    check_finish(&schedule, true);
    assert_true(schedule_is_idle(&schedule));
}

static void finish(struct slice_schedule *schedule, uint32_t slice, bool is_last)
{
    for (uint32_t i = 0; i < ARRIVALS; i++) { (void)arrive(schedule, slice, i); }
    for (uint32_t p = 0; p < PARTS; p++) { check_run(schedule, slice, p); }
    check_finish(schedule, is_last);
}

/* Slices follow each other; what arrives for the next one is kept for it, in the other slot. */
static void slices_in_order(void **state)
{
    (void)state;
    struct slice_schedule schedule = new_schedule();
    order(&schedule, 2, 3);
    uint32_t slot;
    check_run(&schedule, 2, 0);
    const struct schedule_label next = label_of(3);
    assert_int_equal(schedule_arrived(&schedule, &next, 0, &slot), SCHEDULE_KEEP);
    assert_int_not_equal(slot, schedule_next(&schedule).slot);
    assert_int_equal(schedule_arrived(&schedule, &next, 0, &slot), SCHEDULE_DROP);
    check_waits(&schedule);
    for (uint32_t i = 0; i < ARRIVALS; i++) {
        assert_int_equal(arrive(&schedule, 2, i), SCHEDULE_KEEP);
    }
    check_run(&schedule, 2, 1);
    check_run(&schedule, 2, 2);
    check_finish(&schedule, false);
    assert_int_equal(schedule_next(&schedule).slot, slot);
    assert_int_equal(arrive(&schedule, 3, 0), SCHEDULE_DROP);
    finish(&schedule, 3, false);
    finish(&schedule, 4, true);
}

/* Values that other members compute for an order that is still on its way here are kept. */
static void an_arrival_before_its_order(void **state)
{
    (void)state;
    struct slice_schedule schedule = new_schedule();
    assert_int_equal(arrive(&schedule, 5, 1), SCHEDULE_KEEP);
    assert_int_equal(arrive(&schedule, 5, 1), SCHEDULE_DROP);
    check_waits(&schedule);
    assert_false(schedule_order(&schedule, GENERATION, STEP, (struct slice_node){6, 1}));
    assert_false(schedule_order(&schedule, GENERATION, STEP + 1, (struct slice_node){5, 1}));
    order(&schedule, 5, 1);
    assert_int_equal(arrive(&schedule, 5, 1), SCHEDULE_DROP);
    finish(&schedule, 5, true);
    order(&schedule, 5, 1); /* Once more: everything has to arrive again. */
    check_run(&schedule, 5, 0);
    check_waits(&schedule);
}

/* Slices that cannot be under way are refused, and so is an order while one is carried out. */
static void faults(void **state)
{
    (void)state;
    struct slice_schedule schedule = new_schedule();
    order(&schedule, 0, 2);
    assert_false(schedule_order(&schedule, GENERATION, STEP, (struct slice_node){0, 2}));
    assert_int_equal(arrive(&schedule, 2, 0), SCHEDULE_INVALID);
    const struct schedule_label other = {GENERATION + 1, STEP, 0};
    uint32_t slot;
    assert_int_equal(schedule_arrived(&schedule, &other, 0, &slot), SCHEDULE_INVALID);
    finish(&schedule, 0, false);
    assert_int_equal(arrive(&schedule, 0, 0), SCHEDULE_INVALID);
    assert_int_equal(arrive(&schedule, 2, 0), SCHEDULE_INVALID); /* No order has it. */
    finish(&schedule, 1, true);
    assert_int_equal(arrive(&schedule, 7, 0), SCHEDULE_KEEP);
    assert_int_equal(arrive(&schedule, 8, 0), SCHEDULE_INVALID);
}

/* After a reset nothing has arrived. */
static void reset(void **state)
{
    (void)state;
    struct slice_schedule schedule = new_schedule();
    order(&schedule, 0, 2);
    check_run(&schedule, 0, 0);
    (void)arrive(&schedule, 0, 0);
    (void)arrive(&schedule, 1, 0);
    schedule_reset(&schedule);
    assert_true(schedule_is_idle(&schedule));
    order(&schedule, 3, 1);
    check_run(&schedule, 3, 0);
    check_waits(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_in_order),
        cmocka_unit_test(slices_in_order),
        cmocka_unit_test(an_arrival_before_its_order),
        cmocka_unit_test(faults),
        cmocka_unit_test(reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
