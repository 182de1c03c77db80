#include "mirror/ranges.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/cluster/placement.h"

uint32_t ranges_count(uint32_t workers, uint64_t parameters)
{
    assert(workers >= 1 && workers <= WORKERS_MAX);
    const uint64_t most = u64_min(RANGES_MAX, placement_ps_max(parameters));
    assert(most >= 1);
    return (uint32_t)u64_min(workers, most);
}

/* The owners of slices, in ascending order, to out[]. Returns their number. */
static uint32_t owners_of_slices(const struct assignment *assignment, uint32_t workers,
                                 uint16_t out[static WORKERS_MAX])
{
    bool has_slices[WORKERS_MAX] = {false};
    uint32_t count = 0;
    assert(workers >= 1 && workers <= WORKERS_MAX);
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        if (assignment->worker[v] < workers) { has_slices[assignment->worker[v]] = true; }
    }
    for (uint32_t w = 0; w < workers; w++) {
        if (has_slices[w]) { out[count++] = (uint16_t)w; }
    }
    return count;
}

void ranges_owners(const struct assignment *assignment, uint32_t workers, uint32_t ranges,
                   uint16_t out[static RANGES_MAX])
{
    uint16_t order[WORKERS_MAX];
    const uint32_t count = owners_of_slices(assignment, workers, order);
    assert(ranges >= 1 && ranges <= RANGES_MAX);
    for (uint32_t range = 0; range < ranges; range++) {
        out[range] = count > 0 ? order[range % count] : RANGE_WITHOUT_OWNER;
    }
    for (uint32_t i = 0; i < count && order[i] < ranges; i++) { out[order[i]] = order[i]; }
}

void ranges_relays(const struct assignment *assignment, uint32_t workers, uint32_t ranges,
                   const uint16_t owners[static RANGES_MAX], const bool is_near[static WORKERS_MAX],
                   uint16_t out[static RANGES_MAX])
{
    uint16_t order[WORKERS_MAX];
    const uint32_t total = owners_of_slices(assignment, workers, order);
    uint32_t count = 0;
    assert(ranges >= 1 && ranges <= RANGES_MAX);
    for (uint32_t i = 0; i < total; i++) {
        if (is_near[order[i]]) { order[count++] = order[i]; }
    }
    for (uint32_t range = 0; range < ranges; range++) {
        const bool is_far = owners[range] < workers && !is_near[owners[range]];
        out[range] = is_far && count >= 2 ? order[range % count] : RANGE_WITHOUT_RELAY;
    }
}
