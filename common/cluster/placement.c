#include "common/cluster/placement.h"

#include <assert.h>

static uint64_t blocks_of(uint64_t parameters)
{
    return parameters / PLACEMENT_BLOCK + (parameters % PLACEMENT_BLOCK != 0);
}

uint64_t placement_ps_max(uint64_t parameters)
{
    uint64_t blocks = blocks_of(parameters);
    return blocks > 0 ? blocks : 1;
}

/* floor(blocks * index / ps_count) * PLACEMENT_BLOCK without overflow, at most `parameters`. */
static uint64_t boundary(uint64_t parameters, uint32_t ps_count, uint32_t index)
{
    assert(index <= ps_count);
    uint64_t blocks = blocks_of(parameters);
    uint64_t whole = blocks / ps_count * index;
    uint64_t rest = blocks % ps_count * index / ps_count;
    uint64_t first_block = whole + rest;
    return first_block < blocks ? first_block * PLACEMENT_BLOCK : parameters;
}

struct placement placement_range(uint64_t parameters, uint32_t ps_count, uint32_t index)
{
    assert(ps_count > 0);
    assert(index < ps_count);
    uint64_t first = boundary(parameters, ps_count, index);
    return (struct placement){first, boundary(parameters, ps_count, index + 1) - first};
}
