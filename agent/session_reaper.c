#include "agent/session_reaper.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/task.h"

enum { CLOSE_TIMEOUT_MS = 2000 };

struct dead {
    struct dead *next;
    struct zk_session session;
    char name[TASK_NAME_MAX];
};

struct session_reaper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct dead *first, **last;
    bool stopping;
    char *connect;
};

static void reap(const struct session_reaper *session_reaper, const struct dead *dead)
{
    uint64_t start_ms = clock_monotonic_ms();
    enum tn_status status =
        zk_close_session(session_reaper->connect, &dead->session, CLOSE_TIMEOUT_MS);
    unsigned long long took_ms = clock_monotonic_ms() - start_ms;
    if (status == TN_OK || status == TN_EEXPIRED) {
        log_debug("session of %s closed in %llu ms", dead->name, took_ms);
    } else {
        log_warn("session of %s not closed (%s): ZooKeeper will end it by its timeout", dead->name,
                 tanist_strerror(status));
    }
}

static void *work(void *ctx)
{
    struct session_reaper *session_reaper = ctx;
    pthread_mutex_lock(&session_reaper->lock);
    for (;;) {
        struct dead *dead = session_reaper->first;
        if (dead == NULL && session_reaper->stopping) { break; }
        if (dead == NULL) {
            pthread_cond_wait(&session_reaper->changed, &session_reaper->lock);
            continue;
        }
        session_reaper->first = dead->next;
        if (session_reaper->first == NULL) { session_reaper->last = &session_reaper->first; }
        pthread_mutex_unlock(&session_reaper->lock);
        reap(session_reaper, dead);
        free(dead);
        pthread_mutex_lock(&session_reaper->lock);
    }
    pthread_mutex_unlock(&session_reaper->lock);
    return NULL;
}

enum tn_status session_reaper_start(const char *connect, struct session_reaper **out,
                                    struct error *error)
{
    struct session_reaper *session_reaper = calloc(1, sizeof *session_reaper);
    char *copy = strdup(connect);
    *out = NULL;
    if (session_reaper == NULL || copy == NULL) { goto fail; }
    session_reaper->connect = copy;
    session_reaper->last = &session_reaper->first;
    pthread_mutex_init(&session_reaper->lock, NULL);
    pthread_cond_init(&session_reaper->changed, NULL);
    if (pthread_create(&session_reaper->thread, NULL, work, session_reaper) != 0) { goto fail; }
    *out = session_reaper;
    return TN_OK;
fail:
    free(copy);
    free(session_reaper);
    return error_set(error, TN_ENOMEM, "out of memory or threads");
}

void session_reaper_close(struct session_reaper *session_reaper, const char *name,
                          const struct zk_session *session)
{
    struct dead *dead = session_reaper != NULL ? calloc(1, sizeof *dead) : NULL;
    if (dead == NULL) { return; /* Its session times out by itself. */ }
    dead->session = *session;
    snprintf(dead->name, sizeof dead->name, "%s", name);
    pthread_mutex_lock(&session_reaper->lock);
    *session_reaper->last = dead;
    session_reaper->last = &dead->next;
    pthread_cond_signal(&session_reaper->changed);
    pthread_mutex_unlock(&session_reaper->lock);
}

void session_reaper_stop(struct session_reaper *session_reaper, bool finish)
{
    if (session_reaper == NULL) { return; }
    pthread_mutex_lock(&session_reaper->lock);
    while (!finish && session_reaper->first != NULL) {
        struct dead *dead = session_reaper->first;
        session_reaper->first = dead->next;
        free(dead);
    }
    session_reaper->stopping = true;
    pthread_cond_signal(&session_reaper->changed);
    pthread_mutex_unlock(&session_reaper->lock);
    pthread_join(session_reaper->thread, NULL);
    pthread_cond_destroy(&session_reaper->changed);
    pthread_mutex_destroy(&session_reaper->lock);
    free(session_reaper->connect);
    free(session_reaper);
}
