/*
 * session/mailbox.h: a queue that passes the events of a transport, in order, from its threads to
 * the thread that handles them. A connection that sends faster than its frames are handled is
 * closed.
 *
 * Threads: any thread puts, one takes. Blocking: mailbox_take() only.
 */
#ifndef SESSION_MAILBOX_H
#define SESSION_MAILBOX_H

#include <stddef.h>

#include "common/net/transport.h"

enum {
    MAILBOX_FRAMES_MAX = 16384,
    /* An owner takes events before it has dialed more often. */
    MAILBOX_DIALS_MAX = 2 * TRANSPORT_CONNECTIONS_MAX,
};

struct mailbox;

/* NULL: out of memory. */
struct mailbox *mailbox_create(void);
/* Releases the events that were not taken. NULL is allowed. */
void mailbox_destroy(struct mailbox *mailbox);

/* Takes the reference to the body. False: a frame was dropped, because too many wait, or a frame or
 * the opening of a connection, because memory is exhausted; the caller closes the connection. The
 * end of a connection is never dropped, unless it was accepted and its opening was: memory for it
 * is reserved before. */
bool mailbox_put(struct mailbox *mailbox, const struct transport_event *event);

/* For tests: memory is allocated by this function instead of malloc(). */
void mailbox_allocate_with(struct mailbox *mailbox, void *(*allocate)(size_t bytes));

/* The oldest event; its body belongs to the caller. False: clock_monotonic_ms() has reached
 * `deadline_ms`. */
bool mailbox_take(struct mailbox *mailbox, uint64_t deadline_ms, struct transport_event *out);

#endif
