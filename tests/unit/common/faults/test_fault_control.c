/* The fault control file: created, shared by all processes that map it, and checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/faults/fault_control.h"

static char folder[] = "/tmp/tanist-control-XXXXXX";
static char path[64];
static const char *const names[] = {"agent", "zookeeper:1", "ps:0"};

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) { return 1; }
    snprintf(path, sizeof path, "%s/faults.ctl", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

/* A value written through one map is read through another. */
static void two_maps_share_the_file(void **state)
{
    (void)state;
    struct fault_control *harness, *node;
    assert_int_equal(fault_control_create(path, names, 3, &harness, NULL), TN_OK);
    assert_int_equal(fault_control_open(path, &node, NULL), TN_OK);
    fault_control_slot(harness, "ps:0")->sync_errno = 5;
    assert_int_equal(fault_control_slot(node, "ps:0")->sync_errno, 5);
    assert_int_equal(fault_control_slot(node, "agent")->sync_errno, 0);
    fault_control_slot(node, "ps:0")->syncs_failed++;
    assert_int_equal(fault_control_slot(harness, "ps:0")->syncs_failed, 1);
    fault_control_close(node);
    fault_control_close(harness);
}

/* A slot is found by its complete name only, and has its own bit. */
static void slots_are_found_by_name(void **state)
{
    (void)state;
    struct fault_control *control;
    assert_int_equal(fault_control_create(path, names, 3, &control, NULL), TN_OK);
    assert_null(fault_control_slot(control, "ps:1"));
    assert_null(fault_control_slot(control, "ps"));
    assert_null(fault_control_slot(NULL, "ps:0"));
    for (unsigned i = 0; i < 3; i++) {
        const struct fault_slot *slot = fault_control_slot(control, names[i]);
        assert_true(fault_slot_bit(control, slot) == (uint64_t)1 << i);
    }
    fault_control_close(control);
}

/* Failpoints can be armed until all rows are in use; a released row is reused and reset. */
static void rows_are_bounded_and_reused(void **state)
{
    (void)state;
    struct fault_control *control;
    struct fault_point *rows[FAULT_CONTROL_POINTS];
    assert_int_equal(fault_control_create(path, names, 3, &control, NULL), TN_OK);
    for (int i = 0; i < FAULT_CONTROL_POINTS; i++) {
        rows[i] = fault_control_arm(control, "ckpt.before_sync", POINT_KILL, 4, 2, 0);
        assert_non_null(rows[i]);
    }
    assert_null(fault_control_arm(control, "ps.mid_step", POINT_KILL, 4, 1, 0));
    rows[3]->done = 1;
    fault_point_release(rows[3]);
    assert_int_equal(rows[3]->armed, 0);
    struct fault_point *again = fault_control_arm(control, "x", POINT_STALL, 1, 1, 70);
    assert_ptr_equal(again, rows[3]);
    assert_string_equal(again->name, "x");
    assert_true(again->done == 0 && again->armed == 1 && again->stall_ms == 70);
    fault_control_close(control);
}

/* A file of another size, magic or version is refused with a message. */
static void other_files_are_refused(void **state)
{
    (void)state;
    struct fault_control *control;
    struct error error;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("no control", file) >= 0 && fclose(file) == 0);
    assert_int_equal(fault_control_open(path, &control, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, path));
    for (int field = 0; field < 2; field++) {
        assert_int_equal(fault_control_create(path, names, 3, &control, NULL), TN_OK);
        *(field == 0 ? &control->magic : &control->version) += 1;
        fault_control_close(control);
        assert_int_equal(fault_control_open(path, &control, &error), TN_ECORRUPT);
        assert_null(control);
    }
    (void)unlink(path);
    assert_int_equal(fault_control_open(path, &control, &error), TN_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_maps_share_the_file),
        cmocka_unit_test(slots_are_found_by_name),
        cmocka_unit_test(rows_are_bounded_and_reused),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
