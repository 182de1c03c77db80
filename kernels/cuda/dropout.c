/* kernels/cuda/dropout.c: dropout with the bits of kernels/portable/dropout.h. Each thread computes
 * the random bits of its element. */
#include "kernels/cuda/families.h"

struct dropout_task {
    struct cuda_dropout dropout;
    size_t elements;
    uint32_t limit; /* An element falls if its random bits are below. */
    float scale;
    const float *x;
    float *y;
};

/* Philox4x32-10 of element `e` of an example. */
DEVICE_INLINE uint32_t random_bits(const struct cuda_dropout *a, uint32_t example, size_t e)
{
    uint32_t key0 = (uint32_t)a->key, key1 = (uint32_t)(a->key >> 32);
    uint32_t c[4] = {(uint32_t)(e / 64 * 16 + e % 16), example, (uint32_t)a->step,
                     (uint32_t)(a->step >> 32)};
    for (uint32_t round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)c[0] * 0xd2511f53U, second = (uint64_t)c[2] * 0xcd9e8d57U;
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ key0;
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ key1;
        c[3] = (uint32_t)first;
        key0 += 0x9e3779b9U;
        key1 += 0xbb67ae85U;
    }
    return c[e / 16 % 4];
}

KERNEL(dropped, struct dropout_task)
{
    EACH_ELEMENT(i, a.elements)
    {
        const uint32_t example = a.dropout.example + (uint32_t)(i / a.dropout.count);
        const uint32_t random = random_bits(&a.dropout, example, i % a.dropout.count);
        a.y[i] = random < a.limit ? 0.0F : a.x[i] * a.scale;
    }
}

static void run_dropout(const struct cuda_dropout *dropout, const float *x, float *y)
{
    struct dropout_task task = {*dropout,
                                dropout->examples * dropout->count,
                                (uint32_t)((double)dropout->rate * 0x1p32),
                                1.0F / (1.0F - dropout->rate),
                                x,
                                y};
    if (task.elements > 0) { LAUNCH(dropped, blocks_for(task.elements), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(dropout)(struct cuda_kernels *table)
{
    table->dropout = run_dropout;
}
