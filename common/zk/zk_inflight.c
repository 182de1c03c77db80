#include "common/zk/zk_inflight.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/condition.h"

void zk_inflight_deliver(struct zk_inflight *inflight, const struct zk_event *event)
{
    assert(event != NULL);
    pthread_mutex_lock(&inflight->delivery);
    if (!inflight->muted) { inflight->sink(inflight->sink_ctx, event); }
    pthread_mutex_unlock(&inflight->delivery);
}

static void move_entry(struct zk_entry *entry, struct zk_entry_list *to)
{
    assert(entry->list != NULL || to != NULL);
    if (entry->list != NULL) { TAILQ_REMOVE(entry->list, entry, link); }
    entry->list = to;
    if (to != NULL) { TAILQ_INSERT_TAIL(to, entry, link); }
}

/* Both are called with the lock held and release it while the sink runs. */
static void answer_entry(struct zk_inflight *inflight, struct zk_entry *entry)
{
    assert(entry->outcome != ZK_OK);
    move_entry(entry, NULL);
    pthread_mutex_unlock(&inflight->lock);
    struct zk_event event = {.type = ZK_RESULT,
                             .op = entry->op,
                             .outcome = entry->outcome,
                             .reason = entry->reason,
                             .path = entry->path,
                             .failed_write = -1};
    zk_inflight_deliver(inflight, &event);
    free(entry);
    pthread_mutex_lock(&inflight->lock);
}

static void answer_late(struct zk_inflight *inflight, struct zk_entry *entry)
{
    assert(entry->list == &inflight->waiting);
    /* The library may call back and free the entry as soon as the lock is released. */
    char path[ZK_PATH_MAX];
    memcpy(path, entry->path, sizeof path);
    struct zk_event event = {.type = ZK_RESULT,
                             .op = entry->op,
                             .outcome = ZK_UNKNOWN,
                             .reason = ZK_REASON_DEADLINE,
                             .path = path,
                             .failed_write = -1};
    move_entry(entry, &inflight->late);
    pthread_mutex_unlock(&inflight->lock);
    zk_inflight_deliver(inflight, &event);
    pthread_mutex_lock(&inflight->lock);
}

static struct zk_entry *next_due(struct zk_inflight *inflight)
{
    struct zk_entry *waiting = TAILQ_FIRST(&inflight->waiting);
    struct zk_entry *parked = TAILQ_FIRST(&inflight->parked);
    if (waiting == NULL) { return parked; }
    if (parked == NULL) { return waiting; }
    return parked->deadline_ms < waiting->deadline_ms ? parked : waiting;
}

static void *watch_deadlines(void *argument)
{
    struct zk_inflight *inflight = argument;
    pthread_mutex_lock(&inflight->lock);
    while (!inflight->stopping) {
        struct zk_entry *refused = TAILQ_FIRST(&inflight->refused);
        struct zk_entry *next = next_due(inflight);
        if (refused != NULL) {
            answer_entry(inflight, refused);
        } else if (next == NULL) {
            pthread_cond_wait(&inflight->changed, &inflight->lock);
        } else if (next->deadline_ms > clock_monotonic_ms()) {
            (void)condition_wait_until(&inflight->changed, &inflight->lock, next->deadline_ms);
        } else if (next->list == &inflight->parked) {
            answer_entry(inflight, next);
        } else {
            answer_late(inflight, next);
        }
    }
    pthread_mutex_unlock(&inflight->lock);
    return NULL;
}

enum tn_status zk_inflight_start(struct zk_inflight *inflight, zk_sink sink, void *sink_ctx,
                                 uint32_t deadline_ms)
{
    assert(sink != NULL && deadline_ms > 0);
    *inflight =
        (struct zk_inflight){.sink = sink, .sink_ctx = sink_ctx, .deadline_ms = deadline_ms};
    TAILQ_INIT(&inflight->waiting);
    TAILQ_INIT(&inflight->refused);
    TAILQ_INIT(&inflight->parked);
    TAILQ_INIT(&inflight->late);
    pthread_mutex_init(&inflight->delivery, NULL);
    pthread_mutex_init(&inflight->lock, NULL);
    condition_init(&inflight->changed);
    if (pthread_create(&inflight->watcher, NULL, watch_deadlines, inflight) == 0) { return TN_OK; }
    pthread_cond_destroy(&inflight->changed);
    pthread_mutex_destroy(&inflight->lock);
    pthread_mutex_destroy(&inflight->delivery);
    return TN_ENOMEM;
}

