/* chaos/shim/files.c: writes that fail, and syncs that fail or are slow. Only files and folders are
 * on a disk: sockets, pipes and the log (descriptors 0 to 2) are not affected. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "chaos/shim/shim.h"

enum { FIRST_DESCRIPTOR = 3 };

static uint32_t ordered(const _Atomic uint32_t *what)
{
    return atomic_load_explicit(what, memory_order_relaxed);
}

static bool is_on_disk(int fd, bool or_folder)
{
    struct stat info;
    int before = errno;
    bool found = fd >= FIRST_DESCRIPTOR && fstat(fd, &info) == 0 &&
                 (S_ISREG(info.st_mode) || (or_folder && S_ISDIR(info.st_mode)));
    errno = before;
    return found;
}

/* The error with which a change of `fd` is to fail; 0: it succeeds. */
static int write_fault(int fd)
{
    struct fault_slot *slot = shim_faults();
    if (slot == NULL) { return 0; }
    uint32_t code = ordered(&slot->write_errno);
    if (code == 0 || !is_on_disk(fd, false)) { return 0; }
    atomic_fetch_add_explicit(&slot->writes_failed, 1, memory_order_relaxed);
    return (int)code;
}

/* Sleep, also across signals. */
static void wait_ms(uint32_t ms)
{
    int before = errno;
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, &left) != 0 && errno == EINTR) {}
    errno = before;
}

/* The error with which a sync is to fail, after its delay. */
static int sync_fault(struct fault_slot *slot)
{
    uint32_t delay_ms = ordered(&slot->sync_delay_ms);
    if (delay_ms != 0) {
        atomic_fetch_add_explicit(&slot->syncs_delayed, 1, memory_order_relaxed);
        wait_ms(delay_ms);
    }
    uint32_t code = ordered(&slot->sync_errno);
    if (code != 0) { atomic_fetch_add_explicit(&slot->syncs_failed, 1, memory_order_relaxed); }
    return (int)code;
}

static bool sync_is_bad(const struct fault_slot *slot)
{
    return slot != NULL && (ordered(&slot->sync_errno) != 0 || ordered(&slot->sync_delay_ms) != 0);
}

static int sync_fault_of(int fd)
{
    struct fault_slot *slot = shim_faults();
    return sync_is_bad(slot) && is_on_disk(fd, true) ? sync_fault(slot) : 0;
}

/* ------------------------------------------------------------------ writes */

/* A function whose first parameter is `fd`, and which returns -1 when it fails. */
#define WRITING(type, name, parameters, arguments)                                                 \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        NEXT(name);                                                                                \
        int code = write_fault(fd);                                                                \
        if (code == 0) { return real arguments; }                                                  \
        errno = code;                                                                              \
        return -1;                                                                                 \
    }

WRITING(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
WRITING(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRITING(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at),
        (fd, data, size, at))
WRITING(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITING(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at),
        (fd, parts, count, at))
WRITING(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at),
        (fd, parts, count, at))
WRITING(int, ftruncate, (int fd, off_t size), (fd, size))
WRITING(int, ftruncate64, (int fd, off64_t size), (fd, size))
WRITING(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
WRITING(int, fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size))

/* These two return the error number. */
EXPORT int posix_fallocate(int fd, off_t at, off_t size)
{
    NEXT(posix_fallocate);
    int code = write_fault(fd);
    return code != 0 ? code : real(fd, at, size);
}

EXPORT int posix_fallocate64(int fd, off64_t at, off64_t size)
{
    NEXT(posix_fallocate64);
    int code = write_fault(fd);
    return code != 0 ? code : real(fd, at, size);
}

/* ------------------------------------------------------------------- syncs */

#define SYNCING(name)                                                                              \
    EXPORT int name(int fd)                                                                        \
    {                                                                                              \
        NEXT(name);                                                                                \
        int code = sync_fault_of(fd);                                                              \
        if (code == 0) { return real(fd); }                                                        \
        errno = code;                                                                              \
        return -1;                                                                                 \
    }

SYNCING(fsync)
SYNCING(fdatasync)

/* MS_ASYNC guarantees nothing, so it cannot fail. */
EXPORT int msync(void *from, size_t size, int flags)
{
    NEXT(msync);
    struct fault_slot *slot = shim_faults();
    int code = (flags & MS_SYNC) != 0 && sync_is_bad(slot) ? sync_fault(slot) : 0;
    if (code == 0) { return real(from, size, flags); }
    errno = code;
    return -1;
}
