#include "common/zk/zk_inbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/zk/zk_event.h"

/* An event, followed by the memory that it points to. */
struct item {
    struct item *next;
    struct zk_event event;
};

struct zk_inbox {
    pthread_mutex_t lock;
    struct item *first, **last;
    struct item *current; /* Used by the owner. */
    int fd;
};

struct zk_inbox *zk_inbox_create(void)
{
    struct zk_inbox *inbox = calloc(1, sizeof *inbox);
    if (inbox == NULL) { return NULL; }
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fd < 0) {
        free(inbox);
        return NULL;
    }
    pthread_mutex_init(&inbox->lock, NULL);
    inbox->last = &inbox->first;
    return inbox;
}

void zk_inbox_destroy(struct zk_inbox *inbox)
{
    if (inbox == NULL) { return; }
    while (zk_inbox_take(inbox) != NULL) {}
    pthread_mutex_destroy(&inbox->lock);
    close(inbox->fd);
    free(inbox);
}

void zk_inbox_sink(void *ctx, const struct zk_event *event)
{
    struct zk_inbox *inbox = ctx;
    assert(event != NULL);
    struct item *item = malloc(sizeof *item + zk_event_extra_bytes(event));
    if (item == NULL) {
        /* The owner repeats requests that get no answer. */
        log_error("out of memory: a ZooKeeper event is lost");
        return;
    }
    item->next = NULL;
    zk_event_copy(event, &item->event, item + 1);
    uint64_t one = 1;
    pthread_mutex_lock(&inbox->lock);
    *inbox->last = item;
    inbox->last = &item->next;
    pthread_mutex_unlock(&inbox->lock);
    (void)!write(inbox->fd, &one, sizeof one);
}

int zk_inbox_fd(const struct zk_inbox *inbox)
{
    return inbox->fd;
}

const struct zk_event *zk_inbox_take(struct zk_inbox *inbox)
{
    uint64_t count;
    free(inbox->current);
    pthread_mutex_lock(&inbox->lock);
    struct item *item = inbox->first;
    if (item != NULL) {
        inbox->first = item->next;
        if (inbox->first == NULL) { inbox->last = &inbox->first; }
    } else {
        (void)!read(inbox->fd, &count, sizeof count); /* Empty: make it unreadable. */
    }
    pthread_mutex_unlock(&inbox->lock);
    inbox->current = item;
    return item != NULL ? &item->event : NULL;
}
