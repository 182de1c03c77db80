#include "data/shuffle.h"

#include <assert.h>

#include "common/base/random.h"

/* The random stream of the first epoch; each epoch has the next one. */
#define STREAM_SHUFFLE UINT64_C(0x73687566666c6500)

void shuffle_init(struct shuffle *shuffle, uint64_t seed, uint64_t epoch, uint32_t count)
{
    assert(count >= 1);
    uint32_t bits = 0;
    while (bits < 32 && (count - 1) >> bits != 0) { bits++; }
    *shuffle = (struct shuffle){.count = count, .low_bits = bits / 2, .high_bits = bits - bits / 2};
    for (uint64_t round = 0; round < SHUFFLE_ROUNDS; round++) {
        shuffle->keys[round] = random_at(seed, STREAM_SHUFFLE + epoch, round);
    }
}

/* The finalizer of MurmurHash3 (Appleby 2011), for the round function. */
static uint32_t mix(uint64_t key, uint32_t half)
{
    uint64_t x = key ^ half;
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (uint32_t)(x >> 32);
}

/* The halves may differ by one bit, so they are not swapped: even rounds change the high half, odd
 * rounds the low half. Each round is its own inverse, so the result is a permutation. */
static uint32_t encipher(const struct shuffle *shuffle, uint32_t value)
{
    assert(shuffle->high_bits - shuffle->low_bits <= 1);
    uint32_t low_mask = (UINT32_C(1) << shuffle->low_bits) - 1;
    uint32_t high_mask = (UINT32_C(1) << shuffle->high_bits) - 1;
    uint32_t low = value & low_mask, high = value >> shuffle->low_bits;
    for (int round = 0; round < SHUFFLE_ROUNDS; round += 2) {
        high ^= mix(shuffle->keys[round], low) & high_mask;
        low ^= mix(shuffle->keys[round + 1], high) & low_mask;
    }
    return high << shuffle->low_bits | low;
}

uint32_t shuffle_at(const struct shuffle *shuffle, uint32_t position)
{
    assert(position < shuffle->count);
    do {
        position = encipher(shuffle, position);
    } while (position >= shuffle->count);
    return position;
}

void shuffle_batch(uint64_t seed, uint32_t examples, uint32_t batch, uint64_t step, uint32_t first,
                   uint32_t count, uint32_t *indices)
{
    assert(examples >= 1);
    assert(first <= batch && count <= batch - first);
    uint64_t n = step * batch + first;
    uint64_t epoch = n / examples;
    uint32_t position = (uint32_t)(n % examples);
    struct shuffle shuffle;
    shuffle_init(&shuffle, seed, epoch, examples);
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = shuffle_at(&shuffle, position);
        if (++position == examples) {
            shuffle_init(&shuffle, seed, ++epoch, examples);
            position = 0;
        }
    }
}
