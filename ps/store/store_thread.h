/*
 * ps/store/store_thread.h: the store port, served by one thread on a folder on disk, so that a step
 * never waits for a checkpoint.
 *
 * Threads: the owner starts and stops it; in between, any thread may use the port. Events are
 * delivered on the store's own thread. Memory: allocated at the start for all requests.
 */
#ifndef PS_STORE_STORE_THREAD_H
#define PS_STORE_STORE_THREAD_H

#include <stdbool.h>

#include "ps/store/store_port.h"

struct store_thread;

/* Serve the folder `dir` (copied). While it does not exist, each request fails with TN_ENOENT.
 *   TN_ENOMEM; TN_EINVAL: `dir` is empty or too long; TN_EIO: no thread can be started */
MUST_CHECK enum tn_status store_thread_start(const char *dir, store_sink sink, void *sink_ctx,
                                             struct store_thread **out, struct error *error);

/* The port for the ps driver. A write leaves the machine to training (ps/store/save_pace.h) until
 * it is hurried, another request follows it, or the thread is being stopped. Valid until
 * store_thread_stop(). */
struct store_port store_thread_port(struct store_thread *thread);

/*
 * End the thread and free everything. From now on requests are refused. Accepted requests are
 * carried out if `finish` is true; otherwise they are cancelled within the time of one chunk and
 * answered with TN_ECLOSED. When this returns, all events have been delivered. Must not be called
 * from the sink. NULL is allowed.
 */
void store_thread_stop(struct store_thread *thread, bool finish);

#endif
