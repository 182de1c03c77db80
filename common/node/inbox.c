#include "common/node/inbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/zk/zk_event.h"
#include "tanist/status.h"

struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct inbox_item *first, **last;
    size_t frames; /* Items that are frames. */
};

struct inbox *inbox_create(void)
{
    struct inbox *inbox = calloc(1, sizeof *inbox);
    if (inbox == NULL) { return NULL; }
    pthread_mutex_init(&inbox->lock, NULL);
    condition_init(&inbox->filled);
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

/* An item with `extra` bytes behind it. */
static struct inbox_item *new_item(enum node_event_type type, size_t extra)
{
    struct inbox_item *item = malloc(sizeof *item + extra);
    if (item == NULL) {
        log_error("out of memory for an event of %zu bytes: the process ends",
                  sizeof *item + extra);
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
    assert(item->next == NULL);
    pthread_mutex_lock(&inbox->lock);
    bool accepted = !is_frame(item) || inbox->frames < INBOX_FRAMES_MAX;
    if (accepted) {
        inbox->frames += is_frame(item);
        *inbox->last = item;
        inbox->last = &item->next;
        pthread_cond_signal(&inbox->filled);
    }
    pthread_mutex_unlock(&inbox->lock);
    return accepted;
}

void inbox_put_zk(struct inbox *inbox, const struct zk_event *event)
{
    struct inbox_item *item = new_item(NODE_ZK, zk_event_extra_bytes(event));
    zk_event_copy(event, &item->zk, item + 1);
    (void)put(inbox, item);
}

bool inbox_put_transport(struct inbox *inbox, const struct transport_event *event)
{
    assert(event->type == TRANSPORT_FRAME || event->body == NULL);
    struct inbox_item *item = new_item(NODE_TRANSPORT, 0);
    item->transport = *event;
    if (put(inbox, item)) { return true; }
    buffer_release(event->body);
    inbox_release(item);
    return false;
}

void inbox_put_role(struct inbox *inbox, void *event, void (*release)(void *event))
{
    assert(event != NULL && release != NULL);
    struct inbox_item *item = new_item(NODE_ROLE, 0);
    item->role = event;
    item->release_role = release;
    (void)put(inbox, item);
}

void inbox_put_leave(struct inbox *inbox, bool at_once)
{
    (void)put(inbox, new_item(at_once ? NODE_LEAVE : NODE_DRAIN, 0));
}

struct inbox_item *inbox_take(struct inbox *inbox, uint64_t deadline_ms)
{
    bool in_time = true;
    pthread_mutex_lock(&inbox->lock);
    while (inbox->first == NULL && in_time) {
        in_time = condition_wait_until(&inbox->filled, &inbox->lock, deadline_ms);
    }
    struct inbox_item *item = inbox->first;
    if (item != NULL) {
        inbox->first = item->next;
        if (inbox->first == NULL) { inbox->last = &inbox->first; }
        assert(inbox->frames > 0 || !is_frame(item));
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
