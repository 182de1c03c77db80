#include "common/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static struct timespec read_clock(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(!failed); /* These clocks exist on every Linux. */
    return now;
}

static uint64_t read_ns(clockid_t id)
{
    const struct timespec now = read_clock(id);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_monotonic_ms(void)
{
    return clock_monotonic_ns() / 1000000u;
}

uint64_t clock_wall_ms(void)
{
    struct timespec now = read_clock(CLOCK_REALTIME);
    return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void clock_format(uint64_t wall_ms, char text[static TIME_TEXT_MAX])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm utc;
    struct tm *valid = gmtime_r(&seconds, &utc);
    assert(valid != NULL); /* 2^64 ms are fewer years than an int counts. */
    size_t length = strftime(text, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + length, TIME_TEXT_MAX - length, ".%03uZ", (unsigned)(wall_ms % 1000));
}

uint64_t clock_new_incarnation(void)
{
    uint64_t bits = 0;
    do {
        ssize_t got = getrandom(&bits, sizeof bits, 0);
        /* Eight bytes are always returned whole; only a signal before the kernel's pool is ready
         * interrupts the call. */
        if (got != (ssize_t)sizeof bits) {
            assert(errno == EINTR);
            bits = 0;
        }
        bits &= INT64_MAX;
    } while (bits == 0);
    return bits;
}
