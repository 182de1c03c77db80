/* The drain before a change of the job, and the start after it (S14). */
#include <assert.h>

#include "agent/supervisor_private.h"

bool supervisor_may_drain(struct supervisor *supervisor, const struct supervisor_event *event)
{
    const bool works = supervisor->phase == SUPERVISOR_WORKING;
    assert(event->type == SUPERVISOR_DRAIN);
    if (!works && (!supervisor->changes || event->changes)) { return false; }
    supervisor->changes = event->changes;
    supervisor->stopped = false;
    supervisor->drain_until_ms = event->until_ms;
    return true;
}

void supervisor_kill_late(struct supervisor *supervisor, struct supervisor_actions *out)
{
    assert(supervisor->changes);
    supervisor->drain_until_ms = UINT64_MAX;
    supervisor->stage = DRAIN_STAGES;
    for (uint32_t i = 0; i < supervisor->count; i++) {
        struct supervised *child = &supervisor->children[i];
        if (child->kind != CHILD_NODE) { continue; }
        if (child->state == CHILD_WAITING) { child->state = CHILD_IDLE; }
        (void)supervisor_kill(supervisor, i, out);
    }
}

void supervisor_ask_change(struct supervisor *supervisor, struct supervisor_actions *out)
{
    assert(supervisor->changes);
    if (supervisor->stopped || supervisor_any_runs(supervisor, CHILD_NODE)) { return; }
    supervisor->stopped = true;
    supervisor_act(out, DO_CHANGE, 0, VERDICT_NONE);
}

void supervisor_changed(struct supervisor *supervisor, uint64_t now_ms,
                        struct supervisor_actions *out)
{
    if (supervisor->phase != SUPERVISOR_DRAINING || !supervisor->stopped) { return; }
    assert(!supervisor_any_runs(supervisor, CHILD_NODE));
    supervisor->phase = SUPERVISOR_WORKING;
    supervisor->phase_ms = now_ms;
    supervisor->stage = DRAIN_PS;
    supervisor->changes = supervisor->stopped = false;
    supervisor->drain_late = supervisor->drain_lost = false;
    for (uint32_t i = 0; i < supervisor->count; i++) {
        struct supervised *child = &supervisor->children[i];
        if (child->kind == CHILD_NODE) { child->faults = child->delay_ms = child->starts = 0; }
    }
    supervisor_start(supervisor, CHILD_NODE, out);
}
