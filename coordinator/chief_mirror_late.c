/* Backup work without ps: workers report which of them are late, and each holds values (M12). */
#include <assert.h>

#include "coordinator/chief_private.h"

static bool workers_judge(const struct chief *c)
{
    assert(c->config.workers > 0);
    return c->strategy->holder == ROLE_WORKER;
}

bool chief_is_behind(const struct chief *c, uint64_t step)
{
    for (uint32_t i = 0; i < c->config.workers && workers_judge(c); i++) {
        if (c->workers[i].straggler.is_late || !chief_holds(c, &c->run, i)) { continue; }
        if (c->workers[i].report.step > step) { return true; }
    }
    return false;
}

bool chief_may_join(const struct chief *c, uint32_t worker, uint64_t after_ms)
{
    const struct chief_peer *peer = &c->workers[worker];
    if (!workers_judge(c) || peer->report.step > peer->joined_step) { return false; }
    return c->now_ms < peer->joined_ms + CHIEF_LATE_JOIN * after_ms;
}

bool chief_has_caught_up(const struct chief *c, const struct chief_peer *peer)
{
    const struct chief_straggler *it = &peer->straggler;
    return !workers_judge(c) || peer->report.generation != it->generation ||
           peer->report.step > it->step;
}
