/* tests/unit/ps/pushed_gradient.h: a gradient as a worker pushes it. */
#ifndef TESTS_UNIT_PS_PUSHED_GRADIENT_H
#define TESTS_UNIT_PS_PUSHED_GRADIENT_H

#include <string.h>

#include "common/base/minmax.h"
#include "ps/pushed_gradient.h"

/* `count` floats in chunks of `chunk_bytes`. */
static inline struct pushed_gradient *pushed_gradient(struct buffer_pool *pool, const float *sum,
                                                      size_t count, uint32_t chunk_bytes)
{
    size_t bytes = count * sizeof *sum;
    struct pushed_gradient *pushed =
        pushed_gradient_create((uint32_t)((bytes - 1) / chunk_bytes + 1));
    for (size_t i = pushed->capacity; i > 0; i--) {
        size_t at = (i - 1) * chunk_bytes;
        struct buffer *chunk = buffer_acquire(pool, size_min(bytes - at, chunk_bytes));
        memcpy(chunk->data, (const char *)sum + at, chunk->size);
        pushed_gradient_add(pushed, chunk);
    }
    return pushed;
}

#endif
