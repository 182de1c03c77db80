/*
 * worker/row_sharing.h: workers of one process that share the rows of tables which they look up, so
 * that a row which several of them want is asked for once and answered once.
 *
 * In sync mode a row of a step has the same bits, whichever worker asks for it (A12, P14). A member
 * that wants a row which another member has takes it, and waits for one which another member has
 * asked for. No member waits for a question that is not in progress: when the asking member loses
 * its connection, gives its lookup up or leaves, the others ask for those rows themselves.
 *
 * Threads: each member is used by one thread, and the lock of the sharing orders them. A call waits
 * at most until another member has copied the rows of one frame, or, when its lookup settles, those
 * that it takes from others.
 */
#ifndef WORKER_ROW_SHARING_H
#define WORKER_ROW_SHARING_H

#include <stdint.h>

#include "common/base/error.h"

struct row_sharing;

/* One of the workers. All zeros: a worker that shares nothing. */
struct row_member {
    struct row_sharing *sharing; /* Outlives the worker. */
    uint32_t place;              /* Below WORKERS_MAX, and of no other member. */
    /* Another member has changed what this one waits for: its worker needs a NODE_ROLE soon.
     * Called on the other's thread with the lock held, while this member has not left. */
    void (*wake)(void *ctx);
    void *ctx;
};

/* TN_ENOMEM. */
MUST_CHECK enum tn_status row_sharing_open(struct row_sharing **out, struct error *error);
void row_sharing_close(struct row_sharing *sharing); /* All members have left. NULL is allowed. */

/* The member at this place, if there is one, has ended. Its lookup may be closed later, and another
 * member may take the place now. */
void row_sharing_leave(struct row_sharing *sharing, uint32_t place);

/* How many rows members have got from others. */
uint64_t row_sharing_given(struct row_sharing *sharing);

#endif
