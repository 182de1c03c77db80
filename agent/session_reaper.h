/*
 * agent/session_reaper.h: closes the ZooKeeper sessions of dead processes, one after another on a
 * thread of its own. Their ephemeral znodes then disappear at once, not after the session timeout,
 * and ZooKeeper refuses the requests that they still have in flight.
 *
 * Threads: session_reaper_close() may be called on any thread and does not block.
 */
#ifndef AGENT_SESSION_REAPER_H
#define AGENT_SESSION_REAPER_H

#include "common/base/error.h"
#include "common/zk/zk.h"

struct session_reaper;

/* `connect` (ZooKeeper's addresses) is copied. TN_ENOMEM: no memory, descriptor or thread. */
MUST_CHECK enum tn_status session_reaper_start(const char *connect, struct session_reaper **out,
                                               struct error *error);

/* Queue a session to be closed. `name` ("ps:1") is for the log; it is copied. Without memory, or
 * with `reaper` NULL, the session is left to its timeout. */
void session_reaper_close(struct session_reaper *reaper, const char *name,
                          const struct zk_session *session);

/* No more sessions follow: once all queued ones are closed, session_reaper_fd() is readable. */
void session_reaper_finish(struct session_reaper *reaper);
int session_reaper_fd(const struct session_reaper *reaper);

/* Free the reaper, at once: sessions that are not closed yet are left to their timeouts, and their
 * number is logged. NULL is allowed. */
void session_reaper_stop(struct session_reaper *reaper);

#endif
