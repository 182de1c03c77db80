#include "common/cluster/lateness.h"

#include <assert.h>

#include "common/base/minmax.h"

void lateness_begin(struct lateness *it, uint64_t now_ms)
{
    assert(!it->timed || now_ms >= it->begun_ms);
    it->timed = true;
    it->arrived = it->halved = false;
    it->begun_ms = now_ms;
}

void lateness_stop(struct lateness *it)
{
    it->timed = it->arrived = it->halved = false;
}

/* One step counts as at most twice, and at least half, the average: the step after an evaluation,
 * or after a wait, does not show how long the others take. */
static void measure(struct lateness *it, uint64_t us)
{
    const uint64_t average = it->average_us;
    const uint64_t bounded = u64_max(average / 2, u64_min(us, average * 2));
    it->average_us =
        average == 0 ? us : (average * (LATENESS_WEIGHT - 1) + bounded) / LATENESS_WEIGHT;
    it->average_us = u64_max(it->average_us, 1);
}

void lateness_await(struct lateness *it, uint64_t now_ms)
{
    if (!it->timed || it->arrived) { return; }
    assert(now_ms >= it->begun_ms);
    it->arrived = true;
    it->first_ms = now_ms;
}

void lateness_arrived(struct lateness *it, uint32_t covered, uint32_t slices, uint64_t now_ms)
{
    assert(covered >= 1 && covered <= slices);
    if (!it->timed) { return; }
    assert(now_ms >= it->begun_ms);
    lateness_await(it, now_ms);
    if (it->halved || covered < (slices + 1) / 2) { return; }
    it->halved = true;
    /* A millisecond more: shorter steps have a measure, too. */
    measure(it, (now_ms - it->begun_ms + 1) * 1000);
}

uint64_t lateness_limit_ms(const struct lateness *it)
{
    if (it->average_us == 0) { return 0; }
    return u64_max(LATENESS_LEAST_MS, it->average_us * LATENESS_FACTOR / 1000);
}

uint64_t lateness_periods(const struct lateness *it, uint64_t now_ms)
{
    if (!it->arrived || it->average_us == 0) { return 0; }
    assert(it->timed && now_ms >= it->first_ms);
    return (now_ms - it->first_ms) / lateness_limit_ms(it);
}

uint64_t lateness_due_ms(const struct lateness *it, uint64_t now_ms)
{
    if (!it->arrived || it->average_us == 0) { return UINT64_MAX; }
    return it->first_ms + (lateness_periods(it, now_ms) + 1) * lateness_limit_ms(it);
}
