#include "mirror/ranges.h"

#include <assert.h>
#include <stdbool.h>

#include "common/base/minmax.h"
#include "common/cluster/placement.h"

uint32_t ranges_count(uint32_t workers, uint64_t parameters)
{
    assert(workers >= 1 && workers <= WORKERS_MAX);
    const uint64_t most = u64_min(RANGES_MAX, placement_ps_max(parameters));
    assert(most >= 1);
    return (uint32_t)u64_min(workers, most);
}

void ranges_owners(const struct assignment *assignment, uint32_t workers, uint32_t ranges,
                   uint16_t out[static RANGES_MAX])
{
    bool has_slices[WORKERS_MAX] = {false};
    uint16_t order[WORKERS_MAX];
    uint32_t count = 0;
    assert(workers >= 1 && workers <= WORKERS_MAX);
    assert(ranges >= 1 && ranges <= RANGES_MAX);
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        if (assignment->worker[v] < workers) { has_slices[assignment->worker[v]] = true; }
    }
    for (uint32_t w = 0; w < workers; w++) {
        if (has_slices[w]) { order[count++] = (uint16_t)w; }
    }
    for (uint32_t range = 0; range < ranges; range++) {
        out[range] = count > 0 ? order[range % count] : RANGE_WITHOUT_OWNER;
        if (range < workers && has_slices[range]) { out[range] = (uint16_t)range; }
    }
}
