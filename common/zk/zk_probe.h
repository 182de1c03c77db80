/*
 * common/zk/zk_probe.h: finds out that a session is gone when no server will say so. Private to
 * zk.c.
 *
 * A server refuses whoever has seen more than it knows itself. After the servers' data was lost all
 * of them do so, for ever, and a client never hears that its session is gone with the data. Hence:
 * after two session timeouts without a connection a second, fresh session is opened; once it has
 * been served without a break for a whole session timeout, while ours still is not connected, ours
 * has expired whatever the reason. While no server serves (an outage, no quorum) nothing is
 * concluded, however long that takes. Time in which this process did not run does not count.
 *
 * Threads: one of its own; zk_probe_note() on any.
 */
#ifndef COMMON_ZK_ZK_PROBE_H
#define COMMON_ZK_ZK_PROBE_H

#include "common/zk/zk.h"

struct zk_probe;

/* `gone` is called on the probe's thread, with no lock held: the session has expired, unless it has
 * just been connected. `connect` is copied. TN_ENOMEM: nothing is left. */
MUST_CHECK enum tn_status zk_probe_start(const char *connect, void (*gone)(void *ctx), void *ctx,
                                         struct zk_probe **out);

/* The session that is looked after was connected, or lost its connection; one that never was
 * connected is never doubted. `timeout_ms`: as granted, 0: as before. After the session's end say
 * "connected". Does not block. NULL is allowed. */
void zk_probe_note(struct zk_probe *probe, bool connected, uint32_t timeout_ms);

/* Wait for the thread's end (some seconds at worst) and free. NULL is allowed. */
void zk_probe_stop(struct zk_probe *probe);

#endif
