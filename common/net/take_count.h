/*
 * common/net/take_count.h: how often a place in memory that two processes share was taken by its
 * receiver and returned, modulo 2^32. Both ends count in memory of their own; only the returns are
 * published. A place is free when it was returned as often as it was lent. Pure.
 *
 * Threads: the receiver takes in one thread; any may return.
 */
#ifndef COMMON_NET_TAKE_COUNT_H
#define COMMON_NET_TAKE_COUNT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The receiver's; all zero at the start. */
struct take_count {
    _Atomic uint32_t taken, returned;
};

/* For the sender: whether the place was returned as often as it was lent. */
static inline bool take_count_is_free(_Atomic uint32_t *published, uint32_t lent)
{
    /* Acquire: the receiver's reads happened before. */
    return atomic_load_explicit(published, memory_order_acquire) == lent;
}

/* False: the place is taken already, so the sender cannot have lent it. */
static inline bool take_count_take(struct take_count *count)
{
    const uint32_t taken = atomic_load(&count->taken);
    if (taken != atomic_load(&count->returned)) { return false; }
    atomic_store(&count->taken, taken + 1);
    return true;
}

/* The place is no longer used. */
static inline void take_count_return(struct take_count *count, _Atomic uint32_t *published)
{
    const uint32_t taken = atomic_load(&count->taken);
    assert(taken - atomic_load(&count->returned) == 1);
    /* In this order: the sender may lend the place as soon as it sees the return. */
    atomic_store(&count->returned, taken);
    atomic_store_explicit(published, taken, memory_order_release);
}

#endif
