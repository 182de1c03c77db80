/* Mirror: each worker has a replica of all values, and one is enough (C21, section M). */
#include <assert.h>

#include "common/base/minmax.h"
#include "coordinator/assign.h"
#include "coordinator/chief_private.h"
#include "coordinator/chief_strategy.h"

/* M8: a worker that follows an order of this pause, or of a later one, gets no more values. */
static bool is_counted(const struct chief *c, const struct run *run, uint32_t worker)
{
    const struct report *report = &c->workers[worker].report;
    if (run->phase != RUN_PAUSED && run->phase != RUN_HELD) { return true; }
    if (c->pause_revision == 0 || c->run.phase != run->phase) { return false; }
    return report->order_epoch > c->pause_epoch ||
           (report->order_epoch == c->pause_epoch && report->order_revision >= c->pause_revision);
}

static bool worker_is_awaited(const struct chief *c, const struct run *run, uint32_t worker)
{
    const struct chief_peer *peer = &c->workers[worker];
    assert(worker < c->config.workers);
    return peer->present && (!peer->reported || !is_counted(c, run, worker));
}

static bool any_holds(const struct chief *c, const struct run *run)
{
    assert(c->config.workers > 0);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (chief_holds(c, run, i)) { return true; }
    }
    return false;
}

static bool workers_are_empty(const struct chief *c)
{
    assert(c->config.workers > 0);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (c->workers[i].report.generation != 0) { return false; }
    }
    return true;
}

/* All registered workers have tried. A damaged checkpoint counts more than a missing one: another
 * host may lack what this one has. */
static bool find_worker_failed_load(const struct chief *c, const struct run *run, uint32_t *worker)
{
    bool found = false;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        const struct chief_peer *peer = &c->workers[i];
        if (!peer->present) { continue; }
        if (!chief_load_failed(c, run, i)) { return false; }
        if (!found || peer->report.failed_load_missing == MISSING_NOTHING) { *worker = i; }
        if (peer->report.failed_load_missing == MISSING_NOTHING) { return true; }
        found = true;
    }
    return found;
}

/* Whether another worker keeps the values of one that leaves, and can have its slices. M8: in a run
 * that an operator has paused, none catches up. */
static bool has_successor(const struct chief *c, const struct run *run, uint32_t worker)
{
    const bool owns = assign_has(&c->assignment, worker);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (owns ? !chief_stays(c, run, i) : !chief_keeps(c, run, i)) { continue; }
        if (run->pause_requested && c->workers[i].report.step < c->workers[worker].report.step) {
            continue;
        }
        return true;
    }
    return false;
}

/* Whether a worker without values may still get those of one that leaves: not in a pause (M8). With
 * a gate, it is awaited there. */
static bool may_fetch(const struct chief *c, const struct run *run)
{
    return !run->pause_requested && run->gate == 0 && chief_waits_for_fetch(c);
}

/* Whether the worker leaves, and needs a gate. Unwanted workers leave without a gate while a wanted
 * one may still join: they stay until that one has the values (C22). */
static bool needs_gate(const struct chief *c, const struct run *run, uint32_t worker)
{
    const bool may_need =
        may_fetch(c, run) ? run_wants_worker(run, worker) : chief_holds(c, run, worker);
    if (c->workers[worker].report.leaving == 0 || !may_need) { return false; }
    return run->gate != 0 || !has_successor(c, run, worker);
}

/* The values of one that leaves are those of the others, unless all leave that can compute and are
 * in time. One that has no values yet counts as long as it may get them. */
static bool find_leaving_worker(const struct chief *c, const struct run *run, uint32_t *worker)
{
    bool found = false;
    assert(c->config.workers > 0);
    for (uint32_t i = c->config.workers; i > 0; i--) {
        const struct chief_peer *peer = &c->workers[i - 1];
        if (!peer->present) { continue; }
        const bool computes = peer->report.leaving == 0 && peer->report.ready != 0;
        const bool has_values = chief_holds(c, run, i - 1) && !run->pause_requested;
        const bool counts = computes && !peer->straggler.is_late;
        if (!peer->reported) { return false; }
        if (counts && (has_values || may_fetch(c, run))) { return false; }
        if (!needs_gate(c, run, i - 1)) { continue; }
        *worker = i - 1;
        found = true;
    }
    return found;
}

/* The last holder was lost; the others, if any, have reported that they hold nothing. */
static bool find_lost_workers(const struct chief *c, const struct run *run, struct chief_loss *loss)
{
    uint32_t worker = 0;
    for (uint32_t i = 0; i < c->config.workers; i++) {
        const struct chief_peer *peer = &c->workers[i];
        const bool is_unknown = !peer->known || (peer->present && !peer->reported);
        if (is_unknown || chief_holds(c, run, i)) { return false; }
        if (peer->lost && !peer->left) { worker = i; }
    }
    const struct chief_peer *peer = &c->workers[worker];
    *loss = (struct chief_loss){.task = {.role = ROLE_WORKER, .index = worker},
                                .cause = peer->cause[0] != '\0' ? peer->cause : "not running"};
    return true;
}

static bool a_worker_has_reached(const struct chief *c, const struct run *run, uint64_t step)
{
    assert(c->config.workers > 0);
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (chief_holds(c, run, i) && c->workers[i].report.step == step) { return true; }
    }
    return false;
}

static bool holds_and_agrees(const struct chief *c, const struct run *run, uint32_t worker)
{
    return chief_holds(c, run, worker) && chief_worker_agrees(c, run, worker);
}

/* The first that stays and is in time; if none does, the first that has the values. */
static uint16_t first_holder(const struct chief *c, const struct run *run)
{
    uint16_t found = 0;
    for (uint32_t i = c->config.workers; i > 0; i--) {
        if (chief_holds(c, run, i - 1)) { found = (uint16_t)(i - 1); }
    }
    for (uint32_t i = c->config.workers; i > 0; i--) {
        if (chief_stays(c, run, i - 1)) { found = (uint16_t)(i - 1); }
    }
    return found;
}

/* M10: one worker writes all values as one shard, so that any disk that has it is enough. */
static bool find_ordered_writer(const struct chief *c, const struct run *run, uint32_t shard,
                                struct chief_writer *writer)
{
    const uint32_t index = u32_min(run->save_writer, c->config.workers - 1);
    const struct chief_peer *peer = &c->workers[index];
    if (shard >= 1) { return false; }
    *writer = (struct chief_writer){
        .task = {.role = ROLE_WORKER, .index = index},
        .report = &peer->report,
        .holds = chief_holds(c, run, index),
    };
    const bool is_gone = peer->known && (!peer->present || peer->reported) && !writer->holds;
    /* M12: training would wait for it at the next multiple. */
    const bool is_replaced = peer->straggler.is_late && first_holder(c, run) != index;
    writer->lost = is_gone || is_replaced;
    return true;
}

const struct chief_strategy chief_mirror_strategy = {
    .holder = ROLE_WORKER,
    .recovery = RECOVERY_WORKER,
    .kept = RECOVERY_WORKER,
    .survives_losses = true,
    .is_awaited = worker_is_awaited,
    .is_held = any_holds,
    .is_empty = workers_are_empty,
    .find_failed_load = find_worker_failed_load,
    .find_leaving = find_leaving_worker,
    .find_loss = find_lost_workers,
    .has_reached = a_worker_has_reached,
    .choose_writer = first_holder,
    .may_own = holds_and_agrees,
    .find_writer = find_ordered_writer,
};
