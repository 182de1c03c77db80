/* Which worker evaluates an ordered step, and when: M9, and M12 while the first one is late. */
#include <assert.h>

#include "common/base/minmax.h"
#include "mirror/replica_private.h"

static bool owns_slices(const struct replica *r)
{
    return slice_set_count(&r->owned) > 0;
}

/* Whether the worker may evaluate: it owns slices, or no owner of slices is connected, because all
 * of them have died and no other worker can compute. */
static bool may_evaluate(const struct replica *r)
{
    if (owns_slices(r)) { return true; }
    for (uint32_t v = 0; v < r->config.slices; v++) {
        const uint16_t worker = r->assignment.worker[v];
        if (worker < r->config.workers && r->link_up[worker]) { return false; }
    }
    return true;
}

/* The order waits for an evaluation of the values that this worker has. */
static bool is_due(const struct replica *r)
{
    const uint64_t step = r->run.evaluate_step;
    if (!r->whole || !replica_is_active(r) || !may_evaluate(r)) { return false; }
    return step != STEP_NONE && r->step == step && r->evaluated_step != step;
}

/* Without slices: as many as are connected and have lower numbers. */
static uint32_t place_without_slices(const struct replica *r)
{
    uint32_t place = 0;
    assert(!owns_slices(r));
    for (uint32_t w = 0; w < r->config.index; w++) { place += r->link_up[w]; }
    return place;
}

/* How many workers evaluate before this one: workers follow each other in the order of their first
 * slices. */
static uint32_t place_of(const struct replica *r)
{
    bool counted[WORKERS_MAX] = {false};
    uint32_t place = 0;
    assert(r->config.slices >= 1 && r->config.slices <= SLICES_MAX);
    if (!owns_slices(r)) { return place_without_slices(r); }
    for (uint32_t v = 0; v < r->config.slices; v++) {
        const uint16_t worker = r->assignment.worker[v];
        if (worker == r->config.index) { break; }
        if (worker < r->config.workers && counted[worker]) { continue; }
        if (worker < r->config.workers) { counted[worker] = true; }
        place++;
    }
    return place;
}

uint64_t replica_evaluation_due_ms(const struct replica *r)
{
    if (!is_due(r) || !r->awaits_evaluation) { return UINT64_MAX; }
    const uint64_t limit_ms = u64_max(LATENESS_LEAST_MS, r->evaluation_ms * LATENESS_FACTOR);
    return r->evaluation_since_ms + place_of(r) * limit_ms;
}

void replica_evaluate(struct replica *r, struct replica_actions *out)
{
    if (!is_due(r)) {
        r->awaits_evaluation = false;
        return;
    }
    if (!r->awaits_evaluation) { r->evaluation_since_ms = r->now_ms; }
    r->awaits_evaluation = true;
    if (replica_is_busy(r) || r->now_ms < replica_evaluation_due_ms(r)) { return; }
    r->evaluated_step = r->step;
    r->evaluating = true;
    struct replica_action *action = replica_act(out, REPLICA_DO_EVALUATE);
    action->generation = r->generation;
    action->step = r->step;
}
