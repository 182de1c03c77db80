#include "ps/store/save_pace.h"

#include <assert.h>

#include "common/base/clock.h"
#include "common/base/condition.h"
#include "common/base/thread_priority.h"

void save_pace_open(struct save_pace *pace)
{
    *pace = (struct save_pace){.can_be_idle = thread_priority_can_return()};
    pthread_mutex_init(&pace->mutex, NULL);
    condition_init(&pace->changed);
}

void save_pace_close(struct save_pace *pace)
{
    assert(atomic_load(&pace->idle) == 0);
    pthread_cond_destroy(&pace->changed);
    pthread_mutex_destroy(&pace->mutex);
}

/* Called with the mutex held, which an idle thread releases at once. */
static void set_idle(struct save_pace *pace, bool idle)
{
    if (idle == (atomic_load(&pace->idle) != 0)) { return; }
    const int self = thread_priority_self();
    if (idle) {
        atomic_store(&pace->idle, self);
        (void)thread_priority_set(self, THREAD_IDLE);
        return;
    }
    (void)thread_priority_set(self, THREAD_NORMAL);
    atomic_store(&pace->idle, 0);
}

void save_pace_begin(struct save_pace *pace, uint64_t bytes, uint64_t spread_ms, bool hurried)
{
    pthread_mutex_lock(&pace->mutex);
    pace->hurried = hurried;
    pthread_mutex_unlock(&pace->mutex);
    pace->began_ms = clock_monotonic_ms();
    pace->asked = pace->waited_ms = 0;
    pace->rate = (struct save_rate){.bytes = bytes, .spread_ms = spread_ms};
}

static void wait_until(struct save_pace *pace, uint64_t now_ms, uint64_t until_ms)
{
    const uint64_t begun_ms = now_ms;
    while (!pace->hurried && now_ms < until_ms) {
        (void)condition_wait_until(&pace->changed, &pace->mutex, until_ms);
        now_ms = clock_monotonic_ms();
    }
    pace->waited_ms += now_ms - begun_ms;
}

void save_pace_wrote(struct save_pace *pace, uint64_t bytes)
{
    pace->rate.written += bytes;
    if (pace->rate.written - pace->asked < SAVE_BLOCK_BYTES) { return; }
    pace->asked = pace->rate.written;
    const uint64_t now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&pace->mutex);
    pace->rate.elapsed_ms = now_ms - pace->began_ms;
    pace->rate.hurried = pace->hurried;
    const struct save_advice advice = save_rate_advise(&pace->rate);
    wait_until(pace, now_ms, now_ms + advice.wait_ms);
    set_idle(pace, advice.idle && pace->can_be_idle && !pace->hurried);
    pthread_mutex_unlock(&pace->mutex);
}

bool save_pace_is_hurried(struct save_pace *pace)
{
    pthread_mutex_lock(&pace->mutex);
    const bool hurried = pace->hurried || pace->rate.spread_ms == 0;
    pthread_mutex_unlock(&pace->mutex);
    return hurried;
}

void save_pace_be_normal(struct save_pace *pace)
{
    pthread_mutex_lock(&pace->mutex);
    set_idle(pace, false);
    pthread_mutex_unlock(&pace->mutex);
}

uint64_t save_pace_end(struct save_pace *pace)
{
    save_pace_be_normal(pace);
    return pace->waited_ms;
}

/* An idle writer that holds the mutex would not let go of it soon. */
static void wake_writer(struct save_pace *pace)
{
    const int writer = atomic_load(&pace->idle);
    if (writer != 0) { (void)thread_priority_set(writer, THREAD_NORMAL); }
}

void save_pace_hurry(struct save_pace *pace)
{
    wake_writer(pace);
    pthread_mutex_lock(&pace->mutex);
    wake_writer(pace);
    pace->hurried = true;
    pthread_cond_signal(&pace->changed);
    pthread_mutex_unlock(&pace->mutex);
}

static void rows_wrote(void *ctx, uint64_t bytes)
{
    save_pace_wrote(ctx, bytes);
}

static void rows_end(void *ctx)
{
    save_pace_be_normal(ctx);
}

struct table_progress save_pace_of_rows(struct save_pace *pace)
{
    return (struct table_progress){.wrote = rows_wrote, .end = rows_end, .ctx = pace};
}
