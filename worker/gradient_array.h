/*
 * worker/gradient_array.h: the gradient of all parameters in one array whose pages are also those
 * of places in shared memory, one for each ps: a gradient that is computed there is where its ps
 * reads it, and is sent without a copy. A page in which two shards meet is copied.
 *
 * The array is used only if each ps has a place. The places stay its own until it is begun again,
 * because the gradient may have to be sent again, also to a ps that has restarted: then from the
 * place of the old connection, whose memory stays. While the ps reads a place, none is given for
 * it, so no gradient changes under its reader.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_GRADIENT_ARRAY_H
#define WORKER_GRADIENT_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "common/base/memory_alias.h"
#include "common/cluster/placement.h"
#include "common/cluster/task.h"

/* Where places come from: `bytes` bytes at line `line` of a page of the memory that is shared with
 * ps `ps`, as in struct transport_port. */
struct gradient_places {
    void *ctx;
    struct buffer *(*reserve)(void *ctx, uint32_t ps, uint32_t line, size_t bytes);
};

struct gradient_range {
    struct buffer *place; /* Its pages are in the array; NULL: none. One reference. */
    uint64_t memory;      /* Whose pages are in the array; 0: its own. */
    const void *from;
    bool complete; /* The bytes outside whole pages were copied to the place. */
};

struct gradient_array {
    struct memory_port port;
    struct gradient_places places;
    const struct placement *shards; /* By ps. */
    uint32_t ps;
    uint64_t parameters;
    struct buffer *memory; /* NULL: closed. One reference; each gradient in use holds another. */
    size_t begin;          /* Bytes of the memory before the first parameter. */
    struct gradient_range ranges[PS_MAX];
};

/* An array for the `ps` ranges in `shards`, which outlive it; together they are all parameters.
 * Arrays of different `number` begin at different lines of a page, so that a ps which adds
 * gradients of several workers does not read the same sets of its cache. It stays closed if pages
 * cannot be shared, a range is too large for a place, or memory is missing. */
void gradient_array_open(struct gradient_array *array, const struct memory_port *port,
                         const struct gradient_places *places, const struct placement *shards,
                         uint32_t ps, uint32_t number);
void gradient_array_close(struct gradient_array *array); /* An array that is all zero is allowed. */

/* Memory for a gradient of all parameters, with undefined contents and one reference. NULL: the
 * array is closed, the gradient before is still in use, or some ps has no place. */
struct buffer *gradient_array_begin(struct gradient_array *array);

/* The complete range of ps `ps` of the last gradient that was begun, with one reference. */
struct buffer *gradient_array_range(struct gradient_array *array, uint32_t ps);

#endif
