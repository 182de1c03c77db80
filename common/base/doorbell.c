#include "common/base/doorbell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory_file.h"

_Static_assert(sizeof(struct doorbell_page) <= DOORBELL_BYTES, "it fits into its file");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a futex needs no lock");

bool doorbell_open(struct doorbell *doorbell, bool shared)
{
    *doorbell = (struct doorbell){.fd = -1};
    doorbell->page = &doorbell->own;
    if (!shared) { return true; }
    void *memory;
    doorbell->fd = memory_file_create("tanist-doorbell", DOORBELL_BYTES, &memory);
    if (doorbell->fd < 0) { return false; }
    doorbell->page = memory;
    return true;
}

void doorbell_close(struct doorbell *doorbell)
{
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

void doorbell_sleep(struct doorbell *doorbell, uint32_t ticket, enum doorbell_waiter who,
                    uint64_t deadline_ns)
{
    assert(who == DOORBELL_OWNER || who == DOORBELL_HELPER);
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

void doorbell_wake(struct doorbell *doorbell, enum doorbell_waiter who)
{
    if ((atomic_load(&doorbell->waiting) & who) != 0) { wake(doorbell->page, who); }
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
