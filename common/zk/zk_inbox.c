#include "common/zk/zk_inbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/log.h"

/* An event and all it points to, in one block. */
struct letter {
    struct letter *next;
    struct zk_event event;
};

struct zk_inbox {
    pthread_mutex_t lock;
    struct letter *first, **last;
    struct letter *open; /* What the owner reads. */
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

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *put(char **at, const void *bytes, size_t size)
{
    const char *copy = *at;
    if (size == 0) { return NULL; }
    memcpy(*at, bytes, size);
    *at += size;
    return copy;
}

static struct letter *letter_copy(const struct zk_event *event)
{
    size_t pointers = event->child_count * sizeof(char *);
    size_t size = sizeof(struct letter) + pointers + text_size(event->path) + event->size;
    for (size_t i = 0; i < event->child_count; i++) { size += text_size(event->children[i]); }
    struct letter *letter = malloc(size);
    if (letter == NULL) { return NULL; }
    letter->next = NULL;
    letter->event = *event;
    const char **children = (const char **)(void *)(letter + 1);
    char *at = (char *)(letter + 1) + pointers;
    for (size_t i = 0; i < event->child_count; i++) {
        children[i] = put(&at, event->children[i], text_size(event->children[i]));
    }
    letter->event.children = children;
    letter->event.path = put(&at, event->path, text_size(event->path));
    letter->event.data = put(&at, event->data, event->data != NULL ? event->size : 0);
    return letter;
}

void zk_inbox_sink(void *ctx, const struct zk_event *event)
{
    struct zk_inbox *inbox = ctx;
    struct letter *letter = letter_copy(event);
    if (letter == NULL) {
        /* Requests are repeated on doubt; a lost answer is a doubt. */
        log_error("out of memory: an event of ZooKeeper is lost");
        return;
    }
    uint64_t one = 1;
    pthread_mutex_lock(&inbox->lock);
    *inbox->last = letter;
    inbox->last = &letter->next;
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
    free(inbox->open);
    pthread_mutex_lock(&inbox->lock);
    struct letter *letter = inbox->first;
    if (letter != NULL) {
        inbox->first = letter->next;
        if (inbox->first == NULL) { inbox->last = &inbox->first; }
    } else {
        (void)!read(inbox->fd, &count, sizeof count); /* Empty: no longer readable. */
    }
    pthread_mutex_unlock(&inbox->lock);
    inbox->open = letter;
    return letter != NULL ? &letter->event : NULL;
}
