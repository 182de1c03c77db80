#include "common/faults/failpoint.h"

#include <assert.h>
#include <string.h>

static const struct failpoint_info list[] = {
#define ROW(name, passed_by, can_fail, when) {name, passed_by, can_fail, when},
    FAILPOINT_LIST(ROW)
#undef ROW
};

const struct failpoint_info *failpoint_list(unsigned *count)
{
    *count = sizeof list / sizeof *list;
    return list;
}

const struct failpoint_info *failpoint_find(const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strcmp(list[i].name, name) == 0) { return &list[i]; }
    }
    return NULL;
}

bool failpoint_is_of_gpu(const char *name)
{
    static const char prefix[] = "gpu.";
    assert(name != NULL);
    return strncmp(name, prefix, sizeof prefix - 1) == 0;
}

#ifndef TANIST_FAILPOINTS

bool failpoints_built(void)
{
    return false;
}

#else

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/faults/fault_control.h"

/* Set once, before other threads start. */
static struct fault_control *control; /* NULL: failpoints do nothing. */
static uint32_t self;                 /* Our slot. */

bool failpoints_built(void)
{
    return true;
}

void failpoint_init(const char *task_name)
{
    assert(task_name != NULL);
    const char *path = getenv(FAULTS_VARIABLE);
    struct error error;
    fault_control_close(control);
    control = NULL;
    if (path == NULL || *path == '\0') { return; }
    struct fault_control *opened;
    if (fault_control_open(path, &opened, &error) != TN_OK) {
        log_warn("%s: %s; failpoints are disabled", FAULTS_VARIABLE, error.text);
        return;
    }
    const struct fault_slot *slot = fault_control_slot(opened, task_name);
    if (slot == NULL) {
        log_warn("%s: %s has no slot; failpoints are disabled", path, task_name);
        fault_control_close(opened);
        return;
    }
    self = (uint32_t)(slot - opened->slots);
    control = opened;
}

/* Whether the failpoint fires at this pass: true for one of several threads and processes. */
static bool counts_down(struct fault_point *point)
{
    uint32_t left = point->countdown;
    while (left > 0 && !atomic_compare_exchange_weak(&point->countdown, &left, left - 1)) {}
    return left == 1;
}

struct fault_slot *failpoint_slot(void)
{
    return control != NULL ? &control->slots[self] : NULL;
}

static void stall(uint32_t stall_ms)
{
    struct timespec left = {stall_ms / 1000, (long)(stall_ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

/* Recorded before it is done, as a killed process cannot record anything. */
static bool carry_out(struct fault_point *point, const char *name)
{
    assert(point->action > POINT_NONE && point->action <= POINT_FAIL);
    uint32_t action = point->action, stall_ms = point->stall_ms;
    log_warn("failpoint %s", name);
    point->done_by = self;
    point->done_pid = (uint32_t)getpid();
    point->armed = 0;
    point->done++;
    switch (action) {
    case POINT_KILL: (void)raise(SIGKILL); return false;
    case POINT_FREEZE: (void)raise(SIGSTOP); return false;
    case POINT_STALL: stall(stall_ms); return false;
    case POINT_FAIL: return true;
    default: return false;
    }
}

static bool applies(const struct fault_point *point, const char *name, bool can_fail)
{
    return point->armed != 0 && (point->slots >> self & 1) != 0 &&
           strncmp(point->name, name, FAULT_CONTROL_POINT_MAX) == 0 &&
           (can_fail || point->action != POINT_FAIL);
}

static bool pass(const char *name, bool can_fail)
{
    assert(name != NULL && self < FAULT_CONTROL_SLOTS);
    bool fails = false;
    for (int i = 0; control != NULL && i < FAULT_CONTROL_POINTS; i++) {
        struct fault_point *point = &control->points[i];
        if (applies(point, name, can_fail) && counts_down(point)) {
            fails = carry_out(point, name) || fails;
        }
    }
    return fails;
}

void failpoint_pass(const char *name)
{
    (void)pass(name, false);
}

enum tn_status failpoint_status(const char *name, struct error *error)
{
    if (!pass(name, true)) { return TN_OK; }
    return error_set(error, TN_EIO, "failpoint %s: armed to fail", name);
}

#endif
