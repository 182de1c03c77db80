/*
 * ps/pushed_gradient.h: the gradient of a push, in the buffers in which its chunks arrived, or
 * copied to one array.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_PUSHED_GRADIENT_H
#define PS_PUSHED_GRADIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buffer.h"

struct pushed_gradient {
    uint32_t count, capacity;
    struct buffer *array;    /* Has the chunks, in their order; NULL: `chunks` has them. */
    uint32_t chunk_bytes;    /* In the array, of all chunks but the last. */
    bool ended;              /* The chunks were released, and none is needed. */
    struct buffer *chunks[]; /* [capacity]; the last `count` have arrived. One reference each. */
};

/* Room for `capacity` chunks. NULL: out of memory. */
struct pushed_gradient *pushed_gradient_create(uint32_t capacity);
/* As pushed_gradient_create(), but the chunks, of `chunk_bytes`, are copied to `array`, of which
 * the gradient holds a reference: nothing else is written there meanwhile. */
struct pushed_gradient *pushed_gradient_create_in(uint32_t capacity, struct buffer *array,
                                                  uint32_t chunk_bytes);
/* Put the next chunk in front of those that have arrived (T9). Takes one reference. */
void pushed_gradient_add(struct pushed_gradient *pushed, struct buffer *chunk);
/* The next chunk is not needed, and nothing will read it. */
void pushed_gradient_skip(struct pushed_gradient *pushed);
/* The array is released: neither the chunks in it nor later ones are needed any longer. */
void pushed_gradient_end(struct pushed_gradient *pushed);
/* Releases the chunks. NULL is allowed. */
void pushed_gradient_free(struct pushed_gradient *pushed);

#endif
