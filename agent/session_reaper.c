#include "agent/session_reaper.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
    pthread_mutex_t lock; /* Guards the queue and `finishing`. */
    pthread_cond_t changed;
    struct dead_session *first, **last; /* The first one is being closed. */
    bool finishing;
    atomic_bool given_up;
    int ended; /* An eventfd, readable once the thread has ended. */
    char *connect;
};

static void reap(const struct session_reaper *reaper, const struct dead_session *dead)
{
    assert(reaper->connect != NULL);
    uint64_t start_ms = clock_monotonic_ms();
    enum tn_status status =
        zk_close_session(reaper->connect, &dead->session, CLOSE_TIMEOUT_MS, &reaper->given_up);
    if (status == TN_OK || status == TN_EEXPIRED) {
        log_debug("session of %s closed: %s took_ms=%" PRIu64, dead->name, tanist_strerror(status),
                  clock_monotonic_ms() - start_ms);
    } else if (!atomic_load(&reaper->given_up)) {
        log_warn("session of %s not closed (%s): it ends when it times out", dead->name,
                 tanist_strerror(status));
    }
}

static void *work(void *ctx)
{
    struct session_reaper *reaper = ctx;
    assert(reaper != NULL);
    pthread_mutex_lock(&reaper->lock);
    while (!atomic_load(&reaper->given_up)) {
        struct dead_session *dead = reaper->first;
        if (dead == NULL && reaper->finishing) { break; }
        if (dead == NULL) {
            pthread_cond_wait(&reaper->changed, &reaper->lock);
            continue;
        }
        pthread_mutex_unlock(&reaper->lock);
        reap(reaper, dead);
        pthread_mutex_lock(&reaper->lock);
        if (atomic_load(&reaper->given_up)) { break; }
        reaper->first = dead->next;
        if (reaper->first == NULL) { reaper->last = &reaper->first; }
        free(dead);
    }
    pthread_mutex_unlock(&reaper->lock);
    (void)eventfd_write(reaper->ended, 1);
    return NULL;
}

static void free_reaper(struct session_reaper *reaper)
{
    assert(reaper->first == NULL);
    pthread_cond_destroy(&reaper->changed);
    pthread_mutex_destroy(&reaper->lock);
    if (reaper->ended >= 0) { close(reaper->ended); }
    free(reaper->connect);
    free(reaper);
}

enum tn_status session_reaper_start(const char *connect, struct session_reaper **out,
                                    struct error *error)
{
    assert(connect != NULL);
    struct session_reaper *reaper = calloc(1, sizeof *reaper);
    *out = NULL;
    if (reaper == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    reaper->last = &reaper->first;
    reaper->connect = strdup(connect);
    reaper->ended = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&reaper->lock, NULL);
    pthread_cond_init(&reaper->changed, NULL);
    if (reaper->connect == NULL || reaper->ended < 0 ||
        pthread_create(&reaper->thread, NULL, work, reaper) != 0) {
        free_reaper(reaper);
        return error_set(error, TN_ENOMEM, "out of memory, file descriptors or threads");
    }
    *out = reaper;
    return TN_OK;
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
    assert(!reaper->finishing);
    *reaper->last = dead;
    reaper->last = &dead->next;
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
}

void session_reaper_finish(struct session_reaper *reaper)
{
    pthread_mutex_lock(&reaper->lock);
    assert(!reaper->finishing);
    reaper->finishing = true;
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
}

int session_reaper_fd(const struct session_reaper *reaper)
{
    assert(reaper->ended >= 0);
    return reaper->ended;
}

void session_reaper_stop(struct session_reaper *reaper)
{
    uint32_t left = 0;
    if (reaper == NULL) { return; }
    pthread_mutex_lock(&reaper->lock);
    atomic_store(&reaper->given_up, true);
    pthread_cond_signal(&reaper->changed);
    pthread_mutex_unlock(&reaper->lock);
    pthread_join(reaper->thread, NULL);
    for (struct dead_session *dead; (dead = reaper->first) != NULL; left++) {
        reaper->first = dead->next;
        free(dead);
    }
    if (left > 0) {
        log_warn("sessions of dead nodes left to their timeouts count=%" PRIu32, left);
    }
    free_reaper(reaper);
}
