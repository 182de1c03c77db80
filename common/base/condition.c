#include "common/base/condition.h"

#include <assert.h>
#include <errno.h>
#include <time.h>

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    int failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    assert(failed == 0);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline_ms)
{
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ms / 1000),
        .tv_nsec = (long)(deadline_ms % 1000) * 1000000,
    };
    int result = deadline_ms == UINT64_MAX ? pthread_cond_wait(condition, mutex)
                                           : pthread_cond_timedwait(condition, mutex, &until);
    assert(result == 0 || result == ETIMEDOUT);
    return result == 0;
}
