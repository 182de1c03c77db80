/* ps/store/store_private.h: shared by store.c, which writes shards, and store_read.c; no other file
 * includes it. */
#ifndef PS_STORE_STORE_PRIVATE_H
#define PS_STORE_STORE_PRIVATE_H

#include <assert.h>
#include <stdatomic.h>

#include "ps/store/store_port.h"

static inline bool store_is_cancelled(const atomic_bool *cancelled)
{
    return cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed);
}

static inline enum tn_status store_cancelled_error(struct error *error)
{
    return error_set(error, TN_ECLOSED, "the store is stopping");
}

static inline uint8_t *store_array_bytes(const struct store_array *array)
{
    assert(array->buffer != NULL);
    assert(array->offset_bytes % sizeof(float) == 0);
    return (uint8_t *)array->buffer->data + array->offset_bytes;
}

#endif
