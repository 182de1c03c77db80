#include "common/node/inbox.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tanist/status.h"

struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct inbox_item *first, **last;
    size_t frames; /* Among them. */
};

struct inbox *inbox_create(void)
{
    struct inbox *inbox = calloc(1, sizeof *inbox);
    if (inbox == NULL) { return NULL; }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_cond_init(&inbox->filled, &attributes);
    pthread_condattr_destroy(&attributes);
    inbox->last = &inbox->first;
    return inbox;
}

void inbox_destroy(struct inbox *inbox)
{
    if (inbox == NULL) { return; }
    while (inbox->first != NULL) {
        struct inbox_item *item = inbox->first;
        inbox->first = item->next;
        if (item->type == NODE_TRANSPORT) { buffer_release(item->transport.body); }
        inbox_release(item);
    }
    pthread_cond_destroy(&inbox->filled);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}

/* An item and `extra` bytes behind it, in one piece. */
static struct inbox_item *new_item(enum node_event_type type, size_t extra)
{
    struct inbox_item *item = malloc(sizeof *item + extra);
    if (item == NULL) {
        log_error("out of memory for an event of %zu bytes", extra);
        _exit(TN_EXIT_ERROR);
    }
    memset(item, 0, sizeof *item);
    item->type = type;
    return item;
}

static bool is_frame(const struct inbox_item *item)
{
    return item->type == NODE_TRANSPORT && item->transport.type == TRANSPORT_FRAME;
}

static bool put(struct inbox *inbox, struct inbox_item *item)
{
    pthread_mutex_lock(&inbox->lock);
    bool room = !is_frame(item) || inbox->frames < INBOX_FRAMES_MAX;
    if (room) {
        inbox->frames += is_frame(item);
        *inbox->last = item;
        inbox->last = &item->next;
        pthread_cond_signal(&inbox->filled);
    }
    pthread_mutex_unlock(&inbox->lock);
    return room;
}

/* Copies `size` bytes to `*at` and moves it behind them. */
static void *copy(char **at, const void *from, size_t size)
{
    void *to = *at;
    if (size > 0) { memcpy(to, from, size); }
    *at += size;
    return to;
}

void inbox_put_zk(struct inbox *inbox, const struct zk_event *event)
{
    size_t path = event->path != NULL ? strlen(event->path) + 1 : 0;
    size_t names = event->child_count * sizeof event->children[0], extra = names + path + 1;
    size_t size = event->data != NULL ? event->size : 0;
    for (size_t i = 0; i < event->child_count; i++) { extra += strlen(event->children[i]) + 1; }
    struct inbox_item *item = new_item(NODE_ZK, extra + size);
    item->zk = *event;
    char *at = (char *)(item + 1);
    const char **children = (const char **)(void *)at; /* First: it needs alignment. */
    at += names;
    for (size_t i = 0; i < event->child_count; i++) {
        children[i] = copy(&at, event->children[i], strlen(event->children[i]) + 1);
    }
    item->zk.children = event->child_count > 0 ? children : NULL;
    item->zk.path = path > 0 ? copy(&at, event->path, path) : NULL;
    item->zk.data = size > 0 ? copy(&at, event->data, size) : NULL;
    item->zk.size = size;
    put(inbox, item);
}

bool inbox_put_transport(struct inbox *inbox, const struct transport_event *event)
{
    struct inbox_item *item = new_item(NODE_TRANSPORT, 0);
    item->transport = *event;
    if (put(inbox, item)) { return true; }
    buffer_release(event->body);
    inbox_release(item);
    return false;
}

void inbox_put_role(struct inbox *inbox, void *event, void (*release)(void *event))
{
    struct inbox_item *item = new_item(NODE_ROLE, 0);
    item->role = event;
    item->release_role = release;
    put(inbox, item);
}

void inbox_put_leave(struct inbox *inbox)
{
    put(inbox, new_item(NODE_LEAVE, 0));
}

struct inbox_item *inbox_take(struct inbox *inbox, uint64_t deadline_ms)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline_ms / 1000),
                                   .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
    int result = 0;
    pthread_mutex_lock(&inbox->lock);
    while (inbox->first == NULL && result == 0) {
        result = deadline_ms == UINT64_MAX
                     ? pthread_cond_wait(&inbox->filled, &inbox->lock)
                     : pthread_cond_timedwait(&inbox->filled, &inbox->lock, &until);
        assert(result == 0 || result == ETIMEDOUT);
    }
    struct inbox_item *item = inbox->first;
    if (item != NULL) {
        inbox->first = item->next;
        if (inbox->first == NULL) { inbox->last = &inbox->first; }
        inbox->frames -= is_frame(item);
    }
    pthread_mutex_unlock(&inbox->lock);
    return item;
}

void inbox_release(struct inbox_item *item)
{
    if (item->release_role != NULL) { item->release_role(item->role); }
    free(item);
}
