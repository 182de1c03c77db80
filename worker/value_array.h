/*
 * worker/value_array.h: all parameters of one step in one array, which is filled from the bodies of
 * answers.
 *
 * A body that a ps has put into shared memory is not copied: its pages appear in the array, and the
 * body stays in use, so that the ps does not overwrite it, until the array is returned. A page that
 * belongs to two bodies is copied. There are three kinds of arrays:
 *
 * - Answers of at most VALUE_BODIES_MAX chunks may be in slots (common/net/slots.h), of which two
 *   arrays use as many in turn. The pages stay in the array afterwards, as a body in the same place
 *   is likely to follow.
 * - Longer answers are in the memory of the ps (common/net/loans.h), one chunk behind the other.
 *   The last chunk stays in use, and with it the whole answer. Its pages appear in the array when
 *   the array is completed, and leave it when the array is returned: so two arrays have the pages
 *   of one, and take no memory of their own. An answer whose chunks are apart is copied.
 * - All other answers are copied.
 *
 * An array's contents are undefined until it is filled again and completed.
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

enum value_sharing {
    VALUES_COPIED,   /* All bodies are copied. */
    VALUES_BY_CHUNK, /* Each answer has at most VALUE_BODIES_MAX bodies. */
    VALUES_BY_ANSWER,
};

/* The last body of a range, or the answer of a ps. */
struct value_range {
    struct buffer *held; /* The body, if it is used where it is; NULL: its memory may change. */
    uint64_t memory;     /* Whose pages are in the array; 0: its own. */
    const void *from;
    size_t offset, bytes;
};

struct value_array {
    struct memory_port port;
    struct buffer *values; /* NULL: closed. */
    enum value_sharing sharing;
    bool cannot_alias;  /* The port has failed: bodies are copied from now on. */
    uint32_t range_end; /* The ranges from here on were never used. */
    struct value_range ranges[PS_MAX * VALUE_BODIES_MAX]; /* Or by ps. */
};

/* An array of `bytes`. With VALUES_COPIED, or if the port cannot share pages, it is a buffer of the
 * pool. False: out of memory. */
MUST_CHECK bool value_array_open(struct value_array *array, const struct memory_port *port,
                                 enum value_sharing sharing, size_t bytes,
                                 struct buffer_pool *pool);
void value_array_close(struct value_array *array); /* An array that is all zero is allowed. */

/* Body number `number` of the answer of `ps` is for `offset`, in bytes; its offset and size are
 * always the same. An answer begins with body 0, and the others follow in order. The body is only
 * read. The caller keeps its reference. False: out of memory, and the array is of no further
 * use. */
MUST_CHECK bool value_array_take(struct value_array *array, uint32_t ps, uint32_t number,
                                 size_t offset, struct buffer *body);

/* As value_array_take(), but the bodies of the answer come in any order, `first` being the first
 * one, and are always copied. */
MUST_CHECK bool value_array_copy(struct value_array *array, uint32_t ps, uint32_t number,
                                 bool first, size_t offset, const struct buffer *body);

/* All answers were taken, and are to be read now. False: out of memory, and the array is of no
 * further use. */
MUST_CHECK bool value_array_complete(struct value_array *array);

/* Nothing that the array contains is used any longer, complete or not: all bodies are returned. */
void value_array_return(struct value_array *array);

#endif
