#include "common/node/inbox.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/zk/zk_event.h"
#include "tanist/status.h"

enum {
    /* Waking a thread takes some 20 us, the caches of its processor are cold by then, and Linux may
     * wake it where another busy node runs. A step of a small model has several such waits. */
    SHORT_WAIT_NS = 400000,
    /* Between two offers of the processor; one takes some 50 ns. */
    POLLS_IN_TURN = 8,
    /* An offer takes at least this time if another thread accepts it, and less if none wants it. */
    ACCEPTED_OFFER_NS = 1500,
};

struct inbox {
    pthread_mutex_t lock;
    struct inbox_item *first, **last;
    size_t frames;              /* Items that are frames. */
    atomic_size_t bytes;        /* Size of their bodies; changed under the lock, read without. */
    atomic_size_t count;        /* All items; changed under the lock, read without. */
    struct inbox_source source; /* Its doorbell rings for the thread that takes. */
    struct doorbell own;        /* Without something to poll. */
    uint64_t usual_wait_ns;     /* A moving average. */
    unsigned polls_in_turn;     /* While the inbox spins. */
};

struct inbox *inbox_create(void)
{
    struct inbox *inbox = calloc(1, sizeof *inbox);
    if (inbox == NULL) { return NULL; }
    inbox->usual_wait_ns = UINT64_C(10) * SHORT_WAIT_NS;
    inbox->polls_in_turn = POLLS_IN_TURN;
    pthread_mutex_init(&inbox->lock, NULL);
    (void)doorbell_open(&inbox->own, false);
    inbox->source.doorbell = &inbox->own;
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
    doorbell_close(&inbox->own);
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

static size_t body_bytes(const struct inbox_item *item)
{
    return is_frame(item) && item->transport.body != NULL ? item->transport.body->size : 0;
}

static bool put(struct inbox *inbox, struct inbox_item *item)
{
    assert(item->next == NULL);
    pthread_mutex_lock(&inbox->lock);
    bool accepted = !is_frame(item) || inbox->frames < INBOX_FRAMES_MAX;
    if (accepted) {
        inbox->frames += is_frame(item);
        atomic_fetch_add(&inbox->bytes, body_bytes(item));
        atomic_fetch_add(&inbox->count, 1);
        *inbox->last = item;
        inbox->last = &item->next;
        doorbell_wake(inbox->source.doorbell,
                      DOORBELL_OWNER); /* Before inbox_poll_end() can return. */
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

bool inbox_is_behind(struct inbox *inbox)
{
    return atomic_load(&inbox->bytes) >= INBOX_BEHIND_BYTES;
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

static void set_source(struct inbox *inbox, const struct inbox_source *source)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->source = *source;
    pthread_mutex_unlock(&inbox->lock);
}

void inbox_poll(struct inbox *inbox, const struct inbox_source *source)
{
    assert(source->doorbell != NULL && source->poll != NULL);
    assert(source->is_fast != NULL && source->prepare_sleep != NULL);
    set_source(inbox, source);
}

static bool poll_transport(void *ctx)
{
    return transport_poll(ctx);
}

static bool is_polled_fast(void *ctx)
{
    return transport_polls_memory(ctx);
}

static void prepare_sleep(void *ctx)
{
    transport_prepare_sleep(ctx);
}

void inbox_poll_transport(struct inbox *inbox, struct transport *transport)
{
    struct doorbell *doorbell = transport_doorbell(transport);
    if (doorbell == NULL) { return; }
    inbox_poll(inbox, &(struct inbox_source){.ctx = transport,
                                             .doorbell = doorbell,
                                             .poll = poll_transport,
                                             .is_fast = is_polled_fast,
                                             .prepare_sleep = prepare_sleep});
}

void inbox_poll_end(struct inbox *inbox)
{
    set_source(inbox, &(struct inbox_source){.doorbell = &inbox->own});
}

/* put() counts an item before it looks whether the taker waits, and the taker announces that it
 * waits before it looks here, all of it sequentially consistent: one of both sees the other. */
static bool has_items(struct inbox *inbox)
{
    return atomic_load(&inbox->count) > 0;
}

static struct inbox_item *take_first(struct inbox *inbox)
{
    if (!has_items(inbox)) { return NULL; }
    pthread_mutex_lock(&inbox->lock);
    struct inbox_item *item = inbox->first;
    if (item != NULL) {
        atomic_fetch_sub(&inbox->count, 1);
        inbox->first = item->next;
        if (inbox->first == NULL) { inbox->last = &inbox->first; }
        assert(inbox->frames > 0 || !is_frame(item));
        inbox->frames -= is_frame(item);
        atomic_fetch_sub(&inbox->bytes, body_bytes(item));
    }
    pthread_mutex_unlock(&inbox->lock);
    return item;
}

static bool poll_now(struct inbox *inbox)
{
    const struct inbox_source *source = &inbox->source;
    return source->poll != NULL && source->poll(source->ctx);
}

/* Look for items without sleeping, if that needs no system call, and if they usually come about as
 * soon as a thread wakes up. Others that need the processor get it at each turn; if one of them
 * keeps it, this wait was a long one, and the next ones sleep. If the last offer was accepted, the
 * processor has more to do than this node, which then looks once in a turn: what it waits for may
 * need the processor itself. */
static bool spin(struct inbox *inbox)
{
    const struct inbox_source *source = &inbox->source;
    if (source->poll == NULL || inbox->usual_wait_ns > SHORT_WAIT_NS) { return false; }
    if (!source->is_fast(source->ctx)) { return false; }
    uint64_t now_ns = clock_monotonic_ns();
    const uint64_t end_ns = now_ns + UINT64_C(2) * SHORT_WAIT_NS;
    do {
        for (unsigned i = 0; i < inbox->polls_in_turn; i++) {
            if (poll_now(inbox) || has_items(inbox)) { return true; }
        }
        const uint64_t offered_ns = inbox->polls_in_turn > 1 ? clock_monotonic_ns() : now_ns;
        (void)sched_yield();
        now_ns = clock_monotonic_ns();
        const bool accepted = now_ns - offered_ns >= ACCEPTED_OFFER_NS;
        inbox->polls_in_turn = accepted ? 1 : POLLS_IN_TURN;
    } while (now_ns < end_ns);
    return false;
}

/* Until there may be an item, or the deadline is reached. */
static void wait_item(struct inbox *inbox, uint64_t deadline_ns)
{
    const uint64_t start_ns = clock_monotonic_ns();
    if (!spin(inbox)) {
        const struct inbox_source *source = &inbox->source;
        const uint32_t ticket = doorbell_announce(source->doorbell, DOORBELL_OWNER);
        if (source->poll != NULL) { source->prepare_sleep(source->ctx); }
        if (!poll_now(inbox) && !has_items(inbox)) {
            doorbell_sleep(source->doorbell, ticket, DOORBELL_OWNER, deadline_ns);
        }
        doorbell_withdraw(source->doorbell, DOORBELL_OWNER);
    }
    const uint64_t waited_ns = clock_monotonic_ns() - start_ns;
    inbox->usual_wait_ns = inbox->usual_wait_ns - inbox->usual_wait_ns / 8 + waited_ns / 8;
}

struct inbox_item *inbox_take(struct inbox *inbox, uint64_t deadline_ms)
{
    const uint64_t ms = 1000000,
                   deadline_ns = deadline_ms < UINT64_MAX / ms ? deadline_ms * ms : UINT64_MAX;
    for (;;) {
        struct inbox_item *item = take_first(inbox);
        if (item != NULL) { return item; }
        const bool found = poll_now(inbox); /* At least once, also if the deadline has passed. */
        if (clock_monotonic_ms() >= deadline_ms) { return found ? take_first(inbox) : NULL; }
        if (!found) { wait_item(inbox, deadline_ns); }
    }
}

void inbox_release(struct inbox_item *item)
{
    if (item->release_role != NULL) { item->release_role(item->role); }
    free(item);
}
