/* Lookups of rows of tables: W13. */
#include <assert.h>

#include "worker/training_loop_private.h"

void loop_end_lookup(struct training_loop *loop)
{
    loop->lookup = LOOKUP_NONE;
    loop->listed = false;
    for (uint32_t i = 0; i < loop->config.ps; i++) {
        loop->ps[i].looked_up = loop->ps[i].lookup_sent = false;
    }
}

bool loop_looks_ahead(const struct training_loop *loop)
{
    return loop->lookup != LOOKUP_NONE && loop->lookup_step > loop->step;
}

void loop_begin_lookup(struct training_loop *loop, enum loop_lookup lookup, uint64_t step,
                       struct loop_actions *out)
{
    assert(loop->config.rows && loop->state == LOOP_WHOLE);
    assert(step == loop->step || (lookup == LOOKUP_SLICES && step == loop->step + 1));
    loop_end_lookup(loop);
    loop->lookup = lookup;
    loop->lookup_step = step;
    struct loop_action *action = loop_act(out, LOOP_DO_LIST);
    action->step = step;
    action->test = lookup == LOOKUP_TEST;
}

/* The slices that are owned now are those of the next step, unless they are assigned otherwise
 * meanwhile. */
void loop_look_ahead(struct training_loop *loop, struct loop_actions *out)
{
    const struct slice_set missing = loop_missing(loop);
    const bool may_begin =
        loop->config.rows && loop->state == LOOP_WHOLE && loop->lookup == LOOKUP_NONE;
    const bool follows = loop->phase == RUN_RUNNING && loop->step + 1 < loop->until &&
                         loop->node_count > 0 && slice_set_count(&missing) == 0;
    if (!may_begin || !follows) { return; }
    loop->sought = loop->owned;
    loop_begin_lookup(loop, LOOKUP_SLICES, loop->step + 1, out);
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
    action->step = loop->lookup_step;
    action->round = loop->round;
    loop->ps[index].lookup_sent = true;
}
