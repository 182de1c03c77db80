/*
 * worker/value_array.h: all parameters of one step in one array, which is filled from the bodies of
 * answers.
 *
 * A body that a ps has put into shared memory is not copied: its pages appear in the array, and the
 * body stays in use, so that the ps does not overwrite it, until the array is returned. A page that
 * belongs to two bodies is copied. The pages stay in the array afterwards, as a body in the same
 * place is likely to follow: the array's contents are undefined until it is filled again.
 *
 * A ps has a limited number of places for bodies (common/net/slots.h), and two arrays use them in
 * turn: so only an answer of at most VALUE_BODIES_MAX chunks stays in use.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_VALUE_ARRAY_H
#define WORKER_VALUE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/memory_alias.h"
#include "common/cluster/task.h"
#include "common/net/slots.h"

enum { VALUE_BODIES_MAX = SLOTS / 2 }; /* The most that a ps may lend to one array. */

/* The last body of a range. */
struct value_range {
    struct buffer *held; /* The array has pages of it; NULL: they may change. */
    uint64_t memory;     /* Whose pages are in the array; 0: its own. */
    const void *from;
    size_t offset, bytes;
};

struct value_array {
    struct memory_port port;
    struct buffer *values; /* NULL: closed. */
    bool shares;           /* Bodies may stay in use. */
    bool cannot_alias;     /* The port has failed: bodies are copied from now on. */
    uint32_t range_end;    /* The ranges from here on were never used. */
    struct value_range ranges[PS_MAX * VALUE_BODIES_MAX];
};

/* An array of `bytes`. `shares`: each answer has at most VALUE_BODIES_MAX bodies; otherwise all are
 * copied, into a buffer of the pool. False: out of memory. */
MUST_CHECK bool value_array_open(struct value_array *array, const struct memory_port *port,
                                 bool shares, size_t bytes, struct buffer_pool *pool);
void value_array_close(struct value_array *array); /* Also of an array that is all zero. */

/* Body number `number` of the answer of `ps` is for `offset`, in bytes; its offset and size are
 * always the same. The body is only read. The caller keeps its reference. False: out of memory, and
 * the array is of no further use. */
MUST_CHECK bool value_array_take(struct value_array *array, uint32_t ps, uint32_t number,
                                 size_t offset, struct buffer *body);

/* The values are no longer used: all bodies are returned. */
void value_array_return(struct value_array *array);

#endif
