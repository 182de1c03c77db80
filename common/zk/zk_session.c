/* common/zk/zk_session.c: closes the session of a dead process. */
#include <assert.h>
#include <pthread.h>

#include "common/base/clock.h"
#include "common/base/condition.h"
#include "common/base/minmax.h"
#include "common/zk/zk.h"

enum { GIVEN_UP_POLL_MS = 20 };

struct closing {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool connected;
    bool expired;
};

static void on_event(void *ctx, const struct zk_event *event)
{
    assert(event != NULL);
    struct closing *closing = ctx;
    pthread_mutex_lock(&closing->lock);
    if (event->type == ZK_CONNECTED) { closing->connected = true; }
    if (event->type == ZK_DISCONNECTED) { closing->connected = false; }
    if (event->type == ZK_EXPIRED) { closing->expired = true; }
    pthread_cond_signal(&closing->changed);
    pthread_mutex_unlock(&closing->lock);
}

static enum tn_status wait_for_session(struct closing *closing, uint32_t timeout_ms,
                                       const atomic_bool *given_up)
{
    uint64_t now_ms = clock_monotonic_ms(), until_ms = now_ms + timeout_ms;
    pthread_mutex_lock(&closing->lock);
    while (now_ms < until_ms && !closing->connected && !closing->expired &&
           (given_up == NULL || !atomic_load(given_up))) {
        (void)condition_wait_until(&closing->changed, &closing->lock,
                                   u64_min(until_ms, now_ms + GIVEN_UP_POLL_MS));
        now_ms = clock_monotonic_ms();
    }
    enum tn_status status = closing->expired     ? TN_EEXPIRED
                            : closing->connected ? TN_OK
                                                 : TN_ETIMEDOUT;
    pthread_mutex_unlock(&closing->lock);
    return status;
}

enum tn_status zk_close_session(const char *connect, const struct zk_session *session,
                                uint32_t timeout_ms, const atomic_bool *given_up)
{
    assert(session != NULL && timeout_ms > 0);
    struct closing closing = {.connected = false};
    pthread_mutex_init(&closing.lock, NULL);
    condition_init(&closing.changed);

    /* The library waits for a silent server for two thirds of the session timeout. With a part of
     * our time several servers are tried; the session ends anyway. */
    uint32_t patience_ms = u32_max(timeout_ms / 4, 100);
    struct zk_config config = {.connect = connect,
                               .session_timeout_ms = patience_ms,
                               .deadline_ms = 1,
                               .resume = session,
                               .sink = on_event,
                               .sink_ctx = &closing};
    struct zk *zk = NULL;
    enum tn_status status = zk_open(&config, &zk, NULL);
    if (status == TN_OK) { status = wait_for_session(&closing, timeout_ms, given_up); }
    zk_close(zk); /* Closes the session, if connected. */
    pthread_cond_destroy(&closing.changed);
    pthread_mutex_destroy(&closing.lock);
    return status;
}
