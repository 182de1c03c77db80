/* kernels/cuda/families.h: the files of kernels; each fills its part of the table. Private to
 * kernels/cuda/. */
#ifndef KERNELS_CUDA_FAMILIES_H
#define KERNELS_CUDA_FAMILIES_H

#include "common/base/minmax.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"

#define CUDA_FAMILIES(X)                                                                           \
    X(elementwise)                                                                                 \
    X(arrange)                                                                                     \
    X(update)                                                                                      \
    X(product)                                                                                     \
    X(row)                                                                                         \
    X(pool)                                                                                        \
    X(normalize)                                                                                   \
    X(dropout)                                                                                     \
    X(attention)                                                                                   \
    X(gather)                                                                                      \
    X(regress)

#if defined(__cplusplus)
#define CUDA_EXPORT extern "C"
#else
#define CUDA_EXPORT
#endif

/* The program and the emulation each have these functions. */
#if defined(CUDA_ON_GPU)
#define CUDA_FILL(family) cuda_fill_##family##_on_gpu
#else
#define CUDA_FILL(family) cuda_fill_##family
#endif

#define X(family) CUDA_EXPORT void CUDA_FILL(family)(struct cuda_kernels * table);
CUDA_FAMILIES(X)
#undef X

/* Threads of a block where elements are independent, and the blocks for `count` of them. */
enum { ELEMENT_THREADS = 256, ELEMENT_BLOCKS_MAX = 65535 };

static inline size_t blocks_for(size_t count)
{
    return size_min((count + ELEMENT_THREADS - 1) / ELEMENT_THREADS, ELEMENT_BLOCKS_MAX);
}

static inline size_t shape_count(const struct cuda_shape *shape)
{
    size_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) { count *= shape->dims[i]; }
    return count;
}

/* Integer `at` of an array; 1 byte: not signed, 4 or 8: signed. */
DEVICE_INLINE int64_t integer_of(const void *integers, uint32_t bytes, size_t at)
{
    switch (bytes) {
    case 1: return ((const uint8_t *)integers)[at];
    case 4: return ((const int32_t *)integers)[at];
    default: return ((const int64_t *)integers)[at];
    }
}

/* Where element `index` of a row-major shape lies. */
DEVICE_INLINE size_t strided(const struct cuda_shape *shape, const struct cuda_strides *strides,
                             size_t index)
{
    size_t at = strides->first;
    for (uint32_t i = shape->rank; i-- > 0;) {
        at += index % shape->dims[i] * strides->stride[i];
        index /= shape->dims[i];
    }
    return at;
}

#endif
