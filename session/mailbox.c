#include "session/mailbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/condition.h"

struct letter {
    struct letter *next;
    bool is_spare;
    struct transport_event event;
};

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct letter *first, **last;
    uint32_t frames;
    void *(*allocate)(size_t bytes);
    /* For the ends of connections, which must arrive even if memory is exhausted: one for each that
     * is open, which `event.conn` names, and those of dials that failed. */
    struct letter *reserved, *spares;
    struct letter storage[MAILBOX_DIALS_MAX]; /* The letters of `spares`. */
};

struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (mailbox == NULL) { return NULL; }
    pthread_mutex_init(&mailbox->lock, NULL);
    condition_init(&mailbox->arrived);
    mailbox->last = &mailbox->first;
    mailbox->allocate = malloc;
    for (uint32_t i = 0; i < MAILBOX_DIALS_MAX; i++) {
        mailbox->storage[i] = (struct letter){.next = mailbox->spares, .is_spare = true};
        mailbox->spares = &mailbox->storage[i];
    }
    return mailbox;
}

void mailbox_allocate_with(struct mailbox *mailbox, void *(*allocate)(size_t bytes))
{
    assert(mailbox != NULL && allocate != NULL);
    mailbox->allocate = allocate;
}

static struct letter *pop(struct letter **list)
{
    struct letter *letter = *list;
    if (letter != NULL) { *list = letter->next; }
    return letter;
}

static void push(struct letter **list, struct letter *letter)
{
    letter->next = *list;
    *list = letter;
}

static void free_letter(struct mailbox *mailbox, struct letter *letter)
{
    assert(letter != NULL);
    if (letter->is_spare) {
        push(&mailbox->spares, letter);
    } else {
        free(letter);
    }
}

void mailbox_destroy(struct mailbox *mailbox)
{
    if (mailbox == NULL) { return; }
    struct letter *letter;
    while ((letter = pop(&mailbox->first)) != NULL) {
        if (letter->event.type == TRANSPORT_FRAME) { buffer_release(letter->event.body); }
        free_letter(mailbox, letter);
    }
    while ((letter = pop(&mailbox->reserved)) != NULL) { free(letter); }
    pthread_cond_destroy(&mailbox->arrived);
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

static struct letter *take_reserved(struct mailbox *mailbox, conn_id conn)
{
    struct letter **at = &mailbox->reserved;
    while (*at != NULL && (*at)->event.conn.v != conn.v) { at = &(*at)->next; }
    return pop(at);
}

static void append(struct mailbox *mailbox, struct letter *letter,
                   const struct transport_event *event)
{
    letter->event = *event;
    letter->next = NULL;
    *mailbox->last = letter;
    mailbox->last = &letter->next;
    pthread_cond_signal(&mailbox->arrived);
}

/* With memory for the end of the connection, too. */
static bool put_opened(struct mailbox *mailbox, const struct transport_event *event)
{
    struct letter *letter = mailbox->allocate(sizeof *letter);
    struct letter *end = mailbox->allocate(sizeof *end);
    if (letter == NULL || end == NULL) {
        free(letter);
        free(end);
        return false;
    }
    letter->is_spare = end->is_spare = false;
    end->event = *event;
    push(&mailbox->reserved, end);
    append(mailbox, letter, event);
    return true;
}

/* Without a reserved letter, a dial has failed, or the opening was refused; an accepted connection
 * of which the owner has never heard has no end either. */
static void put_closed(struct mailbox *mailbox, const struct transport_event *event)
{
    struct letter *letter = take_reserved(mailbox, event->conn);
    if (letter == NULL && event->accepted) { return; }
    if (letter == NULL) { letter = pop(&mailbox->spares); }
    assert(letter != NULL); /* The owner has not dialed more often. */
    append(mailbox, letter, event);
}

static bool put_frame(struct mailbox *mailbox, const struct transport_event *event)
{
    const bool is_full = mailbox->frames >= MAILBOX_FRAMES_MAX;
    struct letter *letter = is_full ? NULL : mailbox->allocate(sizeof *letter);
    if (letter == NULL) {
        buffer_release(event->body);
        return false;
    }
    letter->is_spare = false;
    mailbox->frames++;
    append(mailbox, letter, event);
    return true;
}

bool mailbox_put(struct mailbox *mailbox, const struct transport_event *event)
{
    bool accepted = true;
    assert(mailbox != NULL && event != NULL);
    pthread_mutex_lock(&mailbox->lock);
    switch (event->type) {
    case TRANSPORT_OPENED: accepted = put_opened(mailbox, event); break;
    case TRANSPORT_FRAME: accepted = put_frame(mailbox, event); break;
    case TRANSPORT_CLOSED: put_closed(mailbox, event); break;
    }
    pthread_mutex_unlock(&mailbox->lock);
    return accepted;
}

bool mailbox_take(struct mailbox *mailbox, uint64_t deadline_ms, struct transport_event *out)
{
    assert(mailbox != NULL && out != NULL);
    pthread_mutex_lock(&mailbox->lock);
    bool in_time = true;
    while (mailbox->first == NULL && in_time) {
        in_time = condition_wait_until(&mailbox->arrived, &mailbox->lock, deadline_ms);
    }
    struct letter *letter = pop(&mailbox->first);
    if (letter != NULL) {
        if (mailbox->first == NULL) { mailbox->last = &mailbox->first; }
        mailbox->frames -= letter->event.type == TRANSPORT_FRAME;
        *out = letter->event;
        free_letter(mailbox, letter);
    }
    pthread_mutex_unlock(&mailbox->lock);
    return letter != NULL;
}
