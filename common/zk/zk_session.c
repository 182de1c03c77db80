/* common/zk/zk_session.c: closing the session of a process that died. */
#include <pthread.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/zk/zk.h"

struct closing {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool connected;
    bool expired;
};

static void on_event(void *ctx, const struct zk_event *event)
{
    struct closing *closing = ctx;
    pthread_mutex_lock(&closing->lock);
    if (event->type == ZK_CONNECTED) { closing->connected = true; }
    if (event->type == ZK_DISCONNECTED) { closing->connected = false; }
    if (event->type == ZK_EXPIRED) { closing->expired = true; }
    pthread_cond_signal(&closing->changed);
    pthread_mutex_unlock(&closing->lock);
}

static enum tn_status wait_for_session(struct closing *closing, uint32_t timeout_ms)
{
    uint64_t until_ms = clock_monotonic_ms() + timeout_ms;
    struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                             .tv_nsec = (long)(until_ms % 1000) * 1000000};
    int timed_out = 0;
    pthread_mutex_lock(&closing->lock);
    while (!timed_out && !closing->connected && !closing->expired) {
        timed_out = pthread_cond_timedwait(&closing->changed, &closing->lock, &until);
    }
    enum tn_status status = closing->expired     ? TN_EEXPIRED
                            : closing->connected ? TN_OK
                                                 : TN_ETIMEDOUT;
    pthread_mutex_unlock(&closing->lock);
    return status;
}

enum tn_status zk_close_session(const char *connect, const struct zk_session *session,
                                uint32_t timeout_ms)
{
    struct closing closing = {.connected = false};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&closing.lock, NULL);
    pthread_cond_init(&closing.changed, &attributes);
    pthread_condattr_destroy(&attributes);

    /* The library gives a silent server two thirds of its session timeout; asking for a part of
     * our time, several servers get their turn. Nothing else hangs on it: the session ends. */
    uint32_t patience_ms = timeout_ms / 4 > 100 ? timeout_ms / 4 : 100;
    struct zk_config config = {.connect = connect,
                               .session_timeout_ms = patience_ms,
                               .deadline_ms = 1,
                               .resume = session,
                               .sink = on_event,
                               .sink_ctx = &closing};
    struct zk *zk = NULL;
    enum tn_status status = zk_open(&config, &zk, NULL);
    if (status == TN_OK) { status = wait_for_session(&closing, timeout_ms); }
    zk_close(zk); /* Closes the session, if connected. */
    pthread_cond_destroy(&closing.changed);
    pthread_mutex_destroy(&closing.lock);
    return status;
}
