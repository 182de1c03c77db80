/* Failpoints do what is ordered, where and when it is ordered, and once. Built with them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/faults/failpoint.h"
#include "common/faults/fault_control.h"

static char path[] = "/tmp/tanist-failpoint-XXXXXX";
static struct fault_control *control;
static int signals, last_signal;

/* In place of the system's: a test is not to be killed. */
int __wrap_raise(int number);
int __wrap_raise(int number)
{
    signals++;
    last_signal = number;
    return 0;
}

static int make_control(void **state)
{
    (void)state;
    static const char *const names[] = {"agent", "ps:0", "ps:1"};
    int fd = mkstemp(path);
    if (fd < 0) { return 1; }
    close(fd);
    signals = 0;
    setenv(FAULTS_VARIABLE, path, 1);
    if (fault_control_create(path, names, 3, &control, NULL) != TN_OK) { return 1; }
    failpoint_init("ps:1");
    return 0;
}

static int remove_control(void **state)
{
    (void)state;
    unsetenv(FAULTS_VARIABLE);
    failpoint_init("ps:1");
    fault_control_close(control);
    int removed = unlink(path);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    return removed;
}

static struct fault_point *order(const char *name, enum point_action action, uint32_t countdown)
{
    const struct fault_slot *slot = fault_control_slot(control, "ps:1");
    return fault_control_arm(control, name, action, fault_slot_bit(control, slot), countdown, 1);
}

/* Nothing is done where nothing is ordered, at another place, or for another process. */
static void others_are_left_alone(void **state)
{
    (void)state;
    const struct fault_slot *other = fault_control_slot(control, "ps:0");
    FAILPOINT("ps.before_apply");
    struct fault_point *mine = order("ps.before", POINT_KILL, 1);
    struct fault_point *theirs = fault_control_arm(control, "ps.before_apply", POINT_KILL,
                                                   fault_slot_bit(control, other), 1, 0);
    FAILPOINT("ps.before_apply");
    assert_int_equal(signals, 0);
    assert_true(mine->done == 0 && theirs->done == 0);
}

/* The n-th pass is struck, is counted before it is, and no later one is. */
static void the_counted_pass_is_struck_once(void **state)
{
    (void)state;
    struct fault_point *point = order("ps.before_apply", POINT_KILL, 3);
    for (int pass = 1; pass <= 5; pass++) {
        FAILPOINT("ps.before_apply");
        assert_int_equal(signals, pass >= 3);
        assert_int_equal(point->done, pass >= 3);
    }
    assert_int_equal(last_signal, SIGKILL);
    assert_int_equal(point->done_by, 2);
    assert_int_equal(point->done_pid, getpid());
    assert_int_equal(point->armed, 0);
}

/* Who starts again after his death finds the order done. */
static void the_next_life_is_spared(void **state)
{
    (void)state;
    order("ps.before_apply", POINT_FREEZE, 1);
    FAILPOINT("ps.before_apply");
    assert_int_equal(last_signal, SIGSTOP);
    failpoint_init("ps:1");
    FAILPOINT("ps.before_apply");
    assert_int_equal(signals, 1);
}

/* Passes of all who are meant count together: one is struck. */
static void passes_of_several_are_counted_together(void **state)
{
    (void)state;
    fault_control_arm(control, "load.mid_read", POINT_KILL, 6, 3, 0); /* ps:0 and ps:1. */
    FAILPOINT("load.mid_read");
    failpoint_init("ps:0");
    FAILPOINT("load.mid_read");
    assert_int_equal(signals, 0);
    FAILPOINT("load.mid_read");
    failpoint_init("ps:1");
    FAILPOINT("load.mid_read");
    assert_int_equal(signals, 1);
    assert_int_equal(control->points[0].done_by, 1);
}

/* An operation fails in words, when ordered; where nothing can fail the order is passed by. */
static void an_operation_fails_when_ordered(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_OK);
    struct fault_point *point = order("ckpt.before_sync", POINT_FAIL, 1);
    FAILPOINT("ckpt.before_sync");
    assert_int_equal(point->done, 0);
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_EIO);
    assert_non_null(strstr(error.text, "ckpt.before_sync"));
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_OK);
    assert_int_equal(point->done, 1);
}

/* A stall only takes time; an order that is taken back, none. */
static void stalls_and_released_orders_do_no_harm(void **state)
{
    (void)state;
    struct error error;
    struct fault_point *stall = order("ckpt.before_sync", POINT_STALL, 1);
    struct fault_point *released = order("ckpt.before_sync", POINT_KILL, 1);
    fault_point_release(released);
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_OK);
    assert_int_equal(stall->done, 1);
    assert_int_equal(signals, 0);
    assert_ptr_equal(order("ps.before_apply", POINT_KILL, 1), released);
}

/* Without the file, with a bad one, or without a slot in it, nothing is ever done. */
static void without_control_nothing_is_done(void **state)
{
    (void)state;
    fault_control_arm(control, "ps.before_apply", POINT_KILL, UINT64_MAX, 1, 0);
    failpoint_init("worker:7");
    FAILPOINT("ps.before_apply");
    setenv(FAULTS_VARIABLE, "/nowhere", 1);
    failpoint_init("ps:1");
    FAILPOINT("ps.before_apply");
    assert_int_equal(signals, 0);
}

/* The list has each name once, known by name, and says who passes there. */
static void the_list_is_whole(void **state)
{
    (void)state;
    static const char *const roles[] = {"any", "coordinator", "chief", "ps", "worker"};
    unsigned count;
    const struct failpoint_info *list = failpoint_list(&count);
    assert_true(failpoints_built() && count > 13);
    for (unsigned i = 0; i < count; i++) {
        bool known = false;
        for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
            known = known || strcmp(list[i].passed_by, roles[r]) == 0;
        }
        assert_true(known);
        assert_ptr_equal(failpoint_find(list[i].name), &list[i]);
        assert_true(strlen(list[i].name) < FAULT_CONTROL_POINT_MAX);
    }
    assert_null(failpoint_find("ps.nowhere"));
}

#define WITH_CONTROL(test) cmocka_unit_test_setup_teardown(test, make_control, remove_control)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CONTROL(others_are_left_alone),
        WITH_CONTROL(the_counted_pass_is_struck_once),
        WITH_CONTROL(the_next_life_is_spared),
        WITH_CONTROL(passes_of_several_are_counted_together),
        WITH_CONTROL(an_operation_fails_when_ordered),
        WITH_CONTROL(stalls_and_released_orders_do_no_harm),
        WITH_CONTROL(without_control_nothing_is_done),
        cmocka_unit_test(the_list_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
