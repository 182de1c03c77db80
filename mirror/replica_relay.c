/* Relays: the workers of a host send one sum for a range to an owner on another host (M14). */
#include <assert.h>

#include "common/base/minmax.h"
#include "mirror/replica_private.h"

bool replica_is_relay(const struct replica *r, uint32_t range)
{
    assert(range < r->config.ranges);
    return r->relays[range] == r->config.index;
}

/* Half the limit of C23: the owner gets gradients before it reports that they are late. */
static uint64_t wait_ms(const struct replica *r)
{
    return u64_max(LATENESS_LEAST_MS, lateness_limit_ms(&r->lateness)) / 2;
}

uint64_t replica_relay_due_ms(const struct replica *r, uint32_t range)
{
    const struct replica_ask *ask = &r->asks[range];
    if (r->relays[range] == REPLICA_NONE || ask->since_ms == 0) { return UINT64_MAX; }
    return ask->since_ms + wait_ms(r);
}

void replica_note_ready(struct replica *r, uint32_t range)
{
    struct replica_ask *ask = &r->asks[range];
    const bool is_complete = !r->is_able || slice_set_is_within(&r->owned, &r->done);
    if (replica_is_busy(r) || !is_complete) {
        ask->since_ms = 0;
    } else if (ask->since_ms == 0) {
        ask->since_ms = r->now_ms;
    }
}

/* Whether gradients of slices of this host will arrive here. */
static bool awaits_neighbours(const struct replica *r, const struct slice_set *covered)
{
    assert(r->assignment.slice_count == r->config.slices);
    for (uint32_t v = 0; v < r->config.slices; v++) {
        const uint32_t worker = r->assignment.worker[v];
        if (slice_set_has_all(covered, (struct slice_node){v, 1})) { continue; }
        if (worker >= r->config.workers || !r->is_near[worker]) { continue; }
        if (worker == r->config.index ? r->is_able : r->link_up[worker]) { return true; }
    }
    return false;
}

/* The held gradients that were not pushed to the owner, as parts of the action. Returns their
 * slices. */
static struct slice_set take_parts(const struct replica *r, const struct replica_sum *sum,
                                   struct replica_action *action, struct replica_actions *out)
{
    struct slice_set set = {0};
    action->first_part = out->part_count;
    for (uint32_t v = 0; v < r->config.slices; v++) {
        const struct slice_node node = {v, sum->count[v]};
        if (node.count == 0) { continue; }
        if (slice_set_has_all(&r->asks[action->range].forwarded, node)) { continue; }
        assert(out->part_count < REPLICA_PARTS_MAX);
        out->parts[out->part_count++] =
            (struct replica_part){.first = (uint16_t)v, .count = sum->count[v], .own = sum->own[v]};
        slice_set_add(&set, node);
    }
    action->part_count = out->part_count - action->first_part;
    return set;
}

/* Their sums are held instead of the parts. */
static void join_parts(const struct replica *r, struct replica_sum *sum,
                       const struct slice_set *set)
{
    struct slice_node nodes[SLICES_MAX];
    const uint32_t count = slices_cover(r->config.slices, set, nodes);
    assert(count >= 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct slice_node node = nodes[i];
        for (uint32_t v = node.first; v < node.first + node.count; v++) { sum->count[v] = 0; }
        sum->count[node.first] = (uint16_t)node.count;
        sum->own[node.first] = REPLICA_NOT_OWN;
    }
}

void replica_forward(struct replica *r, uint32_t range, struct replica_actions *out)
{
    struct replica_ask *ask = &r->asks[range];
    struct replica_sum *sum = replica_sum_of(r, range, r->step);
    assert(replica_is_relay(r, range) && ask->to == r->owners[range]);
    if (r->computing) { return; }
    if (slice_set_is_within(&sum->covered, &ask->forwarded)) { return; }
    const bool is_due = r->now_ms >= replica_relay_due_ms(r, range);
    if (!is_due && awaits_neighbours(r, &sum->covered)) { return; }
    struct replica_action *action = replica_act(out, REPLICA_DO_FORWARD);
    action->peer = ask->to;
    action->range = range;
    action->generation = r->generation;
    action->step = r->step;
    const struct slice_set set = take_parts(r, sum, action, out);
    join_parts(r, sum, &set);
    for (uint32_t i = 0; i < SLICES_WORDS; i++) { ask->forwarded.words[i] |= set.words[i]; }
}