void zk_inflight_mute(struct zk_inflight *inflight)
{
    pthread_mutex_lock(&inflight->delivery);
    inflight->muted = true;
    pthread_mutex_unlock(&inflight->delivery);
}

static void free_entries(struct zk_entry_list *list)
{
    struct zk_entry *entry;
    while ((entry = TAILQ_FIRST(list)) != NULL) {
        move_entry(entry, NULL); /* NOLINT(clang-analyzer-unix.Malloc): it misses TAILQ_REMOVE. */
        free(entry);
    }
}

void zk_inflight_stop(struct zk_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    inflight->stopping = true;
    pthread_cond_signal(&inflight->changed);
    pthread_mutex_unlock(&inflight->lock);
    pthread_join(inflight->watcher, NULL);
    free_entries(&inflight->waiting);
    free_entries(&inflight->refused);
    free_entries(&inflight->parked);
    free_entries(&inflight->late);
    pthread_cond_destroy(&inflight->changed);
    pthread_mutex_destroy(&inflight->lock);
    pthread_mutex_destroy(&inflight->delivery);
}

void zk_inflight_add(struct zk_inflight *inflight, struct zk_entry *entry, uint64_t op,
                     const char *path)
{
    assert(inflight->deadline_ms > 0);
    entry->op = op;
    entry->list = NULL;
    snprintf(entry->path, sizeof entry->path, "%s", path != NULL ? path : "");
    pthread_mutex_lock(&inflight->lock);
    /* The clock is read under the lock, so that the list stays in the order of deadlines. */
    entry->deadline_ms = clock_monotonic_ms() + inflight->deadline_ms;
    move_entry(entry, &inflight->waiting);
    /* With other entries in the list the thread already has an earlier deadline. */
    if (TAILQ_FIRST(&inflight->waiting) == entry) { pthread_cond_signal(&inflight->changed); }
    pthread_mutex_unlock(&inflight->lock);
}

/* Have our own thread answer `entry`, unless the deadline has answered it. */
static void schedule_answer(struct zk_inflight *inflight, struct zk_entry *entry,
                            struct zk_entry_list *list)
{
    assert(list == &inflight->refused || list == &inflight->parked);
    pthread_mutex_lock(&inflight->lock);
    bool late = entry->list == &inflight->late;
    if (list == &inflight->parked && inflight->deadline_ms > ZK_PARKED_MS) {
        entry->deadline_ms = clock_monotonic_ms() + ZK_PARKED_MS;
    }
    move_entry(entry, late ? NULL : list);
    pthread_cond_signal(&inflight->changed);
    pthread_mutex_unlock(&inflight->lock);
    if (late) { free(entry); }
}

void zk_inflight_refuse(struct zk_inflight *inflight, struct zk_entry *entry,
                        enum zk_outcome outcome, enum zk_reason reason)
{
    assert(outcome != ZK_OK);
    entry->outcome = outcome;
    entry->reason = reason;
    schedule_answer(inflight, entry, &inflight->refused);
}

void zk_inflight_park(struct zk_inflight *inflight, struct zk_entry *entry)
{
    entry->outcome = ZK_UNKNOWN;
    entry->reason = ZK_REASON_CONNECTION;
    schedule_answer(inflight, entry, &inflight->parked);
}

void zk_inflight_unpark(struct zk_inflight *inflight)
{
    pthread_mutex_lock(&inflight->lock);
    struct zk_entry *entry;
    while ((entry = TAILQ_FIRST(&inflight->parked)) != NULL) {
        move_entry(entry, &inflight->refused);
    }
    pthread_cond_signal(&inflight->changed);
    pthread_mutex_unlock(&inflight->lock);
}

void zk_inflight_finish(struct zk_inflight *inflight, struct zk_entry *entry,
                        const struct zk_event *answer)
{
    pthread_mutex_lock(&inflight->lock);
    bool late = entry->list == &inflight->late;
    assert(late || entry->list == &inflight->waiting);
    move_entry(entry, NULL);
    pthread_mutex_unlock(&inflight->lock);
    if (!late) {
        struct zk_event event = *answer;
        event.type = ZK_RESULT;
        event.op = entry->op;
        if (event.path == NULL) { event.path = entry->path; }
        zk_inflight_deliver(inflight, &event);
    }
    free(entry);
}

bool zk_inflight_is_late(struct zk_inflight *inflight, const struct zk_entry *entry)
{
    pthread_mutex_lock(&inflight->lock);
    bool late = entry->list == &inflight->late;
    pthread_mutex_unlock(&inflight->lock);
    return late;
}
