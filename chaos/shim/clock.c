/* chaos/shim/clock.c: a shifted wall clock, as if an administrator had set it. CLOCK_MONOTONIC is
 * not affected. */
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include "chaos/shim/shim.h"

enum { NS_PER_S = 1000000000, NS_PER_US = 1000 };

/* 0: the clock is right. */
static int64_t offset_ms(void)
{
    struct fault_slot *slot = shim_faults();
    if (slot == NULL) { return 0; }
    int64_t offset = atomic_load_explicit(&slot->clock_offset_ms, memory_order_relaxed);
    if (offset != 0) { atomic_fetch_add_explicit(&slot->clocks_shifted, 1, memory_order_relaxed); }
    return offset;
}

static void shift(struct timespec *time, int64_t ms)
{
    int64_t ns = time->tv_nsec + ms % 1000 * (NS_PER_S / 1000);
    time->tv_sec += ms / 1000;
    while (ns < 0) {
        ns += NS_PER_S;
        time->tv_sec--;
    }
    while (ns >= NS_PER_S) {
        ns -= NS_PER_S;
        time->tv_sec++;
    }
    time->tv_nsec = (long)ns;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *out)
{
    NEXT(clock_gettime);
    int result = real(clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ms = offset_ms();
        if (ms != 0) { shift(out, ms); }
    }
    return result;
}

EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    NEXT(gettimeofday);
    int result = real(out, zone);
    int64_t ms = result == 0 ? offset_ms() : 0;
    if (ms != 0) {
        struct timespec time = {.tv_sec = out->tv_sec, .tv_nsec = out->tv_usec * NS_PER_US};
        shift(&time, ms);
        out->tv_sec = time.tv_sec;
        out->tv_usec = time.tv_nsec / NS_PER_US;
    }
    return result;
}

EXPORT time_t time(time_t *out)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) { return (time_t)-1; }
    if (out != NULL) { *out = now.tv_sec; }
    return now.tv_sec;
}
