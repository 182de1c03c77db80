#include "coordinator/chief_strategy.h"

#include <assert.h>

#include "coordinator/chief_private.h"

/* ----------------------------------- ps: each ps holds one shard, and all must hold their shards
 * (C5) */

static bool ps_is_awaited(const struct chief *c, const struct run *run, uint32_t ps)
{
    assert(c->config.ps > 0);
    (void)run;
    return !chief_holder_reported(c, ps);
}

static bool ps_hold(const struct chief *c, const struct run *run)
{
    assert(c->config.ps > 0);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_holds(c, run, i)) { return false; }
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

static bool find_ps_failed_load(const struct chief *c, const struct run *run, uint32_t *ps)
{
    assert(c->config.ps <= PS_MAX);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_load_failed(c, run, i)) { continue; }
        *ps = i;
        return true;
    }
    return false;
}

static bool find_leaving_ps(const struct chief *c, const struct run *run, uint32_t *ps)
{
    assert(c->config.ps <= PS_MAX);
    (void)run;
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (!chief_holder_reported(c, i) || c->ps[i].report.leaving == 0) { continue; }
        *ps = i;
        return true;
    }
    return false;
}

static bool find_lost_ps(const struct chief *c, const struct run *run, struct chief_loss *loss)
{
    assert(c->config.ps <= PS_MAX);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        const struct chief_peer *peer = &c->ps[i];
        bool gone = peer->known && !peer->present;
        bool other = chief_holder_reported(c, i) && !chief_holds(c, run, i);
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
        if (!chief_holds(c, run, i) || c->ps[i].report.step != step) { return false; }
    }
    return true;
}

static uint16_t no_writer(const struct chief *c, const struct run *run)
{
    assert(c->config.ps > 0);
    (void)run;
    return 0;
}

static bool find_ps_of_shard(const struct chief *c, const struct run *run, uint32_t shard,
                             struct chief_writer *writer)
{
    if (shard >= c->config.ps) { return false; }
    *writer = (struct chief_writer){
        .task = {.role = ROLE_PS, .index = shard},
        .report = &c->ps[shard].report,
        .holds = chief_holds(c, run, shard),
    };
    return true;
}

static const struct chief_strategy ps_strategy = {
    .holder = ROLE_PS,
    .recovery = RECOVERY_PS,
    .kept = RECOVERY_WARM,
    .is_awaited = ps_is_awaited,
    .is_held = ps_hold,
    .is_empty = ps_are_empty,
    .find_failed_load = find_ps_failed_load,
    .find_leaving = find_leaving_ps,
    .find_loss = find_lost_ps,
    .has_reached = ps_have_reached,
    .choose_writer = no_writer,
    .may_own = chief_worker_agrees,
    .find_writer = find_ps_of_shard,
};

/* A local run has no chief. */
static const struct chief_strategy *const strategies[] = {
    [STRATEGY_PS_SYNC] = &ps_strategy,
    [STRATEGY_PS_ASYNC] = &ps_strategy,
    [STRATEGY_MIRROR] = &chief_mirror_strategy,
};

const struct chief_strategy *chief_strategy_of(enum strategy_kind kind)
{
    assert(kind < sizeof strategies / sizeof strategies[0] && strategies[kind] != NULL);
    return strategies[kind];
}
