#include "ps/table/rows_chain.h"

#include <assert.h>

bool rows_chain_continues(const struct rows_chain *chain, uint64_t id, uint64_t step)
{
    uint64_t deltas = 0;
    assert(chain->count <= MANIFEST_CHAIN_MAX);
    if (chain->count == 0 || chain->count == MANIFEST_CHAIN_MAX) { return false; }
    if (chain->files[0].checkpoint < manifest_chain_begin(id) || step < chain->step) {
        return false;
    }
    for (uint32_t f = 1; f < chain->count; f++) { deltas += chain->files[f].bytes; }
    return deltas < chain->files[0].bytes / 2;
}

void rows_chain_append(struct rows_chain *chain, const struct manifest_rows *file, uint64_t step)
{
    assert(chain->count < MANIFEST_CHAIN_MAX);
    assert(chain->count == 0 || chain->step <= step);
    chain->files[chain->count++] = *file;
    chain->step = step;
}
