#include "kernels/portable/dropout.h"

#include <assert.h>

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/vector.h"

enum { PHILOX_WORDS = 4, PHILOX_ROUNDS = 10, BLOCK = WIDE * PHILOX_WORDS };

/* The random bits of the elements first to first + 63; `first` is a multiple of 64. */
ISA_INLINE void philox(const struct dropout_stream *stream, size_t first, ints c[PHILOX_WORDS])
{
    uint32_t key0 = (uint32_t)stream->key, key1 = (uint32_t)(stream->key >> 32);
    c[0] = ints_add(ints_count(), ints_set((uint32_t)(first / PHILOX_WORDS)));
    c[1] = ints_set(stream->example);
    c[2] = ints_set((uint32_t)stream->step);
    c[3] = ints_set((uint32_t)(stream->step >> 32));
    for (size_t round = 0; round < PHILOX_ROUNDS; round++) {
        ints high0, low0, high1, low1;
        ints_multiply(c[0], ints_set(0xd2511f53U), &high0, &low0);
        ints_multiply(c[2], ints_set(0xcd9e8d57U), &high1, &low1);
        c[0] = ints_xor(ints_xor(high1, c[1]), ints_set(key0));
        c[1] = low1;
        c[2] = ints_xor(ints_xor(high0, c[3]), ints_set(key1));
        c[3] = low0;
        key0 += 0x9e3779b9U;
        key1 += 0xbb67ae85U;
    }
}

static void bits(const struct dropout_stream *stream, size_t count, uint32_t *out)
{
    for (size_t first = 0; first < count; first += BLOCK) {
        ints c[PHILOX_WORDS];
        float words[BLOCK];
        philox(stream, first, c);
        for (size_t w = 0; w < PHILOX_WORDS; w++) {
            wide_store(words + w * WIDE, wide_of_bits(c[w]));
        }
        memcpy(out + first, words, size_min(count - first, BLOCK) * sizeof *out);
    }
}

static void apply(const struct dropout_stream *stream, size_t count, float rate, const float *x,
                  float *out)
{
    assert(rate >= 0.0F);
    assert(rate < 1.0F);
    const ints sign = ints_set(0x80000000U); /* Signed comparison of unsigned numbers. */
    const ints limit = ints_set((uint32_t)((double)rate * 0x1p32) ^ 0x80000000U);
    const wide scale = wide_set(1.0F / (1.0F - rate));
    for (size_t first = 0; first < count; first += BLOCK) {
        ints c[PHILOX_WORDS];
        philox(stream, first, c);
        for (size_t w = 0, i = first, size; w < PHILOX_WORDS && i < count; w++, i += size) {
            size = size_min(count - i, WIDE);
            lanes falls = lanes_less_ints(ints_xor(c[w], sign), limit);
            wide kept = wide_multiply(wide_load_up_to(x + i, size), scale);
            wide_store_up_to(out + i, wide_select(falls, wide_zero(), kept), size);
        }
    }
}

const struct dropout_kernels ISA(dropout_kernels) = {
    .bits = bits,
    .apply = apply,
};
