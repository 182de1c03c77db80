/* The answers for which a training loop waits, and the time at which it asks again. */
#include <assert.h>

#include "common/base/minmax.h"
#include "worker/training_loop_private.h"

bool training_loop_waits_for(const struct training_loop *loop, uint32_t index)
{
    assert(index < loop->config.ps);
    const struct loop_ps *ps = &loop->ps[index];
    if (!loop_is_active(loop) || loop->state == LOOP_IDLE) { return false; }
    if (loop->lookup != LOOKUP_NONE && loop->listed && !ps->looked_up) { return true; }
    if (ps->held) { return false; }
    return loop->state == LOOP_GATHER || (loop->node_count > 0 && loop_may_push(loop));
}

uint64_t training_loop_deadline_ms(const struct training_loop *loop)
{
    uint64_t deadline = UINT64_MAX;
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        const struct loop_ps *ps = &loop->ps[i];
        bool lacks = loop->state == LOOP_GATHER
                         ? !ps->asked
                         : ps->sent < loop->node_count && loop_may_push(loop);
        bool unsent = (lacks && !ps->held) || loop_must_look_up(loop, i);
        if (!ps->up || !unsent || !training_loop_waits_for(loop, i)) { continue; }
        deadline = u64_min(deadline, ps->retry_at_ms);
    }
    return deadline;
}
