/*
 * agent/session_reaper.h: closes the ZooKeeper sessions of dead processes, one after another on a
 * thread of its own, so that their ephemeral znodes vanish now and not at the session's timeout,
 * and nothing they still have in flight is obeyed.
 *
 * Threads: session_reaper_close() on any thread, never blocks.
 */
#ifndef AGENT_SESSION_REAPER_H
#define AGENT_SESSION_REAPER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/zk/zk.h"

struct session_reaper;

/* `connect` is copied. TN_ENOMEM. */
MUST_CHECK enum tn_status session_reaper_start(const char *connect, struct session_reaper **out,
                                               struct error *error);

/* Queue a session to be closed. `name` ("ps:1") is for the log; copied. NULL
 * for `session_reaper` is allowed: the session times out by itself. */
void session_reaper_close(struct session_reaper *session_reaper, const char *name,
                          const struct zk_session *session);

/* Wait until what was queued is done, or given up after 2 s each; with `finish` false, only for the
 * one at hand. Then free. NULL is allowed. */
void session_reaper_stop(struct session_reaper *session_reaper, bool finish);

#endif
