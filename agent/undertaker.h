/*
 * agent/undertaker.h: closes the ZooKeeper sessions of dead processes, one after another on a
 * thread of its own, so that their ephemeral znodes vanish now and not at the session's timeout,
 * and nothing they still have in flight is obeyed.
 *
 * Threads: undertaker_bury() on any thread, never blocks.
 */
#ifndef AGENT_UNDERTAKER_H
#define AGENT_UNDERTAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/zk.h"

struct undertaker;

/* `connect` is copied. TN_ENOMEM. */
MUST_CHECK enum tn_status undertaker_start(const char *connect, struct undertaker **out,
                                           struct error *error);

/* Queue a session to be closed. `name` ("ps:1") is for the log; copied. NULL
 * for `undertaker` is allowed: the session times out by itself. */
void undertaker_bury(struct undertaker *undertaker, const char *name,
                     const struct zk_session *session);

/* Wait until what was queued is done, or given up after 2 s each; with `finish` false, only for the
 * one at hand. Then free. NULL is allowed. */
void undertaker_stop(struct undertaker *undertaker, bool finish);

#endif
