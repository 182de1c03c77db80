/*
 * chaos/inject/inject_failpoint.h: faults that wait for a failpoint (common/faults/failpoint.h):
 * kill, freeze, stall, fail and gpu-error with TRIGGER_FAILPOINT. The process that passes injects
 * the fault into itself; the harness orders it and learns that it happened. A process that froze
 * itself is continued by the harness.
 *
 * The selector is a component ("ps:1"), "chief", a role or "any". The passes of all selected nodes
 * are counted together, and the one that makes the `count`-th pass gets the fault, once. "chief"
 * means any coordinator at a failpoint that only chiefs and candidates pass, so also the next
 * chief; elsewhere it means the chief at that time.
 *
 * Threads: the main thread. Blocking: no.
 */
#ifndef CHAOS_INJECT_INJECT_FAILPOINT_H
#define CHAOS_INJECT_INJECT_FAILPOINT_H

#include <stdbool.h>

#include "chaos/cluster/targets.h"

/* A fault that waits for its failpoint. */
struct failpoint_watch {
    struct fault_point *order; /* NULL: not armed. */
    bool follows_chief;
    struct component *component; /* Where the fault happened; NULL before. */
    pid_t pid; /* Its process then. It may be unknown to the cluster, or dead by now. */
};

/*
 * Order the fault at the `count`-th pass from now on. The cluster must have its fault control.
 *
 *   TN_EINVAL   the failpoint does not exist or does not fit the fault, or no selected node
 *               passes it
 *   TN_ENOTSUP  this build has no failpoints
 *   TN_EAGAIN   no chief is known now, or too many faults wait: try again soon
 */
MUST_CHECK enum tn_status failpoint_watch_arm(struct failpoint_watch *watch,
                                              struct target_cluster *cluster,
                                              const struct injection *injection,
                                              struct error *error);

/* True, once: the fault has happened, at `watch->component`. Call it about every 20 ms; it also
 * follows the chief. False for a watch that is not armed. */
bool failpoint_watch_poll(struct failpoint_watch *watch, struct target_cluster *cluster);

/* Take the order back. May be called at any time, also twice. */
void failpoint_watch_disarm(struct failpoint_watch *watch);

#endif
