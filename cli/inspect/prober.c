#include "cli/inspect/prober.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/condition.h"

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
    while (!prober->stopping && condition_wait_until(&prober->wake, &prober->lock, until_ms)) {}
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
    condition_init(&prober->wake);
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
