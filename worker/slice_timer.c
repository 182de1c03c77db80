#include "worker/slice_timer.h"

#include <assert.h>

#include "common/base/minmax.h"

/* The average after a window in which a slice took `ns`. */
static uint64_t average_with(uint64_t average_ns, uint64_t ns)
{
    if (average_ns == 0) { return ns; }
    const uint64_t bounded = u64_max(average_ns / 2, u64_min(ns, average_ns * 2));
    return (average_ns * (SLICE_TIMER_WEIGHT - 1) + bounded) / SLICE_TIMER_WEIGHT;
}

bool slice_timer_measures(struct slice_timer *timer)
{
    assert(timer->unmeasured < SLICE_TIMER_SAMPLE);
    if (!timer->is_short || timer->unmeasured == SLICE_TIMER_SAMPLE - 1) { return true; }
    timer->unmeasured++;
    return false;
}

void slice_timer_add(struct slice_timer *timer, uint64_t slices, uint64_t ns)
{
    assert(slices > 0);
    if (timer->warm) {
        const uint64_t stands_for = 1 + timer->unmeasured;
        timer->window_slices += stands_for * slices;
        timer->window_ns += stands_for * ns;
    }
    timer->unmeasured = 0;
    timer->is_short = timer->warm && ns < SLICE_TIMER_SHORT_NS;
    timer->warm = true;
    if (timer->window_ns < SLICE_TIMER_WINDOW_NS) { return; }
    timer->average_ns =
        u64_max(1, average_with(timer->average_ns, timer->window_ns / timer->window_slices));
    timer->window_slices = timer->window_ns = 0;
    const uint64_t tolerance = timer->reported_ns / SLICE_TIMER_TOLERANCE;
    const uint64_t difference = timer->average_ns > timer->reported_ns
                                    ? timer->average_ns - timer->reported_ns
                                    : timer->reported_ns - timer->average_ns;
    if (difference > tolerance) { timer->reported_ns = timer->average_ns; }
}

uint64_t slice_timer_ns(const struct slice_timer *timer)
{
    if (timer->average_ns != 0) { return timer->average_ns; }
    return timer->window_slices > 0 ? timer->window_ns / timer->window_slices : 0;
}
