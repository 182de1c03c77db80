/* ps/store/store_private.h: shared by the files that write shards, store.c and store_file.c, and
 * those that read them, store_read.c and store_scan.c; no other file includes it. */
#ifndef PS_STORE_STORE_PRIVATE_H
#define PS_STORE_STORE_PRIVATE_H

#include <assert.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "common/base/minmax.h"
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

/* Remove the first `size` bytes of the pieces, which were written or read. */
static inline void store_drop_front(struct iovec *pieces, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const size_t part = size_min(size, pieces[i].iov_len);
        pieces[i].iov_base = (uint8_t *)pieces[i].iov_base + part;
        pieces[i].iov_len -= part;
        size -= part;
    }
}

#endif
