/*
 * common/node/inbox.h: what happened to a node, in order, copied from the libraries' threads for
 * the one thread that handles it.
 *
 * Threads: anybody puts, one thread takes. Blocking: only inbox_take().
 *
 * Bound: ZooKeeper's events answer our own requests and watches, and a role's are answers too; at
 * most INBOX_FRAMES_MAX frames wait, then inbox_put_transport() refuses and the caller closes the
 * connection, so that a peer that floods us hurts itself alone.
 */
#ifndef COMMON_NODE_INBOX_H
#define COMMON_NODE_INBOX_H

#include "common/node/node.h"

enum { INBOX_FRAMES_MAX = 16384 };

struct inbox;

/* One thing that happened. `type` tells which member holds; pointers live until it is released. */
struct inbox_item {
    enum node_event_type type;
    struct zk_event zk;
    struct transport_event transport; /* `body` belongs to whoever handles it. */
    void *role;
    void (*release_role)(void *event);
    struct inbox_item *next;
};

/* NULL: out of memory. */
struct inbox *inbox_create(void);
/* Frees what nobody took. NULL is allowed. */
void inbox_destroy(struct inbox *inbox);

/* Out of memory ends the process (TN_EXIT_ERROR): an answer that is lost would be waited for for
 * ever. */
void inbox_put_zk(struct inbox *inbox, const struct zk_event *event);
/* False: too many frames wait; the body was released, the caller closes the connection. */
bool inbox_put_transport(struct inbox *inbox, const struct transport_event *event);
void inbox_put_role(struct inbox *inbox, void *event, void (*release)(void *event));
void inbox_put_leave(struct inbox *inbox);

/* The oldest item, or NULL once the monotonic clock has reached `deadline_ms` (UINT64_MAX: never).
 */
struct inbox_item *inbox_take(struct inbox *inbox, uint64_t deadline_ms);
void inbox_release(struct inbox_item *item);

#endif
