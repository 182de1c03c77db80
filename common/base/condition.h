/*
 * common/base/condition.h: condition variables with deadlines on the monotonic clock. Threads: as
 * for pthread_cond_t. Blocking: condition_wait_until() only.
 */
#ifndef COMMON_BASE_CONDITION_H
#define COMMON_BASE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* pthread_cond_destroy() ends it. */
void condition_init(pthread_cond_t *condition);

/* Wait with `mutex` held. False: clock_monotonic_ms() has reached `deadline_ms` (UINT64_MAX: no
 * deadline). Wakes up spuriously, as pthread_cond_wait() does. */
bool condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline_ms);

#endif
