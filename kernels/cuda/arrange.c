/* kernels/cuda/arrange.c: repetition, permutation, parts, of elements of any type; and casts. */
#include "kernels/cuda/families.h"

struct arrange_task {
    struct cuda_shape shape;
    size_t count;
    struct cuda_strides strides, out_strides;
    const void *x;
    void *out;
};

#define ARRANGE(name, type)                                                                        \
    KERNEL(name, struct arrange_task)                                                              \
    {                                                                                              \
        EACH_ELEMENT(i, a.count)                                                                   \
        {                                                                                          \
            const size_t to = strided(&a.shape, &a.out_strides, i);                                \
            ((type *)a.out)[to] = ((const type *)a.x)[strided(&a.shape, &a.strides, i)];           \
        }                                                                                          \
    }

ARRANGE(arranged_bytes, uint8_t)
ARRANGE(arranged, uint32_t)
ARRANGE(arranged_longs, uint64_t)

static void run_arrange(const struct cuda_shape *shape, uint32_t bytes, const void *x,
                        const struct cuda_strides *strides, void *out,
                        const struct cuda_strides *out_strides)
{
    const size_t count = shape_count(shape);
    struct arrange_task task = {*shape, count, *strides, *out_strides, x, out};
    if (count == 0) { return; }
    switch (bytes) {
    case 1: LAUNCH(arranged_bytes, blocks_for(count), ELEMENT_THREADS, task); break;
    case 4: LAUNCH(arranged, blocks_for(count), ELEMENT_THREADS, task); break;
    default: LAUNCH(arranged_longs, blocks_for(count), ELEMENT_THREADS, task); break;
    }
}

struct cast_task {
    size_t count;
    enum cuda_type from;
    const void *x;
    float factor;
    uint32_t out_bytes;
    void *out;
};

/* Element `at` of an array of integers. */
DEVICE_INLINE int64_t whole_of(const struct cast_task *a, size_t at)
{
    const uint32_t bytes = a->from == CUDA_BYTE ? 1 : a->from == CUDA_INT ? 4 : 8;
    return integer_of(a->x, bytes, at);
}

KERNEL(cast_to_floats, struct cast_task)
{
    EACH_ELEMENT(i, a.count)
    {
        const float x = a.from == CUDA_FLOAT ? ((const float *)a.x)[i] : (float)whole_of(&a, i);
        ((float *)a.out)[i] = x * a.factor;
    }
}

KERNEL(cast_to_whole, struct cast_task)
{
    EACH_ELEMENT(i, a.count)
    {
        int64_t whole = -1;
        if (a.from == CUDA_FLOAT) {
            const float x = ((const float *)a.x)[i];
            if (x >= 0.0F && x < 0x1p31F) { whole = (int64_t)x; }
        } else {
            whole = whole_of(&a, i);
        }
        if (a.out_bytes == 8) {
            ((int64_t *)a.out)[i] = whole;
        } else {
            ((int32_t *)a.out)[i] = (int32_t)whole;
        }
    }
}

static void run_cast(size_t count, enum cuda_type from, const void *x, float factor, float *out)
{
    struct cast_task task = {count, from, x, factor, 4, out};
    if (count > 0) { LAUNCH(cast_to_floats, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_cast_to_integers(size_t count, enum cuda_type from, const void *x,
                                 uint32_t out_bytes, void *out)
{
    struct cast_task task = {count, from, x, 1, out_bytes, out};
    if (count > 0) { LAUNCH(cast_to_whole, blocks_for(count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(arrange)(struct cuda_kernels *table)
{
    table->arrange = run_arrange;
    table->cast = run_cast;
    table->cast_to_integers = run_cast_to_integers;
}
