/*
 * common/node/inbox.h: the events of a node in order, copied from the libraries' threads for the
 * thread that handles them.
 *
 * Threads: any thread puts, one thread takes. Blocking: only inbox_take().
 *
 * Bounds: events of ZooKeeper and of the role answer our own requests and watches. At most
 * INBOX_FRAMES_MAX frames wait; then inbox_put_transport() refuses and the caller closes the
 * connection, so that a peer that sends too much harms only itself.
 */
#ifndef COMMON_NODE_INBOX_H
#define COMMON_NODE_INBOX_H

#include "common/base/doorbell.h"
#include "common/node/node.h"

enum {
    INBOX_FRAMES_MAX = 16384,
    INBOX_BEHIND_BYTES = 8 * 1024 * 1024, /* Bodies with so many keep the owner busy. */
};

struct inbox;

/* One event. `type` selects the valid member; pointers are valid until it is released. */
struct inbox_item {
    enum node_event_type type;
    struct zk_event zk;
    struct transport_event transport; /* The handler owns `body`. */
    void *role;
    void (*release_role)(void *event);
    struct inbox_item *next;
};

/* NULL: out of memory. */
struct inbox *inbox_create(void);
/* Frees the items that were not taken. NULL is allowed. */
void inbox_destroy(struct inbox *inbox);

/* Without memory the process ends (TN_EXIT_ERROR), as the node would wait forever for a lost
 * answer. */
void inbox_put_zk(struct inbox *inbox, const struct zk_event *event);
/* False: too many frames wait; the body is released, and the caller closes the connection. */
bool inbox_put_transport(struct inbox *inbox, const struct transport_event *event);
/* Whether frames with INBOX_BEHIND_BYTES or more wait: others should wait at their senders. */
bool inbox_is_behind(struct inbox *inbox);
void inbox_put_role(struct inbox *inbox, void *event, void (*release)(void *event));
void inbox_put_leave(struct inbox *inbox, bool at_once);

/* Something that inbox_take() polls. */
struct inbox_source {
    void *ctx;
    struct doorbell *doorbell; /* Rings when there is something to poll. Borrowed. */
    bool (*poll)(void *ctx);   /* May put items. True: it did something. */
    /* Whether poll() is so fast at present that it may be repeated instead of a sleep. */
    bool (*is_fast)(void *ctx);
    /* The taker will sleep at the doorbell; it has announced itself there, and polls once more. */
    void (*prepare_sleep)(void *ctx);
};

/* From now on inbox_take() also polls `source`. */
void inbox_poll(struct inbox *inbox, const struct inbox_source *source);
/* The same for a transport that its owner polls; nothing if it need not be polled. */
void inbox_poll_transport(struct inbox *inbox, struct transport *transport);
/* No longer, and the source is not used once it has returned. Not while another thread takes. */
void inbox_poll_end(struct inbox *inbox);

/* The oldest item, or NULL once the monotonic clock has reached `deadline_ms` (UINT64_MAX:
 * never). */
struct inbox_item *inbox_take(struct inbox *inbox, uint64_t deadline_ms);
void inbox_release(struct inbox_item *item);

#endif
