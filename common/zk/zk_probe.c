#include "common/zk/zk_probe.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/base/minmax.h"

enum { SUSPECT_TIMEOUTS = 2, STEPS_PER_TIMEOUT = 16, STEP_MIN_MS = 10 };

struct zk_probe {
    char *connect;
    void (*on_expired)(void *ctx);
    void *ctx;
    pthread_t thread;

    pthread_mutex_t lock; /* Guards the members below. */
    pthread_cond_t changed;
    bool stopping;
    bool lost;     /* The watched session has no connection. */
    bool reported; /* `on_expired` was called for it. */
    uint32_t timeout_ms;
    uint64_t lost_ms;   /* Since when. */
    uint64_t served_ms; /* How long the second session has been connected. */
    bool second_connected, second_broken;
    bool serving;      /* The second session was connected when this step began. */
    struct zk *second; /* Used by the thread alone. */
};

void zk_probe_note(struct zk_probe *probe, bool connected, uint32_t timeout_ms)
{
    if (probe == NULL) { return; }
    pthread_mutex_lock(&probe->lock);
    if (timeout_ms > 0) { probe->timeout_ms = timeout_ms; }
    bool lost = !connected && probe->timeout_ms > 0;
    if (lost != probe->lost) {
        probe->lost = lost;
        probe->reported = false;
        probe->lost_ms = 0;
        pthread_cond_signal(&probe->changed);
    }
    pthread_mutex_unlock(&probe->lock);
}

static void on_second(void *ctx, const struct zk_event *event)
{
    assert(event != NULL);
    struct zk_probe *probe = ctx;
    pthread_mutex_lock(&probe->lock);
    if (event->type == ZK_CONNECTED) { probe->second_connected = true; }
    if (event->type == ZK_DISCONNECTED || event->type == ZK_EXPIRED) {
        probe->second_broken = true;
    }
    pthread_mutex_unlock(&probe->lock);
}

/* With the lock held; it is released meanwhile. */
static void close_second(struct zk_probe *probe)
{
    struct zk *second = probe->second;
    if (second == NULL) { return; }
    probe->second = NULL;
    pthread_mutex_unlock(&probe->lock);
    zk_close(second);
    pthread_mutex_lock(&probe->lock);
}

/* With the lock held; it is released meanwhile. A failure is repeated at the next step. */
static void open_second(struct zk_probe *probe)
{
    assert(probe->second == NULL);
    const struct zk_config config = {.connect = probe->connect,
                                     .session_timeout_ms = probe->timeout_ms,
                                     .deadline_ms = 1,
                                     .without_probe = true,
                                     .sink = on_second,
                                     .sink_ctx = probe};
    struct zk *second = NULL;
    probe->served_ms = 0;
    probe->second_connected = probe->second_broken = probe->serving = false;
    pthread_mutex_unlock(&probe->lock);
    enum tn_status status = zk_open(&config, &second, NULL);
    if (status != TN_OK) {
        log_debug("cannot open a second ZooKeeper session: %s", tanist_strerror(status));
    }
    pthread_mutex_lock(&probe->lock);
    probe->second = second;
}

/* Whether the session has expired, `elapsed_ms` after the last look. */
static bool has_expired(struct zk_probe *probe, uint64_t elapsed_ms)
{
    assert(probe->lost && !probe->reported);
    probe->lost_ms += elapsed_ms;
    if (probe->lost_ms < (uint64_t)probe->timeout_ms * SUSPECT_TIMEOUTS) { return false; }
    if (probe->second != NULL && !probe->second_broken) {
        if (probe->serving) { probe->served_ms += elapsed_ms; }
        probe->serving = probe->second_connected;
        return probe->served_ms >= probe->timeout_ms;
    }
    close_second(probe); /* After a broken connection this session, too, may be refused forever. */
    if (!probe->stopping) { open_second(probe); }
    return false;
}

/* Wait for the length of a step or a change. Returns the milliseconds that passed; of a longer
 * pause of the whole process only the length of the step. */
static uint64_t wait_step(struct zk_probe *probe)
{
    assert(probe->timeout_ms > 0);
    uint64_t step_ms = u64_max(probe->timeout_ms / STEPS_PER_TIMEOUT, STEP_MIN_MS);
    uint64_t start_ms = clock_monotonic_ms();
    (void)condition_wait_until(&probe->changed, &probe->lock, start_ms + step_ms);
    return u64_min(clock_monotonic_ms() - start_ms, step_ms);
}

static void *run(void *ctx)
{
    struct zk_probe *probe = ctx;
    pthread_mutex_lock(&probe->lock);
    while (!probe->stopping) {
        if (!probe->lost || probe->reported) {
            close_second(probe);
            if (!probe->stopping && (!probe->lost || probe->reported)) {
                pthread_cond_wait(&probe->changed, &probe->lock);
            }
            continue;
        }
        uint64_t elapsed_ms = wait_step(probe);
        if (probe->stopping || !probe->lost || !has_expired(probe, elapsed_ms) || !probe->lost) {
            continue;
        }
        probe->reported = true;
        log_warn("ZooKeeper has served a second session for %" PRIu32
                 " ms and refuses the first one: it has expired",
                 probe->timeout_ms);
        pthread_mutex_unlock(&probe->lock);
        probe->on_expired(probe->ctx);
        pthread_mutex_lock(&probe->lock);
    }
    close_second(probe);
    pthread_mutex_unlock(&probe->lock);
    return NULL;
}

static void free_probe(struct zk_probe *probe)
{
    pthread_cond_destroy(&probe->changed);
    pthread_mutex_destroy(&probe->lock);
    free(probe->connect);
    free(probe);
}

enum tn_status zk_probe_start(const char *connect, void (*on_expired)(void *ctx), void *ctx,
                              struct zk_probe **out)
{
    assert(connect != NULL && on_expired != NULL);
    *out = NULL;
    struct zk_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL) { return TN_ENOMEM; }
    probe->on_expired = on_expired;
    probe->ctx = ctx;
    probe->connect = strdup(connect);
    pthread_mutex_init(&probe->lock, NULL);
    condition_init(&probe->changed);
    if (probe->connect == NULL || pthread_create(&probe->thread, NULL, run, probe) != 0) {
        free_probe(probe);
        return TN_ENOMEM;
    }
    *out = probe;
    return TN_OK;
}

void zk_probe_stop(struct zk_probe *probe)
{
    if (probe == NULL) { return; }
    pthread_mutex_lock(&probe->lock);
    probe->stopping = true;
    pthread_cond_signal(&probe->changed);
    pthread_mutex_unlock(&probe->lock);
    pthread_join(probe->thread, NULL);
    free_probe(probe);
}
