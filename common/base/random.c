#include "common/base/random.h"

#include <assert.h>

static const uint64_t GOLDEN_GAMMA = 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio, odd. */

/* The finalizer of SplitMix64 (Stafford's variant 13): each input bit flips each output bit with a
 * chance of about one half, so that neighbouring inputs give unrelated outputs. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t random_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    /* Mixing between the parts keeps (seed, stream) from being a mere shift of (seed + 1, stream
     * - 1). All sums wrap around on purpose. */
    uint64_t start = mix(mix(seed + GOLDEN_GAMMA) + stream * GOLDEN_GAMMA);
    return mix(start + (index + 1) * GOLDEN_GAMMA);
}

float random_unit_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return (float)(random_at(seed, stream, index) >> 40) * 0x1p-24f;
}

float random_normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    int32_t sum = -4 * 65535;
    for (uint64_t draw = 0; draw < 2; draw++) {
        uint64_t bits = random_at(seed, stream, index * 2 + draw);
        for (int i = 0; i < 4; i++) { sum += (int32_t)(bits >> (16 * i) & 0xffff); }
    }
    return (float)sum * (1.0F / 53509.3F); /* sqrt(8 (2^32 - 1) / 12) */
}

uint64_t random_next(struct random *random)
{
    random->state += GOLDEN_GAMMA;
    return mix(random->state);
}

uint64_t random_below(struct random *random, uint64_t limit)
{
    assert(limit > 0);
    return random_next(random) % limit;
}
