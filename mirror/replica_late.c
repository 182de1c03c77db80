/* Which workers delay the present step: backup work (C23, M12). */
#include <assert.h>

#include "mirror/replica_private.h"

/* An owner reports the slices that it lacks before others blame it for its sum. */
enum { SUM_LIMITS = 2 };

static bool has_computed(const struct replica *r)
{
    assert(r->node_count <= r->config.slices);
    if (!slice_set_is_within(&r->owned, &r->done)) { return false; }
    return !replica_is_busy(r) && slice_set_count(&r->owned) > 0;
}

bool replica_awaits(const struct replica *r)
{
    assert(r->config.ranges >= 1);
    if (!r->whole || !replica_is_active(r) || r->fetching || r->is_behind) { return false; }
    return r->step < replica_limit(r) && has_computed(r);
}

/* The slices of other workers that the sums of its own ranges lack. */
static struct slice_set lacking(const struct replica *r)
{
    struct slice_set all = {0}, set = {0};
    slice_set_add(&all, (struct slice_node){0, r->config.slices});
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        const struct slice_set *covered = &r->sums[range][r->step % 2].covered;
        if (r->owners[range] != r->config.index || r->have[range]) { continue; }
        for (uint32_t i = 0; i < SLICES_WORDS; i++) {
            set.words[i] |= all.words[i] & ~covered->words[i] & ~r->owned.words[i];
        }
    }
    return set;
}

static bool owns_a_range(const struct replica *r)
{
    assert(r->config.index < r->config.workers);
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        if (r->owners[range] == r->config.index) { return true; }
    }
    return false;
}

static uint32_t sums_here(const struct replica *r)
{
    uint32_t count = 0;
    assert(r->config.ranges <= RANGES_MAX);
    for (uint32_t range = 0; range < r->config.ranges; range++) { count += r->have[range]; }
    return count;
}

/* The slices of the workers that owe a sum. */
static struct slice_set slices_of_owners(const struct replica *r)
{
    struct slice_set set = {0};
    bool owes[WORKERS_MAX] = {false};
    for (uint32_t range = 0; range < r->config.ranges; range++) {
        const uint16_t owner = r->owners[range];
        if (!r->have[range] && owner < r->config.workers) { owes[owner] = true; }
    }
    owes[r->config.index] = false;
    for (uint32_t v = 0; v < r->config.slices; v++) {
        const uint16_t worker = r->assignment.worker[v];
        if (worker >= r->config.workers || !owes[worker]) { continue; }
        slice_set_add(&set, (struct slice_node){v, 1});
    }
    return set;
}

void replica_watch_late(struct replica *r)
{
    if (!replica_awaits(r)) { return; }
    lateness_await(&r->lateness, r->now_ms);
    const bool owns = owns_a_range(r);
    const struct slice_set missing = lacking(r);
    const uint32_t total = owns ? r->config.slices - slice_set_count(&r->owned) : r->config.ranges;
    const uint32_t here = owns ? total - slice_set_count(&missing) : sums_here(r);
    if (here > 0) { lateness_arrived(&r->lateness, here, total, r->now_ms); }
}

uint64_t replica_late(const struct replica *r, uint64_t now_ms, struct slice_set *late,
                      uint64_t *after_ms)
{
    assert(now_ms >= r->now_ms);
    *late = (struct slice_set){0};
    *after_ms = 0;
    if (!replica_awaits(r)) { return 0; }
    struct slice_set set = lacking(r);
    uint64_t limits = 1;
    if (slice_set_count(&set) == 0) {
        set = slices_of_owners(r);
        limits = SUM_LIMITS;
    }
    const uint64_t periods = lateness_periods(&r->lateness, now_ms) / limits;
    if (periods == 0 || slice_set_count(&set) == 0) { return 0; }
    *late = set;
    *after_ms = lateness_limit_ms(&r->lateness) * limits;
    return periods;
}
