#include "data/shuffle.h"

#include <assert.h>

#include "common/base/minmax.h"
#include "common/base/random.h"

/* The random stream of the first epoch; each epoch has the next one. */
#define STREAM_SHUFFLE UINT64_C(0x73687566666c6500)
#define STREAM_WINDOWS UINT64_C(0x77696e646f777300)

void shuffle_init(struct shuffle *shuffle, uint64_t seed, uint64_t epoch, uint64_t count)
{
    assert(count >= 1 && count <= SHUFFLE_MAX);
    uint32_t bits = 0;
    while ((count - 1) >> bits != 0) { bits++; }
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
static uint64_t encipher(const struct shuffle *shuffle, uint64_t value)
{
    assert(shuffle->high_bits - shuffle->low_bits <= 1);
    uint32_t low_mask = (UINT32_C(1) << shuffle->low_bits) - 1;
    uint32_t high_mask = (UINT32_C(1) << shuffle->high_bits) - 1;
    uint32_t low = (uint32_t)value & low_mask, high = (uint32_t)(value >> shuffle->low_bits);
    for (int round = 0; round < SHUFFLE_ROUNDS; round += 2) {
        high ^= mix(shuffle->keys[round], low) & high_mask;
        low ^= mix(shuffle->keys[round + 1], high) & low_mask;
    }
    return (uint64_t)high << shuffle->low_bits | low;
}

uint64_t shuffle_at(const struct shuffle *shuffle, uint64_t position)
{
    assert(position < shuffle->count);
    do {
        position = encipher(shuffle, position);
    } while (position >= shuffle->count);
    return position;
}

/* The order of one epoch, and its window that was used last. */
struct epoch {
    const struct shuffle_order *order;
    uint64_t number;
    struct shuffle all; /* Permutes the examples, or the blocks. */
    uint64_t blocks;    /* Full ones; 0: there are none. */
    struct shuffle within;
    uint64_t window; /* The window that `within` permutes; UINT64_MAX: none. */
};

static void begin_epoch(struct epoch *epoch, const struct shuffle_order *order, uint64_t number)
{
    const struct job_shuffle *kind = &order->kind;
    *epoch = (struct epoch){.order = order, .number = number, .window = UINT64_MAX};
    if (kind->order == ORDER_BLOCKS) { epoch->blocks = order->examples / kind->block; }
    const uint64_t count = epoch->blocks > 0 ? epoch->blocks : order->examples;
    shuffle_init(&epoch->all, order->seed, number, count);
}

static uint64_t in_blocks(struct epoch *epoch, uint64_t position)
{
    const struct shuffle_order *order = epoch->order;
    const uint64_t block = order->kind.block, size = block * order->kind.window;
    const uint64_t windows = u64_max(1, epoch->blocks / order->kind.window);
    const uint64_t window = u64_min(position / size, windows - 1), start = window * size;
    assert(epoch->blocks > 0 && position < order->examples);
    if (window != epoch->window) {
        const uint64_t count = window == windows - 1 ? order->examples - start : size;
        const uint64_t seed = random_at(order->seed, STREAM_WINDOWS + epoch->number, window);
        shuffle_init(&epoch->within, seed, 0, count);
        epoch->window = window;
    }
    const uint64_t moved = start + shuffle_at(&epoch->within, position - start);
    if (moved >= epoch->blocks * block) { return moved; } /* It fills no block. */
    return shuffle_at(&epoch->all, moved / block) * block + moved % block;
}

static uint64_t example_at(struct epoch *epoch, uint64_t position)
{
    if (epoch->order->kind.order == ORDER_NONE) { return position; }
    return epoch->blocks > 0 ? in_blocks(epoch, position) : shuffle_at(&epoch->all, position);
}

void shuffle_batch(const struct shuffle_order *order, uint32_t batch, uint64_t step, uint32_t first,
                   uint32_t count, uint64_t *indices)
{
    assert(order->examples >= 1);
    assert(first <= batch && count <= batch - first);
    const uint64_t n = step * batch + first;
    uint64_t position = n % order->examples;
    struct epoch epoch;
    begin_epoch(&epoch, order, n / order->examples);
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = example_at(&epoch, position);
        if (++position == order->examples) {
            begin_epoch(&epoch, order, epoch.number + 1);
            position = 0;
        }
    }
}
