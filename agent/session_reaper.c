#include "agent/session_reaper.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/task.h"

enum { CLOSE_TIMEOUT_MS = 2000 };

struct dead_session {
    struct dead_session *next;
    struct zk_session session;
    char name[TASK_NAME_MAX];
};

struct session_reaper {
    pthread_t thread;
    pthread_mutex_t lock; /* Guards the queue and `stopping`. */
    pthread_cond_t changed;
    struct dead_session *first, **last;
    bool stopping;
    char *connect;
};

static void reap(const struct session_reaper *reaper, const struct dead_session *dead)
{
    assert(reaper->connect != NULL);
    uint64_t start_ms = clock_monotonic_ms();
    enum tn_status status = zk_close_session(reaper->connect, &dead->session, CLOSE_TIMEOUT_MS);
    if (status == TN_OK || status == TN_EEXPIRED) {
        log_debug("session of %s closed took_ms=%" PRIu64, dead->name,
                  clock_monotonic_ms() - start_ms);
    } else {
        log_warn("session of %s not closed (%s): it ends when it times out", dead->name,
                 tanist_strerror(status));
    }
}

static void *work(void *ctx)
{
    struct session_reaper *reaper = ctx;
    assert(reaper != NULL);
    pthread_mutex_lock(&reaper->lock);
    for (;;) {
        struct dead_session *dead = reaper->first;
        if (dead == NULL && reaper->stopping) { break; }
        if (dead == NULL) {
            pthread_cond_wait(&reaper->changed, &reaper->lock);
            continue;
        }
        reaper->first = dead->next;
        if (reaper->first == NULL) { reaper->last = &reaper->first; }
        pthread_mutex_unlock(&reaper->lock);
        reap(reaper, dead);
        free(dead);
        pthread_mutex_lock(&reaper->lock);
    }
    pthread_mutex_unlock(&reaper->lock);
    return NULL;
}

enum tn_status session_reaper_start(const char *connect, struct session_reaper **out,
                                    struct error *error)
{
    assert(connect != NULL);
    struct session_reaper *reaper = calloc(1, sizeof *reaper);
    char *copy = strdup(connect);
    *out = NULL;
    if (reaper == NULL || copy == NULL) { goto fail; }
    reaper->connect = copy;
    reaper->last = &reaper->first;
    pthread_mutex_init(&reaper->lock, NULL);
    pthread_cond_init(&reaper->changed, NULL);
    if (pthread_create(&reaper->thread, NULL, work, reaper) != 0) { goto fail; }
    *out = reaper;
    return TN_OK;
fail:
    free(copy);
    free(reaper);
    return error_set(error, TN_ENOMEM, "out of memory or threads");
}

void session_reaper_close(struct session_reaper *reaper, const char *name,
                          const struct zk_session *session)
{
    assert(name != NULL && session != NULL);
    struct dead_session *dead = reaper != NULL ? calloc(1, sizeof *dead) : NULL;
    if (dead == NULL) { return; }
    dead->session = *session;
    snprintf(dead->name, sizeof dead->name, "%s", name);
    pthread_mutex_lock(&reaper->lock);
    assert(!reaper->stopping);
    *reaper->last = dead;
    reaper->last = &dead->next;
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
}

void session_reaper_stop(struct session_reaper *reaper, bool finish)
{
    if (reaper == NULL) { return; }
    pthread_mutex_lock(&reaper->lock);
    while (!finish && reaper->first != NULL) {
        struct dead_session *dead = reaper->first;
        reaper->first = dead->next;
        free(dead);
    }
    reaper->stopping = true;
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
    pthread_join(reaper->thread, NULL);
    pthread_cond_destroy(&reaper->changed);
    pthread_mutex_destroy(&reaper->lock);
    free(reaper->connect);
    free(reaper);
}
