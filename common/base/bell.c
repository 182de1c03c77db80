#include "common/base/bell.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory_file.h"

_Static_assert(sizeof(struct bell_page) <= BELL_BYTES, "it fits into its file");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a futex needs no lock");

bool bell_open(struct bell *bell, bool shared)
{
    *bell = (struct bell){.fd = -1};
    bell->page = &bell->own;
    if (!shared) { return true; }
    void *memory;
    bell->fd = memory_file_create("tanist-bell", BELL_BYTES, &memory);
    if (bell->fd < 0) { return false; }
    bell->page = memory;
    return true;
}

void bell_close(struct bell *bell)
{
    if (bell->fd < 0) { return; }
    (void)munmap(bell->page, BELL_BYTES);
    close(bell->fd);
    bell->page = &bell->own;
    bell->fd = -1;
}

uint32_t bell_announce(struct bell *bell, enum bell_waiter who)
{
    const uint32_t ticket = atomic_load(&bell->page->ticket);
    atomic_fetch_or(&bell->waiting, who);
    atomic_fetch_or(&bell->page->waiting, who);
    return ticket;
}

void bell_withdraw(struct bell *bell, enum bell_waiter who)
{
    atomic_fetch_and(&bell->page->waiting, ~(uint32_t)who);
    atomic_fetch_and(&bell->waiting, ~(uint32_t)who);
}

void bell_sleep(struct bell *bell, uint32_t ticket, enum bell_waiter who, uint64_t deadline_ns)
{
    assert(who == BELL_OWNER || who == BELL_HELPER);
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / 1000000000),
        .tv_nsec = (long)(deadline_ns % 1000000000),
    };
    /* The bit set of the futex distinguishes the owner from the helper. */
    (void)syscall(SYS_futex, &bell->page->ticket, FUTEX_WAIT_BITSET, ticket,
                  deadline_ns == UINT64_MAX ? NULL : &until, NULL, who);
}

static void wake(struct bell_page *page, uint32_t who)
{
    atomic_fetch_add(&page->ticket, 1);
    (void)syscall(SYS_futex, &page->ticket, FUTEX_WAKE_BITSET, 1, NULL, NULL, who);
}

void bell_wake(struct bell *bell, enum bell_waiter who)
{
    if ((atomic_load(&bell->waiting) & who) != 0) { wake(bell->page, who); }
}

void bell_ring(struct bell_page *page, bool urgent)
{
    const uint32_t waiting = atomic_load(&page->waiting);
    if ((waiting & BELL_OWNER) != 0) {
        wake(page, BELL_OWNER);
    } else if (urgent && (waiting & BELL_HELPER) != 0) {
        wake(page, BELL_HELPER);
    }
}
