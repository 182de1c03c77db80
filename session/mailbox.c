#include "session/mailbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/condition.h"

struct letter {
    struct letter *next;
    struct transport_event event;
};

struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct letter *first, **last;
    uint32_t frames;
};

struct mailbox *mailbox_create(void)
{
    struct mailbox *mailbox = calloc(1, sizeof *mailbox);
    if (mailbox == NULL) { return NULL; }
    pthread_mutex_init(&mailbox->lock, NULL);
    condition_init(&mailbox->arrived);
    mailbox->last = &mailbox->first;
    return mailbox;
}

void mailbox_destroy(struct mailbox *mailbox)
{
    if (mailbox == NULL) { return; }
    while (mailbox->first != NULL) {
        struct letter *letter = mailbox->first;
        mailbox->first = letter->next;
        if (letter->event.type == TRANSPORT_FRAME) { buffer_release(letter->event.body); }
        free(letter);
    }
    pthread_cond_destroy(&mailbox->arrived);
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

bool mailbox_put(struct mailbox *mailbox, const struct transport_event *event)
{
    const bool is_frame = event->type == TRANSPORT_FRAME;
    assert(mailbox != NULL);
    struct letter *letter = malloc(sizeof *letter);
    pthread_mutex_lock(&mailbox->lock);
    const bool accepted = letter != NULL && (!is_frame || mailbox->frames < MAILBOX_FRAMES_MAX);
    if (accepted) {
        *letter = (struct letter){.event = *event};
        *mailbox->last = letter;
        mailbox->last = &letter->next;
        mailbox->frames += is_frame;
        pthread_cond_signal(&mailbox->arrived);
    }
    pthread_mutex_unlock(&mailbox->lock);
    if (accepted) { return true; }
    if (is_frame) { buffer_release(event->body); }
    free(letter);
    return false;
}

bool mailbox_take(struct mailbox *mailbox, uint64_t deadline_ms, struct transport_event *out)
{
    assert(mailbox != NULL && out != NULL);
    pthread_mutex_lock(&mailbox->lock);
    bool in_time = true;
    while (mailbox->first == NULL && in_time) {
        in_time = condition_wait_until(&mailbox->arrived, &mailbox->lock, deadline_ms);
    }
    struct letter *letter = mailbox->first;
    if (letter != NULL) {
        mailbox->first = letter->next;
        if (mailbox->first == NULL) { mailbox->last = &mailbox->first; }
        mailbox->frames -= letter->event.type == TRANSPORT_FRAME;
    }
    pthread_mutex_unlock(&mailbox->lock);
    if (letter == NULL) { return false; }
    *out = letter->event;
    free(letter);
    return true;
}
