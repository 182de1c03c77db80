/* The gradients held for the sum of a range, and the questions that wait for it. */
#include <assert.h>

#include "mirror/replica_private.h"

struct replica_sum *replica_sum_of(struct replica *r, uint32_t range, uint64_t step)
{
    assert(range < r->config.ranges);
    return &r->sums[range][step % 2];
}

bool replica_hold(struct replica_sum *sum, struct slice_node node, uint16_t own)
{
    assert(node.count > 0 && node.first + node.count <= SLICES_MAX);
    if (slice_set_has_all(&sum->covered, node)) { return false; }
    for (uint32_t v = node.first; v < node.first + node.count; v++) { sum->count[v] = 0; }
    slice_set_add(&sum->covered, node);
    sum->count[node.first] = (uint16_t)node.count;
    sum->own[node.first] = own;
    return true;
}

void replica_reduce(struct replica *r, uint32_t range, struct replica_actions *out)
{
    const struct replica_sum *sum = replica_sum_of(r, range, r->step);
    if (!r->whole || r->have[range]) { return; }
    if (slice_set_count(&sum->covered) < r->config.slices) { return; }
    struct replica_action *action = replica_act(out, REPLICA_DO_REDUCE);
    action->range = range;
    action->generation = r->generation;
    action->step = r->step;
    action->first_part = out->part_count;
    for (uint32_t v = 0; v < r->config.slices; v++) {
        if (sum->count[v] == 0) { continue; }
        assert(out->part_count < REPLICA_PARTS_MAX);
        out->parts[out->part_count++] =
            (struct replica_part){.first = (uint16_t)v, .count = sum->count[v], .own = sum->own[v]};
    }
    action->part_count = out->part_count - action->first_part;
    r->have[range] = true;
    replica_answer_waiters(r, range, out);
}

/* ------------------------------------------------------------------ answers */

void replica_answer(const struct replica *r, uint32_t conn, uint32_t range, uint64_t step,
                    struct replica_actions *out)
{
    struct replica_action *action = replica_act(out, REPLICA_DO_ANSWER);
    assert(step >= r->kept_from && step <= r->step);
    action->conn = conn;
    action->range = range;
    action->generation = r->generation;
    action->step = step;
}

void replica_refuse(const struct replica *r, uint32_t conn, uint32_t range,
                    enum replica_refusal refusal, struct replica_actions *out)
{
    struct replica_action *action = replica_act(out, REPLICA_DO_REFUSE);
    assert(range < r->config.ranges || range == REPLICA_ALL_RANGES);
    action->conn = conn;
    action->range = range;
    action->generation = r->generation;
    action->step = r->step;
    action->refusal = refusal;
}

void replica_remove_waiter(struct replica *r, uint32_t index)
{
    assert(index < r->waiter_count);
    r->waiters[index] = r->waiters[--r->waiter_count];
}

bool replica_add_waiter(struct replica *r, uint32_t conn, uint32_t range, uint64_t step)
{
    assert(r->waiter_count <= REPLICA_WAITERS_MAX);
    for (uint32_t i = 0; i < r->waiter_count; i++) {
        struct replica_waiter *waiter = &r->waiters[i];
        if (waiter->conn != conn || waiter->range != range) { continue; }
        waiter->step = step;
        return true;
    }
    if (r->waiter_count == REPLICA_WAITERS_MAX) { return false; }
    r->waiters[r->waiter_count++] = (struct replica_waiter){conn, range, step};
    return true;
}

void replica_answer_waiters(struct replica *r, uint32_t range, struct replica_actions *out)
{
    assert(r->have[range]);
    for (uint32_t i = 0; i < r->waiter_count;) {
        const struct replica_waiter waiter = r->waiters[i];
        if (waiter.range != range || waiter.step != r->step) {
            i++;
            continue;
        }
        replica_remove_waiter(r, i);
        replica_answer(r, waiter.conn, range, r->step, out);
    }
}
