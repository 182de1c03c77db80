#include "cli/inspect/prober.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"

enum { PROBE_MS = 300 };

struct prober {
    pthread_t thread;
    pthread_mutex_t lock; /* Guards all below. */
    pthread_cond_t wake;
    bool stopping;
    uint32_t every_ms;
    size_t count;
    struct {
        char address[ZOO_ADDRESS_MAX], mode[PROBER_MODE_MAX];
    } servers[ZOO_SERVERS_MAX];
};

/* Called with the lock held, which is released while the server is asked. */
static void ask(struct prober *prober, size_t index)
{
    char address[ZOO_ADDRESS_MAX];
    assert(index < prober->count);
    memcpy(address, prober->servers[index].address, sizeof address);
    pthread_mutex_unlock(&prober->lock);
    const char *mode = ensemble_probe_text(address, PROBE_MS);
    pthread_mutex_lock(&prober->lock);
    snprintf(prober->servers[index].mode, PROBER_MODE_MAX, "%s", mode);
}

static void pause_asking(struct prober *prober)
{
    const uint64_t until_ms = clock_monotonic_ms() + prober->every_ms;
    const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
                                   .tv_nsec = (long)(until_ms % 1000) * 1000000};
    while (!prober->stopping) {
        if (pthread_cond_timedwait(&prober->wake, &prober->lock, &until) != 0) { return; }
    }
}

static void *work(void *ctx)
{
    struct prober *prober = ctx;
    pthread_mutex_lock(&prober->lock);
    while (!prober->stopping) {
        for (size_t i = 0; i < prober->count && !prober->stopping; i++) { ask(prober, i); }
        pause_asking(prober);
    }
    pthread_mutex_unlock(&prober->lock);
    return NULL;
}

enum tn_status prober_start(const struct target_server *servers, size_t count, uint32_t every_ms,
                            struct prober **out, struct error *error)
{
    pthread_condattr_t attributes;
    assert(count <= ZOO_SERVERS_MAX);
    struct prober *prober = calloc(1, sizeof *prober);
    *out = NULL;
    if (prober == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    prober->every_ms = every_ms;
    prober->count = count;
    for (size_t i = 0; i < count; i++) {
        memcpy(prober->servers[i].address, servers[i].address, sizeof servers[i].address);
    }
    pthread_mutex_init(&prober->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&prober->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&prober->thread, NULL, work, prober) != 0) {
        free(prober);
        return error_set(error, TN_ENOMEM, "cannot start a thread to ask the ZooKeeper servers");
    }
    *out = prober;
    return TN_OK;
}

void prober_stop(struct prober *prober)
{
    if (prober == NULL) { return; }
    pthread_mutex_lock(&prober->lock);
    prober->stopping = true;
    pthread_cond_signal(&prober->wake);
    pthread_mutex_unlock(&prober->lock);
    pthread_join(prober->thread, NULL);
    pthread_cond_destroy(&prober->wake);
    pthread_mutex_destroy(&prober->lock);
    free(prober);
}

void prober_get(struct prober *prober, size_t index, char mode[static PROBER_MODE_MAX])
{
    assert(index < prober->count);
    pthread_mutex_lock(&prober->lock);
    memcpy(mode, prober->servers[index].mode, PROBER_MODE_MAX);
    pthread_mutex_unlock(&prober->lock);
}

bool prober_is_complete(struct prober *prober)
{
    bool complete = true;
    pthread_mutex_lock(&prober->lock);
    for (size_t i = 0; i < prober->count; i++) { complete = complete && *prober->servers[i].mode; }
    pthread_mutex_unlock(&prober->lock);
    return complete;
}
