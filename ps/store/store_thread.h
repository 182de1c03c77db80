/*
 * ps/store/store_thread.h: the store port served by one thread over a folder on disk, so that a
 * checkpoint never makes a step wait.
 *
 * Threads: start and stop are the owner's; the port may be used from any thread meanwhile. Events
 * are delivered on the store's own thread. Memory: all requests' room is taken at start.
 */
#ifndef PS_STORE_STORE_THREAD_H
#define PS_STORE_STORE_THREAD_H

#include <stdbool.h>

#include "ps/store/store_port.h"

struct store_thread;

/* Serve the folder `dir` (copied; it may be missing now and later: each request then says so).
 *   TN_ENOMEM, TN_EINVAL `dir` is empty or too long, TN_EIO no thread can be had */
MUST_CHECK enum tn_status store_thread_start(const char *dir, store_sink sink, void *sink_ctx,
                                             struct store_thread **out, struct error *error);

/* What the ps driver is given. Valid until the stop. */
struct store_port store_thread_port(struct store_thread *thread);

/*
 * End the thread and free everything. Requests are refused from now on; those accepted before are
 * carried out (`finish`), or given up within a chunk's time and answered TN_ECLOSED. All events
 * have been delivered when this returns. Not to be called from the sink. NULL is allowed.
 */
void store_thread_stop(struct store_thread *thread, bool finish);

#endif
