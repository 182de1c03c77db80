/*
 * common/base/random.h: random numbers as pure functions. No state is kept outside what the caller
 * passes, so any node can recompute any value from (seed, stream, index). Generator:
 * SplitMix64 (Steele, Lea, Flood 2014).
 */
#ifndef COMMON_BASE_RANDOM_H
#define COMMON_BASE_RANDOM_H

#include <stdint.h>

/* The finalizer of SplitMix64 (Stafford's variant 13): each input bit flips each output bit with a
 * chance of about one half, so that neighbouring inputs give unrelated outputs. */
static inline uint64_t random_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

#define RANDOM_GOLDEN_GAMMA UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd. */

/* Stream `stream` of `seed`, opened once to draw many numbers of it. */
struct random_stream {
    uint64_t start;
};

/* Mixing between the parts keeps (seed, stream) from being a mere shift of (seed + 1, stream - 1).
 * All sums wrap around on purpose. */
static inline struct random_stream random_stream_of(uint64_t seed, uint64_t stream)
{
    const uint64_t mixed = random_mix(seed + RANDOM_GOLDEN_GAMMA);
    return (struct random_stream){random_mix(mixed + stream * RANDOM_GOLDEN_GAMMA)};
}

/* The `index`-th 64 random bits of a stream. */
static inline uint64_t random_stream_at(struct random_stream stream, uint64_t index)
{
    return random_mix(stream.start + (index + 1) * RANDOM_GOLDEN_GAMMA);
}

/* Uniform in [0, 1), 24 random bits: exact in a float. */
static inline float random_stream_unit_at(struct random_stream stream, uint64_t index)
{
    return (float)(random_stream_at(stream, index) >> 40) * 0x1p-24F;
}

/* Nearly normal, mean 0 and deviation 1: a sum of eight uniform 16-bit numbers, within 4.9
 * deviations. Integer arithmetic up to one product, so its bits do not depend on libm. Uses random
 * bits 2 index and 2 index + 1 of the stream. */
float random_stream_normal_at(struct random_stream stream, uint64_t index);

/* Number `index` of stream `stream` of `seed`. */
static inline uint64_t random_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_stream_at(random_stream_of(seed, stream), index);
}

static inline float random_normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_stream_normal_at(random_stream_of(seed, stream), index);
}

static inline float random_unit_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return random_stream_unit_at(random_stream_of(seed, stream), index);
}

/* A sequential generator, for tests, back-off and identifiers. */
struct random {
    uint64_t state;
};
uint64_t random_next(struct random *random);
/* Uniform in [0, limit); limit > 0. Bias below 2^-32 for limit < 2^32. */
uint64_t random_below(struct random *random, uint64_t limit);

#endif
