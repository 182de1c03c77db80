#include "common/base/time_spent.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/files.h"

typedef _Atomic uint64_t counts[TIME_PHASES];

static counts own;
static _Atomic(_Atomic uint64_t *) shared = own;

void time_spent_add(enum time_phase phase, uint64_t since_ns)
{
    assert(phase < TIME_PHASES);
    _Atomic uint64_t *at = atomic_load_explicit(&shared, memory_order_acquire);
    atomic_fetch_add_explicit(&at[phase], clock_monotonic_ns() - since_ns, memory_order_relaxed);
}

enum tn_status time_spent_share(const char *path, struct error *error)
{
    assert(path != NULL);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) { return files_error(error, errno, "open", path); }
    /* Allocated, so that a full disk is an error here and not a signal later. */
    int reason = posix_fallocate(fd, 0, sizeof own);
    void *at = MAP_FAILED;
    if (reason == 0) {
        at = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED) { reason = errno; }
    }
    close(fd);
    if (at == MAP_FAILED) { return files_error(error, reason, "map", path); }
    atomic_store_explicit(&shared, at, memory_order_release);
    return TN_OK;
}

void time_spent_get(uint64_t out[static TIME_PHASES])
{
    const _Atomic uint64_t *at = atomic_load_explicit(&shared, memory_order_acquire);
    for (int p = 0; p < TIME_PHASES; p++) {
        out[p] = atomic_load_explicit(&at[p], memory_order_relaxed);
    }
}

bool time_spent_read(const char *path, uint64_t out[static TIME_PHASES])
{
    const size_t size = TIME_PHASES * sizeof *out;
    assert(path != NULL);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) { return false; }
    const bool complete = pread(fd, out, size, 0) == (ssize_t)size;
    close(fd);
    return complete;
}
