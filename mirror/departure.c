#include "mirror/departure.h"

#include <assert.h>

#include "common/node/node.h"

/* Whether steps are made from the values of this generation, now or once the chief lets a paused
 * run continue to the gate (C16). */
static bool run_trains(const struct departure *departure)
{
    const struct run *run = departure->run;
    if (run->phase == RUN_RUNNING || run->phase == RUN_STOPPING) { return true; }
    return run_is_paused_by_operator(run) && departure->holds;
}

bool departure_may_go(const struct departure *departure, uint64_t now_ms)
{
    const struct run *run = departure->run;
    assert(now_ms >= departure->asked_ms);
    if (now_ms >= departure_deadline_ms(departure) || run == NULL) { return true; }
    if (departure->saves) { return false; }
    if (!run_trains(departure)) { return true; }
    if (departure->owns) { return false; }
    return !departure->holds || run_has_released(run, departure->incarnation);
}

uint64_t departure_deadline_ms(const struct departure *departure)
{
    assert(departure->asked_ms <= UINT64_MAX - NODE_DRAIN_MS);
    return departure->asked_ms + NODE_DRAIN_MS;
}
