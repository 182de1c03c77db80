/* Sync mode with norms: the parts of the norm of a step, one from each ps (P11). */
#include <assert.h>

#include "ps/step_private.h"

static_assert(PS_MAX <= 64, "a bit for each ps");

static uint64_t bit(uint32_t ps)
{
    assert(ps < PS_MAX);
    return 1ULL << ps;
}

static uint64_t missing(const struct ps_step *s)
{
    return UINT64_MAX >> (64 - s->config.ps) & ~s->parts_held;
}

uint64_t ps_step_awaited_parts(const struct ps_step *s)
{
    return s->measured ? missing(s) : 0;
}

bool ps_norm_known(struct ps_step *s, struct ps_actions *out)
{
    assert(slice_set_count(&s->covered) == s->config.slices);
    if (!s->config.norms) { return true; }
    if (!s->measuring && !s->measured) {
        s->measuring = true;
        ps_sync_list(s, out);
        ps_act(out, PS_DO_MEASURE)->step = s->step;
    }
    return s->measured && missing(s) == 0;
}

static void send_part(const struct ps_step *s, uint32_t ps, bool previous, struct ps_actions *out)
{
    assert(ps != s->config.index);
    struct ps_action *action = ps_act(out, PS_DO_SEND_PART);
    action->first = ps;
    action->generation = s->generation;
    action->step = previous ? s->step - 1 : s->step;
    action->previous = previous;
}

void ps_norm_measured(struct ps_step *s, struct ps_actions *out)
{
    if (!s->measuring) { return; }
    s->measuring = false;
    s->measured = true;
    s->parts_held |= bit(s->config.index);
    for (uint32_t i = 0; i < s->config.ps; i++) {
        if (i != s->config.index) { send_part(s, i, false, out); }
    }
}

void ps_norm_part(struct ps_step *s, const struct ps_event *event, struct ps_actions *out)
{
    assert(s->config.norms);
    assert(event->first < s->config.ps && event->first != s->config.index);
    bool present = event->generation == s->generation && s->generation != 0 &&
                   event->step == s->step && !s->applying;
    if (!present || (s->parts_held & bit(event->first)) != 0) {
        ps_act(out, PS_DO_DROP);
        return;
    }
    s->parts_held |= bit(event->first);
    ps_act(out, PS_DO_HOLD_PART)->first = event->first;
}

void ps_norm_link_up(struct ps_step *s, uint32_t ps, struct ps_actions *out)
{
    if (s->has_previous_part) { send_part(s, ps, true, out); }
    if (s->measured) { send_part(s, ps, false, out); }
}

void ps_norm_applied(struct ps_step *s)
{
    s->has_previous_part = s->measured;
    s->measured = false;
    s->parts_held = 0;
}

void ps_norm_forget(struct ps_step *s)
{
    s->measuring = s->measured = s->has_previous_part = false;
    s->parts_held = 0;
}
