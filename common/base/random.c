#include "common/base/random.h"

#include <assert.h>

float random_stream_normal_at(struct random_stream stream, uint64_t index)
{
    int32_t sum = -4 * 65535;
    for (uint64_t draw = 0; draw < 2; draw++) {
        const uint64_t bits = random_stream_at(stream, index * 2 + draw);
        for (int i = 0; i < 4; i++) { sum += (int32_t)(bits >> (16 * i) & 0xffff); }
    }
    return (float)sum * (1.0F / 53509.3F); /* sqrt(8 (2^32 - 1) / 12) */
}

uint64_t random_next(struct random *random)
{
    random->state += RANDOM_GOLDEN_GAMMA;
    return random_mix(random->state);
}

uint64_t random_below(struct random *random, uint64_t limit)
{
    assert(limit > 0);
    return random_next(random) % limit;
}
