/* kernels/cuda/arrange.c: repetition, permutation, parts; and bytes as floats. */
#include "kernels/cuda/families.h"

struct arrange_task {
    struct cuda_shape shape;
    size_t count;
    struct cuda_strides strides;
    const float *x;
    float *out;
};

KERNEL(arranged, struct arrange_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = a.x[strided(&a.shape, &a.strides, i)];
    }
}

static void run_arrange(const struct cuda_shape *shape, const float *x,
                        const struct cuda_strides *strides, float *out)
{
    const size_t count = shape_count(shape);
    struct arrange_task task = {*shape, count, *strides, x, out};
    if (count > 0) { LAUNCH(arranged, blocks_for(count), ELEMENT_THREADS, task); }
}

struct cast_task {
    size_t count;
    const uint8_t *x;
    float factor;
    float *out;
};

KERNEL(cast_of_bytes, struct cast_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = (float)a.x[i] * a.factor;
    }
}

static void run_cast_bytes(size_t count, const uint8_t *x, float factor, float *out)
{
    struct cast_task task = {count, x, factor, out};
    if (count > 0) { LAUNCH(cast_of_bytes, blocks_for(count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void cuda_fill_arrange(struct cuda_kernels *table)
{
    table->arrange = run_arrange;
    table->cast_bytes = run_cast_bytes;
}
