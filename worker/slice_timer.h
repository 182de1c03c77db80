/*
 * worker/slice_timer.h: the processor time that this worker needs for a slice (W12), as it reports
 * it to the chief, which gives slow workers fewer slices (C20). Pure.
 *
 * The time is averaged over windows of SLICE_TIMER_WINDOW_NS of computing. A window counts as at
 * most twice, and at least half, the average: caches that were cold once, or a processor that was
 * throttled for a moment, are not a slow host. The reported time changes only with the average by
 * more than a sixteenth, so that reports stay seldom.
 *
 * To read this clock is a system call, two of which take as long as a tenth of a step of a tiny
 * model. So after a computation of less than SLICE_TIMER_SHORT_NS only one of the next
 * SLICE_TIMER_SAMPLE is measured, and counts for all of them.
 */
#ifndef WORKER_SLICE_TIMER_H
#define WORKER_SLICE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SLICE_TIMER_WINDOW_NS = 200 * 1000 * 1000,
    SLICE_TIMER_WEIGHT = 4,     /* A window is a quarter of the new average. */
    SLICE_TIMER_TOLERANCE = 16, /* The reported time differs by at most this part. */
    SLICE_TIMER_SHORT_NS = 50 * 1000,
    SLICE_TIMER_SAMPLE = 16,
};

/* Zero at first. */
struct slice_timer {
    uint64_t reported_ns; /* The time of a slice; 0: unknown yet. */
    /* Private. */
    uint64_t average_ns;
    uint64_t window_ns, window_slices;
    bool warm;     /* Something was computed before. */
    bool is_short; /* The last measured computation was short. */
    uint32_t unmeasured;
};

/* Whether the computation that begins now is to be measured, and slice_timer_add() to be called. */
bool slice_timer_measures(struct slice_timer *timer);
/* `slices` slices were computed in `ns`. The first call is ignored: it allocates memory. */
void slice_timer_add(struct slice_timer *timer, uint64_t slices, uint64_t ns);

/* The time of a slice as far as it is known, also before the first window is over; 0: unknown. */
uint64_t slice_timer_ns(const struct slice_timer *timer);

#endif
