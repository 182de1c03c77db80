/*
 * common/base/doorbell.h: wakes a thread that waits for things of several sources, some of them in
 * other processes, with no system call while it is awake.
 *
 * At most two threads of a process wait: the *owner* handles what happens; the *helper* steps in
 * while the owner is busy. A waiting thread announces itself, looks at all its sources once more,
 * and only then sleeps; a thread that adds to a source does so first and rings then, both with
 * sequentially consistent operations or under the mutex of the source. So nothing is missed.
 *
 * The page may be shared with other processes. They may write anything into it, which can delay a
 * wake-up by them until the deadline of the wait, but none by threads of this process.
 *
 * Instead of at the page, the owner may sleep in an epoll set, together with descriptors. Only
 * threads of this process wake it there.
 */
#ifndef COMMON_BASE_DOORBELL_H
#define COMMON_BASE_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doorbell_waiter { DOORBELL_OWNER = 1, DOORBELL_HELPER = 2 };

enum { DOORBELL_BYTES = 4096 }; /* Size of a shared page. */

struct doorbell_page {
    _Alignas(64) _Atomic uint32_t ticket; /* Changes with each ring; a futex. */
    _Atomic uint32_t waiting;             /* Set of enum doorbell_waiter. */
};

struct doorbell {
    struct doorbell_page *page;
    _Atomic uint32_t waiting; /* The same, out of reach of other processes. */
    struct doorbell_page own; /* The page of a doorbell that is not shared. */
    int fd;                   /* The shared page's; -1: it is not shared. */
    int set;                  /* An epoll set in which the owner may sleep; -1: none. */
    int bell;                 /* An eventfd in the set, by which this process wakes the owner. */
    _Atomic bool in_set;      /* The owner's last choice: it sleeps in the set. */
};

/* False: `shared` was asked for and is not possible; the doorbell is not shared. */
bool doorbell_open(struct doorbell *doorbell, bool shared);
void doorbell_close(struct doorbell *doorbell);

/* Make the epoll set `set`, in which the owner may sleep until one of its descriptors is ready.
 * They are added with a `data.ptr` that is not NULL. False: not possible. */
bool doorbell_open_set(struct doorbell *doorbell);
/* Whether the owner sleeps in the set, where rings of other processes do not wake it. For the
 * owner, after doorbell_announce(), and before it looks at its sources. */
void doorbell_choose_set(struct doorbell *doorbell, bool in_set);

/* Announce `who`, and take a ticket. Look at the sources after it. */
uint32_t doorbell_announce(struct doorbell *doorbell, enum doorbell_waiter who);
/* Sleep until the doorbell rings after the ticket was taken, or until clock_monotonic_ns() has
 * reached `deadline_ns` (UINT64_MAX: never). May return early. */
void doorbell_sleep(struct doorbell *doorbell, uint32_t ticket, enum doorbell_waiter who,
                    uint64_t deadline_ns);
/* `who` waits no longer. Look at the sources after it. */
void doorbell_withdraw(struct doorbell *doorbell, enum doorbell_waiter who);

/* The owner's last choice. */
bool doorbell_is_in_set(struct doorbell *doorbell);
/* Whether `who` of this process waits. */
bool doorbell_is_awaited(struct doorbell *doorbell, enum doorbell_waiter who);
/* Wake `who` of this process, if it waits. */
void doorbell_wake(struct doorbell *doorbell, enum doorbell_waiter who);
/* Ring the doorbell of any process: wakes its owner if that waits; otherwise its helper, but only
 * if the matter is urgent, since the owner looks at its sources before it waits again. */
void doorbell_ring(struct doorbell_page *page, bool urgent);

#endif
