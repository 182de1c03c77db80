/*
 * common/faults/fault_control.h: faults that are done inside a process, as one file that all
 * processes of a run map: the chaos harness writes what it wants, failpoints
 * (common/faults/failpoint.h) and the shim (chaos/shim) do it and count. Its path is in the
 * environment variable TANIST_FAULTS; without it nothing is ever done.
 *
 * Each process has the slot with its own name; failpoints are ordered for a set of slots. All
 * fields but the names are accessed atomically, in any order: each stands alone, but a failpoint is
 * armed by `armed`, written last.
 *
 * Threads: any. Blocking: open only.
 */
#ifndef COMMON_FAULTS_FAULT_CONTROL_H
#define COMMON_FAULTS_FAULT_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/base/error.h"

#define FAULTS_VARIABLE "TANIST_FAULTS"

enum {
    FAULT_CONTROL_SLOTS = 64,  /* A set of them is a uint64_t. */
    FAULT_CONTROL_POINTS = 32, /* Orders at a time. */
    FAULT_CONTROL_NAME_MAX = 24,
    FAULT_CONTROL_POINT_MAX = 48,
    FAULT_CONTROL_MAGIC = 0x544e4643,
    FAULT_CONTROL_VERSION = 1,
};

/* What happens at an armed failpoint. */
enum point_action { POINT_NONE, POINT_KILL, POINT_FREEZE, POINT_STALL, POINT_FAIL };

struct fault_slot {
    char name[FAULT_CONTROL_NAME_MAX]; /* "ps:1", "zookeeper:2"; set once by the harness. */
    /* The shim. 0: no fault. */
    _Atomic uint32_t write_errno;   /* Writes to files fail with it. */
    _Atomic uint32_t sync_errno;    /* fsync, fdatasync and msync fail with it. */
    _Atomic uint32_t sync_delay_ms; /* They take that much longer. */
    _Atomic int64_t clock_offset_ms;
    _Atomic uint64_t writes_failed, syncs_failed, syncs_delayed, clocks_shifted; /* Counts. */
};

/* An order: the `countdown`-th pass, by any of `who`, through the failpoint does it, once. */
struct fault_point {
    char name[FAULT_CONTROL_POINT_MAX]; /* Written while `armed` is 0. */
    _Atomic uint64_t who;               /* Bit i: the process of slots[i]. */
    _Atomic uint32_t action;            /* enum point_action */
    _Atomic uint32_t stall_ms;
    _Atomic uint32_t countdown; /* 1: the next pass; 0: none any more. */
    _Atomic uint32_t armed;     /* 1: wait for it. The process that does it sets 0 first. */
    _Atomic uint32_t by;        /* Slot of who did it, ... */
    _Atomic uint32_t pid;       /* ... and his process. */
    uint32_t taken;             /* The harness's own: this row is in use. */
    _Atomic uint64_t done;      /* 1: it has happened. */
};

struct fault_control {
    uint32_t magic, version;
    struct fault_slot slots[FAULT_CONTROL_SLOTS];
    struct fault_point points[FAULT_CONTROL_POINTS];
};

/* Make the file at `path` with these names, and map it. TN_EIO, TN_ENOSPC. Unmap with
 * fault_control_close(). */
MUST_CHECK enum tn_status fault_control_create(const char *path, const char *const *names,
                                               uint32_t count, struct fault_control **out,
                                               struct error *error);
/* Map one that is there. TN_ECORRUPT: it is of another kind or version. */
MUST_CHECK enum tn_status fault_control_open(const char *path, struct fault_control **out,
                                             struct error *error);
void fault_control_close(struct fault_control *control); /* NULL is allowed. */

/* The slot of that name; NULL: none. */
struct fault_slot *fault_control_slot(struct fault_control *control, const char *name);

/* The set of that one slot. */
uint64_t fault_slot_bit(const struct fault_control *control, const struct fault_slot *slot);

/*
 * Order `action` for the `countdown`-th pass of `who` through failpoint `name`. Returns the row
 * that counts it, until fault_point_release(); NULL: all rows are in use. A pass at the very moment
 * at which a released row is given out again may count for the new order. One thread orders.
 */
struct fault_point *fault_control_order(struct fault_control *control, const char *name,
                                        enum point_action action, uint64_t who, uint32_t countdown,
                                        uint32_t stall_ms);
/* No pass does anything any more. */
void fault_point_release(struct fault_point *point);

#endif
