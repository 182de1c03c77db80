/* Failpoints do what they are armed for, at the right pass, once. Built with failpoints. */
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

/* Replaces the function of libc, as the test must not be killed. */
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

static struct fault_point *arm(const char *name, enum point_action action, uint32_t countdown)
{
    const struct fault_slot *slot = fault_control_slot(control, "ps:1");
    return fault_control_arm(control, name, action, fault_slot_bit(control, slot), countdown, 1);
}

/* Nothing happens where nothing is armed, at other failpoints, and in other processes. */
static void other_passes_do_nothing(void **state)
{
    (void)state;
    const struct fault_slot *other = fault_control_slot(control, "ps:0");
    FAILPOINT("ps.before_apply");
    struct fault_point *mine = arm("ps.before", POINT_KILL, 1);
    struct fault_point *theirs = fault_control_arm(control, "ps.before_apply", POINT_KILL,
                                                   fault_slot_bit(control, other), 1, 0);
    FAILPOINT("ps.before_apply");
    assert_int_equal(signals, 0);
    assert_true(mine->done == 0 && theirs->done == 0);
}

/* The n-th pass is hit, after it was recorded; later passes are not. */
static void counted_pass_is_hit_once(void **state)
{
    (void)state;
    struct fault_point *point = arm("ps.before_apply", POINT_KILL, 3);
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

/* A process that starts again finds the failpoint disarmed. */
static void next_incarnation_is_not_hit(void **state)
{
    (void)state;
    arm("ps.before_apply", POINT_FREEZE, 1);
    FAILPOINT("ps.before_apply");
    assert_int_equal(last_signal, SIGSTOP);
    failpoint_init("ps:1");
    FAILPOINT("ps.before_apply");
    assert_int_equal(signals, 1);
}

/* Passes of all slots count together; one of them is hit. */
static void passes_of_all_slots_are_counted_together(void **state)
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

/* An operation fails with a message when armed to; a failpoint that cannot fail ignores that. */
static void operation_fails_when_armed(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_OK);
    struct fault_point *point = arm("ckpt.before_sync", POINT_FAIL, 1);
    FAILPOINT("ckpt.before_sync");
    assert_int_equal(point->done, 0);
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_EIO);
    assert_non_null(strstr(error.text, "ckpt.before_sync"));
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_OK);
    assert_int_equal(point->done, 1);
}

/* A stall takes time; a released failpoint does nothing. */
static void stall_takes_time_and_released_does_nothing(void **state)
{
    (void)state;
    struct error error;
    struct fault_point *stall = arm("ckpt.before_sync", POINT_STALL, 1);
    struct fault_point *released = arm("ckpt.before_sync", POINT_KILL, 1);
    fault_point_release(released);
    assert_int_equal(FAILPOINT_STATUS("ckpt.before_sync", &error), TN_OK);
    assert_int_equal(stall->done, 1);
    assert_int_equal(signals, 0);
    assert_ptr_equal(arm("ps.before_apply", POINT_KILL, 1), released);
}

/* Without the file, with a wrong file, or without a slot in it, nothing happens. */
static void without_control_nothing_happens(void **state)
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

/* The list has each name once, with the nodes that pass it. */
static void list_is_complete(void **state)
{
    (void)state;
    static const char *const roles[] = {"any", "coordinator", "chief", "ps", "worker", "gpu"};
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
        WITH_CONTROL(other_passes_do_nothing),
        WITH_CONTROL(counted_pass_is_hit_once),
        WITH_CONTROL(next_incarnation_is_not_hit),
        WITH_CONTROL(passes_of_all_slots_are_counted_together),
        WITH_CONTROL(operation_fails_when_armed),
        WITH_CONTROL(stall_takes_time_and_released_does_nothing),
        WITH_CONTROL(without_control_nothing_happens),
        cmocka_unit_test(list_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
