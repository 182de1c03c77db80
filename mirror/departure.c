#include "mirror/departure.h"

#include <assert.h>

#include "common/node/node.h"

static uint64_t stay_until_ms(const struct departure *departure)
{
    assert(departure->asked_ms <= UINT64_MAX - MIRROR_STAY_MS);
    return departure->asked_ms + MIRROR_STAY_MS;
}

/* Whether steps are made from the values of this generation, now or once the chief lets a paused
 * run continue to the gate (C16). */
static bool run_trains(const struct departure *departure)
{
    const struct run *run = departure->run;
    if (run->phase == RUN_RUNNING || run->phase == RUN_STOPPING) { return true; }
    const bool is_paused_by_operator =
        run->phase == RUN_PAUSED && run->recovery.kind == RECOVERY_OPERATOR;
    return is_paused_by_operator && departure->holds;
}

/* The write that commits the checkpoint of the gate pauses the run, so a gate of a run that trains
 * is still to be reached or saved, or it will move. A run that stops needs no gate. */
static bool values_are_awaited(const struct departure *departure, uint64_t now_ms)
{
    const struct run *run = departure->run;
    if (run->gate != 0 || run->phase == RUN_STOPPING) { return true; }
    return run_wants_worker(run, departure->index) && now_ms < stay_until_ms(departure);
}

bool departure_may_go(const struct departure *departure, uint64_t now_ms)
{
    assert(now_ms >= departure->asked_ms);
    if (now_ms >= departure->asked_ms + NODE_DRAIN_MS) { return true; }
    if (departure->run == NULL) { return true; }
    if (departure->saves) { return false; }
    if (!run_trains(departure)) { return true; }
    return !departure->owns && !(departure->holds && values_are_awaited(departure, now_ms));
}

uint64_t departure_deadline_ms(const struct departure *departure, uint64_t now_ms)
{
    const uint64_t stay_ms = stay_until_ms(departure);
    return now_ms < stay_ms ? stay_ms : departure->asked_ms + NODE_DRAIN_MS;
}
