/*
 * ps/kept_prefault.h: a thread that allocates the memory of the slots that a ps will use, before it
 * uses them: the kernel zeroes it, which takes several times as long as an update. Without the
 * thread the first step behind a save waits for the memory of a second copy of the arrays.
 *
 * Threads: the owner starts and stops it. Blocking: stopping, for the time of one huge page.
 */
#ifndef PS_KEPT_PREFAULT_H
#define PS_KEPT_PREFAULT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ps/kept_memory.h"

struct kept_prefault {
    struct buffer_pool *slots;
    uint32_t count;
    pthread_t thread;
    bool started;
    atomic_bool stop;
};

/* Begin with slots [0, count) of `kept`, which outlives the thread; 0: nothing is started. If no
 * thread can be started, memory is allocated as it is used. */
void kept_prefault_start(struct kept_prefault *prefault, struct kept_memory *kept, uint32_t count);

/* A zeroed one is allowed. */
void kept_prefault_stop(struct kept_prefault *prefault);

#endif
