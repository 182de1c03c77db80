#include "ps/slice_clocks.h"

#include <assert.h>

static void put(uint8_t *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) { out[i] = (uint8_t)(value >> (8 * i)); }
}

static uint64_t get(const uint8_t *in, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) { value |= (uint64_t)in[i] << (8 * i); }
    return value;
}

size_t slice_clocks_encode(const uint64_t *clocks, uint32_t slices,
                           uint8_t out[static SLICE_CLOCKS_BYTES_MAX])
{
    assert(slices >= 1 && slices <= SLICES_MAX);
    put(out, SLICE_CLOCKS_VERSION, 4);
    put(out + 4, slices, 4);
    for (uint32_t v = 0; v < slices; v++) { put(out + 8 + 8 * (size_t)v, clocks[v], 8); }
    return 8 + 8 * (size_t)slices;
}

bool slice_clocks_decode(const uint8_t *bytes, size_t size, uint32_t slices, uint64_t *clocks)
{
    assert(slices >= 1 && slices <= SLICES_MAX);
    if (size != 8 + 8 * (size_t)slices) { return false; }
    if (get(bytes, 4) != SLICE_CLOCKS_VERSION || get(bytes + 4, 4) != slices) { return false; }
    for (uint32_t v = 0; v < slices; v++) { clocks[v] = get(bytes + 8 + 8 * (size_t)v, 8); }
    return true;
}
