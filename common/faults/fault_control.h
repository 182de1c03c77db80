/*
 * common/faults/fault_control.h: faults inside a process, controlled by a file that all processes
 * of a run map. The chaos harness writes the faults; failpoints (common/faults/failpoint.h), the
 * shim (chaos/shim) and the port to the driver of GPUs (kernels/gpu) carry them out and count. The
 * environment variable TANIST_FAULTS has its path; without it no fault occurs.
 *
 * Each process uses the slot with its own name; a failpoint is armed for a set of slots. All fields
 * but the names are accessed atomically and independently; `armed` of a failpoint is written last.
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
    FAULT_CONTROL_POINTS = 32, /* Armed at the same time. */
    FAULT_CONTROL_NAME_MAX = 24,
    FAULT_CONTROL_POINT_MAX = 48,
    FAULT_CONTROL_MAGIC = 0x544e4643,
    FAULT_CONTROL_VERSION = 2,
};

/* The action of an armed failpoint. */
enum point_action { POINT_NONE, POINT_KILL, POINT_FREEZE, POINT_STALL, POINT_FAIL };

struct fault_slot {
    char name[FAULT_CONTROL_NAME_MAX]; /* "ps:1", "zookeeper:2"; set once by the harness. */
    /* The shim. 0: no fault. */
    _Atomic uint32_t write_errno;   /* Writes to files fail with it. */
    _Atomic uint32_t sync_errno;    /* fsync, fdatasync and msync fail with it. */
    _Atomic uint32_t sync_delay_ms; /* Each sync takes this much longer. */
    _Atomic int64_t clock_offset_ms;
    _Atomic uint64_t writes_failed, syncs_failed, syncs_delayed, clocks_shifted; /* Counts. */
    /* The port to the driver of GPUs. 0: no fault. */
    _Atomic uint32_t gpu_full;         /* Allocations of the GPU's memory fail. */
    _Atomic uint32_t gpu_lost;         /* The GPU has disappeared. */
    _Atomic uint32_t gpu_user;         /* The last process that has waited for its GPU. */
    _Atomic uint64_t gpu_calls_failed; /* A count. */
};

/* Arms a failpoint: the `countdown`-th pass, by any process of `slots`, carries out `action`
 * once. */
struct fault_point {
    char name[FAULT_CONTROL_POINT_MAX]; /* Written while `armed` is 0. */
    _Atomic uint64_t slots;             /* Bit i: the process of slots[i]. */
    _Atomic uint32_t action;            /* enum point_action */
    _Atomic uint32_t stall_ms;
    _Atomic uint32_t countdown; /* 1: the next pass; 0: no later pass. */
    _Atomic uint32_t armed;     /* 1: armed. The process that carries it out sets 0 first. */
    _Atomic uint32_t done_by;   /* The slot of the process that carried it out. */
    _Atomic uint32_t done_pid;  /* The id of that process. */
    uint32_t taken;             /* This row is in use; for the harness alone. */
    _Atomic uint64_t done;      /* 1: it was carried out. */
};

struct fault_control {
    uint32_t magic, version;
    struct fault_slot slots[FAULT_CONTROL_SLOTS];
    struct fault_point points[FAULT_CONTROL_POINTS];
};

/* Create the file at `path` with a slot per name, and map it. TN_EIO, TN_ENOSPC. Unmap it with
 * fault_control_close(). */
MUST_CHECK enum tn_status fault_control_create(const char *path, const char *const *names,
                                               uint32_t count, struct fault_control **out,
                                               struct error *error);
/* Map an existing file. TN_ECORRUPT: it is not one, or of another version. */
MUST_CHECK enum tn_status fault_control_open(const char *path, struct fault_control **out,
                                             struct error *error);
void fault_control_close(struct fault_control *control); /* NULL is allowed. */

/* The slot with that name; NULL: none. */
struct fault_slot *fault_control_slot(struct fault_control *control, const char *name);

/* The set that has only this slot. */
uint64_t fault_slot_bit(const struct fault_control *control, const struct fault_slot *slot);

/*
 * Arm failpoint `name` with `action` for the `countdown`-th pass of a process of `slots`. Returns
 * the row that records it, valid until fault_point_release(); NULL: all rows are in use. A pass at
 * the moment at which a released row is used again may count for the new one. Only one thread arms.
 */
struct fault_point *fault_control_arm(struct fault_control *control, const char *name,
                                      enum point_action action, uint64_t slots, uint32_t countdown,
                                      uint32_t stall_ms);
/* Disarm it. */
void fault_point_release(struct fault_point *point);

#endif
