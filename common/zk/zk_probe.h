/*
 * common/zk/zk_probe.h: detects an expired session that no server reports. Private to zk.c.
 *
 * A server refuses clients that have seen a later transaction than it has. After the ensemble has
 * lost its data all servers do so forever, and no server reports that the session has expired.
 * Therefore, after two session timeouts without a connection a second session is opened. Once that
 * has been served without interruption for a whole session timeout, while the first is still not
 * connected, the first session has expired. While no server serves (an outage, no quorum) nothing
 * is concluded, however long that lasts. Time in which this process was stopped does not count.
 *
 * Threads: one of its own; zk_probe_note() on any.
 */
#ifndef COMMON_ZK_ZK_PROBE_H
#define COMMON_ZK_ZK_PROBE_H

#include "common/zk/zk.h"

struct zk_probe;

/* `on_expired` is called on the probe's thread, with no lock held: the session has expired, unless
 * it has just been connected. `connect` is copied. TN_ENOMEM: nothing to stop. */
MUST_CHECK enum tn_status zk_probe_start(const char *connect, void (*on_expired)(void *ctx),
                                         void *ctx, struct zk_probe **out);

/* The watched session was connected or lost its connection; one that was never connected is not
 * checked. `timeout_ms`: as granted; 0: unchanged. Pass `connected` after the end of the session.
 * Does not block. NULL is allowed. */
void zk_probe_note(struct zk_probe *probe, bool connected, uint32_t timeout_ms);

/* Wait for the thread to end (some seconds at worst) and free. NULL is allowed. */
void zk_probe_stop(struct zk_probe *probe);

#endif
