/*
 * worker/evaluation_timer.h: about how long an evaluation takes on this worker. It reports this
 * time to the chief, which then knows how long a worker that evaluates may keep others waiting
 * (C23), also before the first evaluation. Pure.
 *
 * The time is that of the longest evaluation so far; before there was one, it follows from the time
 * of a slice. The reported time is a power of two that never falls, so that reports stay seldom.
 */
#ifndef WORKER_EVALUATION_TIMER_H
#define WORKER_EVALUATION_TIMER_H

#include <stdint.h>

/* Zero at first. */
struct evaluation_timer {
    uint64_t reported_ms; /* At least the time of an evaluation; 0: unknown yet. */
};

/* An evaluation has taken, or is expected to take, `ns`; 0: unknown, changes nothing. */
void evaluation_timer_add(struct evaluation_timer *timer, uint64_t ns);

#endif
