/*
 * kernels/cuda/gather.c: rows of a table by id, and the sums of gradients by row, with the bits of
 * the plain C kernels of graph/reference/gather.c: positions are added in ascending order, so no
 * atomic operation is used.
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

CUDA_EXPORT void cuda_fill_gather(struct cuda_kernels *table)
{
    table->gather = run_gather;
    table->gather_gradient = run_gather_gradient;
}
