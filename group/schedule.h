/*
 * group/schedule.h: which part of which slice a member computes next, as a pure state machine.
 *
 * A member computes the slices that the head ordered (G5), one after the other, and of each slice
 * its parts in their order (graph/passes/partition.h). A part may run once everything that it reads
 * has arrived from other members. A slice is over for a member when all its parts have run and all
 * that other members bring it has arrived: gradients of its variables, and the losses.
 *
 * Every member needs the losses, and they depend on every member, so no member is more than one
 * slice ahead of another. What arrives therefore belongs to the present slice or to the next one,
 * for which there are two *slots*. All orders of a head are for all members, and the next one
 * follows when all have carried out the last one: the first slice of an order that has not arrived
 * yet is the next one as well.
 *
 * A value is a fact: labels that are equal mean bits that are equal. One that has arrived before is
 * dropped.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef GROUP_SCHEDULE_H
#define GROUP_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/slices.h"

enum { SCHEDULE_SLOTS = 2 };

/* The run of a slice. */
struct schedule_label {
    uint64_t generation, step;
    uint32_t slice;
};

struct schedule_config {
    uint32_t parts;
    /* By arrival from another member: the first part that reads it; `parts`: none does, and
     * it belongs to the results. In ascending order. Outlives the schedule. */
    const uint32_t *readers;
    uint32_t arrivals;
    /* Memory of the schedule: SCHEDULE_SLOTS * `arrivals` elements. Outlives it. */
    bool *here;
};

enum schedule_do {
    SCHEDULE_WAIT,   /* For an arrival, or for an order. */
    SCHEDULE_RUN,    /* Run `part`, then schedule_ran(). */
    SCHEDULE_FINISH, /* Take the results of the slice, then schedule_finished(). */
};

struct schedule_next {
    enum schedule_do what;
    struct schedule_label label;
    uint32_t part;
    uint32_t slot; /* The slot of the slice. */
};

/* Private to schedule.c. */
struct slice_schedule {
    struct schedule_config config;
    struct schedule_label labels[SCHEDULE_SLOTS];
    uint32_t first_missing[SCHEDULE_SLOTS];
    uint32_t present;        /* The slot of the present slice, or of the first one ordered next. */
    bool is_expected;        /* Idle: its label is known, because something has arrived. */
    uint32_t part;           /* The next one. */
    struct slice_node order; /* The slices that are left; none: idle. */
};

void schedule_init(struct slice_schedule *schedule, const struct schedule_config *config);
/* Idle, and nothing has arrived. */
void schedule_reset(struct slice_schedule *schedule);

/* Slices `node` of a step are to be computed. False: others are being computed, or a value has
 * arrived that is not for the first of these; nothing has changed. */
bool schedule_order(struct slice_schedule *schedule, uint64_t generation, uint64_t step,
                    struct slice_node node);
bool schedule_is_idle(const struct slice_schedule *schedule);

enum schedule_arrival {
    SCHEDULE_KEEP,    /* To be kept in `*slot`. */
    SCHEDULE_DROP,    /* The value has arrived before. */
    SCHEDULE_INVALID, /* Its slice is neither of the two: the sender is faulty. */
};
enum schedule_arrival schedule_arrived(struct slice_schedule *schedule,
                                       const struct schedule_label *label, uint32_t arrival,
                                       uint32_t *slot);

struct schedule_next schedule_next(const struct slice_schedule *schedule);
/* The part that was next has run. */
void schedule_ran(struct slice_schedule *schedule);
/* The results of the slice were taken, and its slot is free. True: it was the last one ordered. */
bool schedule_finished(struct slice_schedule *schedule);

#endif
