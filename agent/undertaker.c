#include "agent/undertaker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/task.h"

enum { CLOSE_TIMEOUT_MS = 2000 };

struct grave {
    struct grave *next;
    struct zk_session session;
    char name[TASK_NAME_MAX];
};

struct undertaker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct grave *first, **last;
    bool stopping;
    char *connect;
};

static void bury(const struct undertaker *undertaker, const struct grave *grave)
{
    uint64_t start_ms = clock_monotonic_ms();
    enum tn_status status =
        zk_close_session(undertaker->connect, &grave->session, CLOSE_TIMEOUT_MS);
    unsigned long long took_ms = clock_monotonic_ms() - start_ms;
    if (status == TN_OK || status == TN_EEXPIRED)
        log_debug("session of %s closed in %llu ms", grave->name, took_ms);
    else
        log_warn("session of %s not closed (%s): ZooKeeper will end it by its timeout", grave->name,
                 tanist_strerror(status));
}

static void *work(void *ctx)
{
    struct undertaker *undertaker = ctx;
    pthread_mutex_lock(&undertaker->lock);
    for (;;) {
        struct grave *grave = undertaker->first;
        if (!grave && undertaker->stopping) break;
        if (!grave) {
            pthread_cond_wait(&undertaker->changed, &undertaker->lock);
            continue;
        }
        undertaker->first = grave->next;
        if (!undertaker->first) undertaker->last = &undertaker->first;
        pthread_mutex_unlock(&undertaker->lock);
        bury(undertaker, grave);
        free(grave);
        pthread_mutex_lock(&undertaker->lock);
    }
    pthread_mutex_unlock(&undertaker->lock);
    return NULL;
}

enum tn_status undertaker_start(const char *connect, struct undertaker **out, struct error *error)
{
    struct undertaker *undertaker = calloc(1, sizeof *undertaker);
    char *copy = strdup(connect);
    *out = NULL;
    if (!undertaker || !copy) goto fail;
    undertaker->connect = copy;
    undertaker->last = &undertaker->first;
    pthread_mutex_init(&undertaker->lock, NULL);
    pthread_cond_init(&undertaker->changed, NULL);
    if (pthread_create(&undertaker->thread, NULL, work, undertaker) != 0) goto fail;
    *out = undertaker;
    return TN_OK;
fail:
    free(copy);
    free(undertaker);
    return error_set(error, TN_ENOMEM, "out of memory or threads");
}

void undertaker_bury(struct undertaker *undertaker, const char *name,
                     const struct zk_session *session)
{
    struct grave *grave = undertaker ? calloc(1, sizeof *grave) : NULL;
    if (!grave) return; /* Its session times out by itself. */
    grave->session = *session;
    snprintf(grave->name, sizeof grave->name, "%s", name);
    pthread_mutex_lock(&undertaker->lock);
    *undertaker->last = grave;
    undertaker->last = &grave->next;
    pthread_cond_signal(&undertaker->changed);
    pthread_mutex_unlock(&undertaker->lock);
}

void undertaker_stop(struct undertaker *undertaker, bool finish)
{
    if (!undertaker) return;
    pthread_mutex_lock(&undertaker->lock);
    while (!finish && undertaker->first) {
        struct grave *grave = undertaker->first;
        undertaker->first = grave->next;
        free(grave);
    }
    undertaker->stopping = true;
    pthread_cond_signal(&undertaker->changed);
    pthread_mutex_unlock(&undertaker->lock);
    pthread_join(undertaker->thread, NULL);
    pthread_cond_destroy(&undertaker->changed);
    pthread_mutex_destroy(&undertaker->lock);
    free(undertaker->connect);
    free(undertaker);
}
