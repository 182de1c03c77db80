/*
 * graph/reference/philox.h: the random bits of dropout, by the definition in
 * kernels/portable/dropout.h: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011), a function of
 * (key, step, example, element). Pure.
 */
#ifndef GRAPH_REFERENCE_PHILOX_H
#define GRAPH_REFERENCE_PHILOX_H

#include <stdint.h>

enum { PHILOX_ROUNDS = 10, PHILOX_WORDS = 4, PHILOX_LANES = 16 };

/* Element e is word (e / 16) % 4 of the counter (e / 64 * 16 + e % 16, example, step, step >>
 * 32). */
static inline uint32_t philox_bits(uint64_t key, uint64_t step, uint32_t example, uint64_t element)
{
    uint64_t block = element / (PHILOX_LANES * PHILOX_WORDS);
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    uint32_t c[PHILOX_WORDS] = {
        (uint32_t)(block * PHILOX_LANES + element % PHILOX_LANES),
        example,
        (uint32_t)step,
        (uint32_t)(step >> 32),
    };
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t first = UINT64_C(0xd2511f53) * c[0], second = UINT64_C(0xcd9e8d57) * c[2];
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ key0;
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ key1;
        c[3] = (uint32_t)first;
        key0 += 0x9e3779b9U;
        key1 += 0xbb67ae85U;
    }
    return c[element / PHILOX_LANES % PHILOX_WORDS];
}

#endif
