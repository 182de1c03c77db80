#include "common/base/doorbell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/memory_file.h"
#include "common/base/minmax.h"

_Static_assert(sizeof(struct doorbell_page) <= DOORBELL_BYTES, "it fits into its file");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a futex needs no lock");

static void close_set(struct doorbell *doorbell)
{
    if (doorbell->set >= 0) { close(doorbell->set); }
    if (doorbell->bell >= 0) { close(doorbell->bell); }
    doorbell->set = doorbell->bell = -1;
}

bool doorbell_open(struct doorbell *doorbell, bool shared)
{
    *doorbell = (struct doorbell){.fd = -1, .set = -1, .bell = -1};
    doorbell->page = &doorbell->own;
    if (!shared) { return true; }
    void *memory;
    doorbell->fd = memory_file_create("tanist-doorbell", DOORBELL_BYTES, &memory);
    if (doorbell->fd < 0) { return false; }
    doorbell->page = memory;
    return true;
}

bool doorbell_open_set(struct doorbell *doorbell)
{
    assert(doorbell->set < 0);
    doorbell->set = epoll_create1(EPOLL_CLOEXEC);
    doorbell->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    if (doorbell->set >= 0 && doorbell->bell >= 0 &&
        epoll_ctl(doorbell->set, EPOLL_CTL_ADD, doorbell->bell, &event) == 0) {
        return true;
    }
    close_set(doorbell);
    return false;
}

void doorbell_choose_set(struct doorbell *doorbell, bool in_set)
{
    assert(!in_set || doorbell->set >= 0);
    atomic_store(&doorbell->in_set, in_set);
}

void doorbell_close(struct doorbell *doorbell)
{
    close_set(doorbell);
    if (doorbell->fd < 0) { return; }
    (void)munmap(doorbell->page, DOORBELL_BYTES);
    close(doorbell->fd);
    doorbell->page = &doorbell->own;
    doorbell->fd = -1;
}

uint32_t doorbell_announce(struct doorbell *doorbell, enum doorbell_waiter who)
{
    const uint32_t ticket = atomic_load(&doorbell->page->ticket);
    atomic_fetch_or(&doorbell->waiting, who);
    atomic_fetch_or(&doorbell->page->waiting, who);
    return ticket;
}

void doorbell_withdraw(struct doorbell *doorbell, enum doorbell_waiter who)
{
    atomic_fetch_and(&doorbell->page->waiting, ~(uint32_t)who);
    atomic_fetch_and(&doorbell->waiting, ~(uint32_t)who);
}

static void sleep_in_set(struct doorbell *doorbell, uint64_t deadline_ns)
{
    const uint64_t now_ns = clock_monotonic_ns(), ms = 1000000;
    const uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    const uint64_t wait_ms = u64_min(wait_ns / ms + (wait_ns % ms > 0), INT_MAX);
    struct epoll_event event;
    if (epoll_wait(doorbell->set, &event, 1, (int)wait_ms) == 1 && event.data.ptr == NULL) {
        uint64_t rings;
        (void)!read(doorbell->bell, &rings, sizeof rings);
    }
}

void doorbell_sleep(struct doorbell *doorbell, uint32_t ticket, enum doorbell_waiter who,
                    uint64_t deadline_ns)
{
    assert(who == DOORBELL_OWNER || who == DOORBELL_HELPER);
    if (who == DOORBELL_OWNER && doorbell_is_in_set(doorbell)) {
        sleep_in_set(doorbell, deadline_ns);
        return;
    }
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / 1000000000),
        .tv_nsec = (long)(deadline_ns % 1000000000),
    };
    /* The bit set of the futex distinguishes the owner from the helper. */
    (void)syscall(SYS_futex, &doorbell->page->ticket, FUTEX_WAIT_BITSET, ticket,
                  deadline_ns == UINT64_MAX ? NULL : &until, NULL, who);
}

static void wake(struct doorbell_page *page, uint32_t who)
{
    atomic_fetch_add(&page->ticket, 1);
    (void)syscall(SYS_futex, &page->ticket, FUTEX_WAKE_BITSET, 1, NULL, NULL, who);
}

bool doorbell_is_in_set(struct doorbell *doorbell)
{
    return atomic_load(&doorbell->in_set);
}

bool doorbell_is_awaited(struct doorbell *doorbell, enum doorbell_waiter who)
{
    return (atomic_load(&doorbell->waiting) & who) != 0;
}

void doorbell_wake(struct doorbell *doorbell, enum doorbell_waiter who)
{
    if (!doorbell_is_awaited(doorbell, who)) { return; }
    /* If the owner changes its place just now, it looks at its sources again before it sleeps. */
    if (who == DOORBELL_OWNER && doorbell_is_in_set(doorbell)) {
        const uint64_t one = 1;
        (void)!write(doorbell->bell, &one, sizeof one);
    } else {
        wake(doorbell->page, who);
    }
}

void doorbell_ring(struct doorbell_page *page, bool urgent)
{
    const uint32_t waiting = atomic_load(&page->waiting);
    if ((waiting & DOORBELL_OWNER) != 0) {
        wake(page, DOORBELL_OWNER);
    } else if (urgent && (waiting & DOORBELL_HELPER) != 0) {
        wake(page, DOORBELL_HELPER);
    }
}
