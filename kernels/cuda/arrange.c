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

struct round_task {
    size_t count, lines, length, next, step;
    const float *x;
    uint16_t *out;
};

/* The upper half of a float, rounded to the nearest and to even: infinity if it overflows. */
DEVICE_INLINE uint16_t bf16_of(float x)
{
    const ints bits = ints_of_bits(x);
    if ((bits & 0x7fffffffU) > 0x7f800000U) { return (uint16_t)(bits >> 16 | 0x40U); }
    return (uint16_t)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

KERNEL(round_to_bf16, struct round_task)
{
    EACH_ELEMENT(i, a.count)
    {
        const size_t line = i / a.length;
        const size_t at = line / a.lines * a.next + line % a.lines * a.step + i % a.length;
        a.out[i] = bf16_of(a.x[at]);
    }
}

static void run_round_to_bf16(size_t count, size_t lines, size_t length, size_t next, size_t step,
                              const float *x, uint16_t *out)
{
    struct round_task task = {count * lines * length, lines, length, next, step, x, out};
    if (task.count > 0) { LAUNCH(round_to_bf16, blocks_for(task.count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(arrange)(struct cuda_kernels *table)
{
    table->arrange = run_arrange;
    table->cast = run_cast;
    table->cast_to_integers = run_cast_to_integers;
    table->round_to_bf16 = run_round_to_bf16;
}
