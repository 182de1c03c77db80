/*
 * common/base/memory_alias.h: pages of shared memory at a second address, where they replace those
 * of an array, so that a body of the array's size need not be copied into it.
 *
 * Threads: any; one at a time for the same addresses. Blocking: never.
 */
#ifndef COMMON_BASE_MEMORY_ALIAS_H
#define COMMON_BASE_MEMORY_ALIAS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buffer.h"

/* Addresses and sizes are multiples of `page_bytes`; `to` is in memory of memory_array_create(). */
struct memory_port {
    void *ctx;
    size_t page_bytes; /* 0: pages cannot be shared, and nothing below is called. */
    /* The pages at `offset` of `body`, which is in shared memory, appear at `to` as well, until
     * they are replaced; to be read only, unless `writable`. They stay there when the body is
     * released, with whatever its owner writes then. False: not possible; no memory may be at `to`
     * until unalias(). */
    bool (*alias)(void *ctx, const struct buffer *body, size_t offset, void *to, size_t bytes,
                  bool writable);
    /* Pages of the array's own are at `to`, with undefined contents. False: out of memory. */
    bool (*unalias)(void *ctx, void *to, size_t bytes);
};

/* The pages of this machine. */
struct memory_port memory_port_of_machine(void);

/* Private memory, all zero, that begins a page; its last release returns it. NULL: out of
 * memory. */
struct buffer *memory_array_create(size_t bytes);

#endif
