#include "common/zk/zk_probe.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"

enum { DOUBT_TIMEOUTS = 2, STEPS_A_TIMEOUT = 16, STEP_LEAST_MS = 10 };

struct zk_probe {
    char *connect;
    void (*gone)(void *ctx);
    void *ctx;
    pthread_t thread;

    pthread_mutex_t lock; /* Guards what follows. */
    pthread_cond_t changed;
    bool stopping;
    bool lost; /* The session that we look after has no connection. */
    bool told; /* ... and was said to be gone. */
    uint32_t timeout_ms;
    uint64_t lost_ms;   /* For so long. */
    uint64_t served_ms; /* The fresh session has been connected for so long. */
    bool fresh_connected, fresh_broken;
    bool serving;     /* It was connected when this step began. */
    struct zk *fresh; /* The thread's own. */
};

void zk_probe_note(struct zk_probe *probe, bool connected, uint32_t timeout_ms)
{
    if (probe == NULL) { return; }
    pthread_mutex_lock(&probe->lock);
    if (timeout_ms > 0) { probe->timeout_ms = timeout_ms; }
    bool lost = !connected && probe->timeout_ms > 0;
    if (lost != probe->lost) {
        probe->lost = lost;
        probe->told = false;
        probe->lost_ms = 0;
        pthread_cond_signal(&probe->changed);
    }
    pthread_mutex_unlock(&probe->lock);
}

static void on_fresh(void *ctx, const struct zk_event *event)
{
    struct zk_probe *probe = ctx;
    pthread_mutex_lock(&probe->lock);
    if (event->type == ZK_CONNECTED) { probe->fresh_connected = true; }
    if (event->type == ZK_DISCONNECTED || event->type == ZK_EXPIRED) { probe->fresh_broken = true; }
    pthread_mutex_unlock(&probe->lock);
}

/* Under the lock, which is let go meanwhile. */
static void close_fresh(struct zk_probe *probe)
{
    struct zk *fresh = probe->fresh;
    if (fresh == NULL) { return; }
    probe->fresh = NULL;
    pthread_mutex_unlock(&probe->lock);
    zk_close(fresh);
    pthread_mutex_lock(&probe->lock);
}

/* The same. A failure is tried again at the next step. */
static void open_fresh(struct zk_probe *probe)
{
    const struct zk_config config = {.connect = probe->connect,
                                     .session_timeout_ms = probe->timeout_ms,
                                     .deadline_ms = 1,
                                     .trusting = true,
                                     .sink = on_fresh,
                                     .sink_ctx = probe};
    struct zk *fresh = NULL;
    probe->served_ms = 0;
    probe->fresh_connected = probe->fresh_broken = probe->serving = false;
    pthread_mutex_unlock(&probe->lock);
    enum tn_status status = zk_open(&config, &fresh, NULL);
    if (status != TN_OK) { log_debug("no second session: %s", tanist_strerror(status)); }
    pthread_mutex_lock(&probe->lock);
    probe->fresh = fresh;
}

/* True: the session is gone. */
static bool look(struct zk_probe *probe, uint64_t elapsed_ms)
{
    probe->lost_ms += elapsed_ms;
    if (probe->lost_ms < (uint64_t)probe->timeout_ms * DOUBT_TIMEOUTS) { return false; }
    if (probe->fresh != NULL && !probe->fresh_broken) {
        if (probe->serving) { probe->served_ms += elapsed_ms; }
        probe->serving = probe->fresh_connected;
        return probe->served_ms >= probe->timeout_ms;
    }
    close_fresh(probe); /* One whose connection broke may be refused for ever as well. */
    if (!probe->stopping) { open_fresh(probe); }
    return false;
}

/* Wait for a step's time or news. The milliseconds that passed; of a long pause of the whole
 * process only what we meant to wait. */
static uint64_t wait_step(struct zk_probe *probe)
{
    uint64_t step_ms = probe->timeout_ms / STEPS_A_TIMEOUT;
    if (step_ms < STEP_LEAST_MS) { step_ms = STEP_LEAST_MS; }
    uint64_t start_ms = clock_monotonic_ms();
    uint64_t until_ms = start_ms + step_ms;
    const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                                   .tv_nsec = (long)(until_ms % 1000) * 1000000};
    (void)pthread_cond_timedwait(&probe->changed, &probe->lock, &until);
    uint64_t elapsed_ms = clock_monotonic_ms() - start_ms;
    return elapsed_ms < step_ms ? elapsed_ms : step_ms;
}

static void *run(void *ctx)
{
    struct zk_probe *probe = ctx;
    pthread_mutex_lock(&probe->lock);
    while (!probe->stopping) {
        if (!probe->lost || probe->told) {
            close_fresh(probe);
            if (!probe->stopping && (!probe->lost || probe->told)) {
                pthread_cond_wait(&probe->changed, &probe->lock);
            }
            continue;
        }
        uint64_t elapsed_ms = wait_step(probe);
        if (probe->stopping || !probe->lost || !look(probe, elapsed_ms) || !probe->lost) {
            continue;
        }
        probe->told = true;
        log_warn("ZooKeeper has served others for %u ms and does not know our session",
                 probe->timeout_ms);
        pthread_mutex_unlock(&probe->lock);
        probe->gone(probe->ctx);
        pthread_mutex_lock(&probe->lock);
    }
    close_fresh(probe);
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

enum tn_status zk_probe_start(const char *connect, void (*gone)(void *ctx), void *ctx,
                              struct zk_probe **out)
{
    *out = NULL;
    struct zk_probe *probe = calloc(1, sizeof *probe);
    if (probe == NULL) { return TN_ENOMEM; }
    probe->gone = gone;
    probe->ctx = ctx;
    probe->connect = strdup(connect);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&probe->lock, NULL);
    pthread_cond_init(&probe->changed, &attributes);
    pthread_condattr_destroy(&attributes);
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
