/*
 * kernels/cuda/gather.c: rows of a table by id, the sums of gradients by row, one-hot vectors and
 * shares of keys, with the bits of the plain C kernels of graph/reference/gather.c: positions are
 * added in ascending order, so no atomic operation is used.
 */
#include "kernels/cuda/families.h"

struct gather_task {
    size_t count;
    const void *ids;
    uint32_t id_bytes;
    size_t rows, width;
    const float *from; /* The table, or dy. */
    float *out;
};

KERNEL(gathered, struct gather_task)
{
    EACH_ELEMENT(i, a.count * a.width)
    {
        const int64_t id = integer_of(a.ids, a.id_bytes, i / a.width);
        const bool is_valid = id >= 0 && (uint64_t)id < a.rows;
        a.out[i] =
            is_valid ? a.from[(size_t)id * a.width + i % a.width] : wide_of_bits(0x7fc00000U);
    }
}

KERNEL(no_gradient, struct gather_task)
{
    EACH_ELEMENT(i, a.rows * a.width)
    {
        a.out[i] = 0.0F;
    }
}

/* The thread of the first position of an id adds the gradients of all positions with this id. */
KERNEL(gathered_gradient, struct gather_task)
{
    EACH_ELEMENT(i, a.count * a.width)
    {
        const size_t position = i / a.width, column = i % a.width;
        const int64_t id = integer_of(a.ids, a.id_bytes, position);
        bool is_first = id >= 0 && (uint64_t)id < a.rows;
        for (size_t p = 0; p < position && is_first; p++) {
            is_first = integer_of(a.ids, a.id_bytes, p) != id;
        }
        if (is_first) {
            float sum = 0.0F;
            for (size_t p = position; p < a.count; p++) {
                if (integer_of(a.ids, a.id_bytes, p) == id) {
                    sum = sum + a.from[p * a.width + column];
                }
            }
            a.out[(size_t)id * a.width + column] = sum;
        }
    }
}

static void run_gather(size_t count, const void *ids, uint32_t id_bytes, size_t rows, size_t width,
                       const float *table, float *out)
{
    struct gather_task task = {count, ids, id_bytes, rows, width, table, out};
    const size_t elements = count * width;
    if (elements > 0) { LAUNCH(gathered, blocks_for(elements), ELEMENT_THREADS, task); }
}

static void run_gather_gradient(size_t count, const void *ids, uint32_t id_bytes, size_t rows,
                                size_t width, const float *dy, float *dtable)
{
    struct gather_task task = {count, ids, id_bytes, rows, width, dy, dtable};
    const size_t elements = count * width;
    if (rows * width > 0) { LAUNCH(no_gradient, blocks_for(rows * width), ELEMENT_THREADS, task); }
    if (elements > 0) { LAUNCH(gathered_gradient, blocks_for(elements), ELEMENT_THREADS, task); }
}

KERNEL(one_hot, struct gather_task)
{
    EACH_ELEMENT(i, a.count * a.width)
    {
        const int64_t id = integer_of(a.ids, a.id_bytes, i / a.width);
        const bool is_valid = id >= 0 && (uint64_t)id < a.width;
        const float is_here = (size_t)id == i % a.width ? 1.0F : 0.0F;
        a.out[i] = is_valid ? is_here : wide_of_bits(0x7fc00000U);
    }
}

static void run_one_hot(size_t count, const void *ids, uint32_t id_bytes, size_t depth, float *out)
{
    struct gather_task task = {count, ids, id_bytes, 0, depth, NULL, out};
    const size_t elements = count * depth;
    if (elements > 0) { LAUNCH(one_hot, blocks_for(elements), ELEMENT_THREADS, task); }
}

struct share_task {
    size_t rows, each, first, count;
    const int64_t *keys;
    int64_t none;
    float *out;
};

KERNEL(key_share, struct share_task)
{
    EACH_ELEMENT(r, a.rows)
    {
        const int64_t *keys = a.keys + r * a.each + a.first;
        size_t present = 0;
        for (size_t k = 0; k < a.count; k++) {
            if (keys[k] != a.none) { present++; }
        }
        a.out[r] = 1.0F / (float)(present > 0 ? present : 1);
    }
}

static void run_key_share(size_t rows, const int64_t *keys, size_t each, size_t first, size_t count,
                          int64_t none, float *out)
{
    struct share_task task = {rows, each, first, count, keys, none, out};
    if (rows > 0) { LAUNCH(key_share, blocks_for(rows), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(gather)(struct cuda_kernels *table)
{
    table->gather = run_gather;
    table->gather_gradient = run_gather_gradient;
    table->one_hot = run_one_hot;
    table->key_share = run_key_share;
}
