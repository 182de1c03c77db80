/*
 * common/base/buffer.h: long-lived, 64-byte aligned memory for tensors, with reference counts.
 *
 * A ps publishes step s+1 by filling a fresh buffer and sending that one buffer to every worker; it
 * returns to the pool when the last send is done, so that no reader sees values that are being
 * overwritten.
 *
 * Threads: any. A buffer's contents may be written only while the writer holds the only reference
 * to it, or to the part that is written.
 */
#ifndef COMMON_BASE_BUFFER_H
#define COMMON_BASE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer_pool;

#define BUFFER_NO_SLOT  UINT32_MAX
#define BUFFER_ANY_LINE UINT32_MAX

struct buffer {
    void *data;      /* 64-byte aligned. */
    size_t size;     /* Bytes in use; the owner sets it, at most `capacity`. */
    size_t capacity; /* Bytes. */
    uint64_t memory; /* The number of the shared memory that the data are in; 0: none. */
    /* Private to buffer.c: */
    struct buffer_pool *pool; /* NULL: a part, or wrapped memory. */
    struct buffer *whole;     /* NULL: this is not a part. */
    struct buffer *next_free;
    uint32_t references;
};

/* `limit_bytes` bounds all memory of the pool, in use and free; 0: no bound. NULL: out of
 * memory. */
struct buffer_pool *buffer_pool_create(size_t limit_bytes);
/* A pool of `count` buffers, the slots: slot i begins at byte i * buffer_slot_bytes(size) of
 * `memory`, which begins a page and outlives the pool, and has at least `size` bytes. Nothing is
 * written to it. NULL: out of memory. */
struct buffer_pool *buffer_pool_of_slots(void *memory, size_t size, uint32_t count);
/* Allocate the memory of slots [0, count), the last one first, until `*stop` is true: a slot whose
 * memory is allocated when it is first used makes its user wait. The slots may be in use meanwhile,
 * and their contents stay. Only a hint to the kernel. */
void buffer_pool_prefault(struct buffer_pool *pool, uint32_t count, const atomic_bool *stop);
/* The memory that a slot takes: whole pages. */
size_t buffer_slot_bytes(size_t size);
/* All buffers must have been released. NULL is allowed. */
void buffer_pool_destroy(struct buffer_pool *pool);

/* A buffer of at least `size` bytes with one reference; its contents are undefined. Reuses a
 * released one of the same capacity, newest first, else allocates. Capacities are powers of two and
 * 1.5 times these up to 1 MiB, and whole pages above. NULL: out of memory or over the limit. */
struct buffer *buffer_acquire(struct buffer_pool *pool, size_t size);
/* The same, but the data of a slot begin at line `line`, of 64 bytes, of a page of 4096. */
struct buffer *buffer_acquire_line(struct buffer_pool *pool, size_t size, uint32_t line);
/* Slot `slot` of the pool, with its contents, which begin at `line`; BUFFER_ANY_LINE: where
 * buffer_acquire() has put them. NULL: it is in use, or its number is too high. */
struct buffer *buffer_acquire_slot(struct buffer_pool *pool, uint32_t slot, size_t size,
                                   uint32_t line);
/* Only buffer_acquire_slot() acquires these slots from now on: bit i is that of slot i, of at most
 * 64. Replaces those that were held back before. */
void buffer_pool_hold_back(struct buffer_pool *pool, uint64_t slots);
/* The slot of `pool` that the buffer is; BUFFER_NO_SLOT: none. */
uint32_t buffer_slot(const struct buffer_pool *pool, const struct buffer *buffer);
/* Bytes [offset, offset + size) of `whole` as a buffer with one reference, which holds one to
 * `whole`. Parts are written apart from each other. NULL: out of memory. */
struct buffer *buffer_part(struct buffer *whole, size_t offset, size_t size);
/* Memory that belongs to something else as a buffer with one reference; the last release calls
 * `release` with `ctx`, on any thread. NULL: out of memory, and nothing is called. */
struct buffer *buffer_wrap(void *data, size_t size, void (*release)(void *ctx), void *ctx);
struct buffer *buffer_retain(struct buffer *buffer); /* Returns its argument. */
void buffer_release(struct buffer *buffer);          /* NULL is allowed. */

/* Whether the caller's reference is the only one, so that it may write. Not for parts. */
bool buffer_is_exclusive(const struct buffer *buffer);
/* As buffer_is_exclusive(), for any buffer: false for parts, for memory that is not the pool's, and
 * for slots. */
bool buffer_is_spare(const struct buffer *buffer);

/* Bytes the pool holds, in use and free. */
size_t buffer_pool_bytes(const struct buffer_pool *pool);

#endif
