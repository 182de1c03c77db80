/* Lookups of rows of tables: W13. */
#include <assert.h>

#include "worker/training_loop_private.h"

void loop_begin_lookup(struct training_loop *loop, enum loop_lookup lookup,
                       struct loop_actions *out)
{
    assert(loop->config.rows && loop->state == LOOP_WHOLE);
    loop->lookup = lookup;
    loop->listed = false;
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        loop->ps[i].looked_up = loop->ps[i].lookup_sent = false;
    }
    struct loop_action *action = loop_act(out, LOOP_DO_LIST);
    action->step = loop->step;
    action->test = lookup == LOOKUP_TEST;
}

void loop_listed(struct training_loop *loop, const struct loop_event *event)
{
    if (loop->lookup == LOOKUP_NONE || loop->listed) { return; }
    loop->listed = true;
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        loop->ps[i].looked_up = (event->ps_set >> i & 1) == 0;
    }
}

void loop_rows(struct training_loop *loop, const struct loop_event *event)
{
    assert(event->ps < loop->config.ps);
    struct loop_ps *ps = &loop->ps[event->ps];
    if (loop->lookup == LOOKUP_NONE || !ps->lookup_sent) { return; }
    ps->lookup_sent = false;
    ps->looked_up = !event->more;
}

bool loop_has_rows(const struct training_loop *loop, enum loop_lookup lookup)
{
    if (loop->lookup != lookup || !loop->listed) { return false; }
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        if (!loop->ps[i].looked_up) { return false; }
    }
    return true;
}

bool loop_must_look_up(const struct training_loop *loop, uint32_t index)
{
    const struct loop_ps *ps = &loop->ps[index];
    return loop->lookup != LOOKUP_NONE && loop->listed && !ps->looked_up && !ps->lookup_sent;
}

void loop_look_up(struct training_loop *loop, uint32_t index, struct loop_actions *out)
{
    struct loop_action *action = loop_act(out, LOOP_DO_LOOKUP);
    action->ps = index;
    action->generation = loop->generation;
    action->step = loop->step;
    action->round = loop->round;
    loop->ps[index].lookup_sent = true;
}
