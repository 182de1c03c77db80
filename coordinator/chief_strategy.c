#include "coordinator/chief_strategy.h"

#include <assert.h>

#include "coordinator/chief_private.h"

/* ----------------------------------- ps: each ps holds one shard, and all must hold their shards
 * (C5) */

static bool ps_have_reported(const struct chief *c)
{
    assert(c->config.ps > 0);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_ps_reported(c, i)) { return false; }
    }
    return true;
}

static bool ps_hold(const struct chief *c, const struct run *run)
{
    assert(c->config.ps > 0);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_ps_holds(c, run, i)) { return false; }
    }
    return true;
}

static bool ps_are_empty(const struct chief *c)
{
    assert(c->config.ps > 0);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (c->ps[i].report.generation != 0) { return false; }
    }
    return true;
}

static uint64_t highest_step_of_ps(const struct chief *c, const struct run *run)
{
    uint64_t step = 0;
    assert(c->config.ps <= PS_MAX);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        /* A lost ps counts, too: the steps that it reached are those that may be lost. */
        const struct report *report = &c->ps[i].report;
        if (report->generation == run->generation) { step = u64_max(step, report->step); }
    }
    return step;
}

static bool find_lost_ps(const struct chief *c, const struct run *run, struct chief_loss *loss)
{
    assert(c->config.ps <= PS_MAX);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        const struct chief_peer *peer = &c->ps[i];
        bool gone = peer->known && !peer->present;
        bool other = chief_ps_reported(c, i) && !chief_ps_holds(c, run, i);
        if (!gone && !peer->lost && !other) { continue; }
        const char *cause = peer->cause[0] != '\0' ? peer->cause : "not running";
        if (!gone && !peer->lost) { cause = "does not hold the values of this generation"; }
        *loss = (struct chief_loss){.task = {.role = ROLE_PS, .index = i}, .cause = cause};
        return true;
    }
    return false;
}

static bool ps_have_reached(const struct chief *c, const struct run *run, uint64_t step)
{
    assert(c->config.ps > 0);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_ps_holds(c, run, i) || c->ps[i].report.step != step) { return false; }
    }
    return true;
}

static bool agrees_and_stays(const struct chief *c, const struct run *run, uint32_t worker)
{
    return chief_worker_agrees(c, run, worker) && c->workers[worker].report.leaving == 0;
}

static bool find_ps_of_shard(const struct chief *c, const struct run *run, uint32_t shard,
                             struct chief_writer *writer)
{
    if (shard >= c->config.ps) { return false; }
    *writer = (struct chief_writer){
        .task = {.role = ROLE_PS, .index = shard},
        .report = &c->ps[shard].report,
        .holds = chief_ps_holds(c, run, shard),
    };
    return true;
}

static const struct chief_strategy ps_strategy = {
    .has_reported = ps_have_reported,
    .is_held = ps_hold,
    .is_empty = ps_are_empty,
    .highest_step = highest_step_of_ps,
    .find_loss = find_lost_ps,
    .has_reached = ps_have_reached,
    .may_own = agrees_and_stays,
    .find_writer = find_ps_of_shard,
};

/* A local run has no chief. */
static const struct chief_strategy *const strategies[] = {
    [STRATEGY_PS_SYNC] = &ps_strategy,
    [STRATEGY_PS_ASYNC] = &ps_strategy,
};

const struct chief_strategy *chief_strategy_of(enum strategy_kind kind)
{
    assert(kind < sizeof strategies / sizeof strategies[0]);
    return strategies[kind];
}
