#include "common/cluster/row_loads.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

/* So large that no counter reaches it, and so small that 4096 of them do not overflow. */
#define LOAD_MOST (UINT64_C(1) << 45)

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little-endian");
static_assert(LOAD_MOST * ROW_BUCKETS < UINT64_MAX / PS_MAX, "sums are below ROW_LOADS_MAX");

void row_loads_encode(const uint64_t *loads, uint32_t count, uint8_t *out)
{
    assert(count <= ROW_BUCKETS);
    memcpy(out, loads, count * sizeof *loads);
}

bool row_loads_decode(const void *body, size_t size, struct row_loads *out)
{
    if (out->first > ROW_BUCKETS || out->count > ROW_BUCKETS - out->first) { return false; }
    if (size != out->count * sizeof out->loads[0]) { return false; }
    if (size > 0) { memcpy(out->loads, body, size); }
    return true;
}

double row_loads_factor(uint64_t updates, uint64_t most)
{
    assert(updates <= most);
    return updates > 0 ? (double)most / (double)updates : 0;
}

void row_loads_add(const struct row_loads *part, uint64_t updates,
                   uint64_t sums[static ROW_BUCKETS])
{
    assert(part->first + part->count <= ROW_BUCKETS);
    const double factor = row_loads_factor(part->updates, updates);
    for (uint32_t i = 0; i < part->count; i++) {
        const double load = (double)part->loads[i] * factor;
        sums[part->first + i] += load < (double)LOAD_MOST ? (uint64_t)load : LOAD_MOST;
    }
}
