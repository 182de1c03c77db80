/*
 * chaos/inject/inject_failpoint.h: faults that strike at a failpoint (common/faults/failpoint.h):
 * kill, freeze, stall and fail, with TRIGGER_POINT. The struck process does them itself, at that
 * very place; who orders them only learns that it has happened. A frozen one is for the harness to
 * let go on.
 *
 * Whom: a place ("ps:1"), "chief", or any one of a role or of all ("ps", "coordinator", "any").
 * The passes of all who are meant are counted together, and one of them is struck, once. With
 * "chief" that is, at a place that only chiefs and candidates pass, whoever passes there: the next
 * chief too; elsewhere, whoever is chief at that time.
 *
 * Threads: the main thread. Blocking: no.
 */
#ifndef CHAOS_INJECT_INJECT_FAILPOINT_H
#define CHAOS_INJECT_INJECT_FAILPOINT_H

#include <stdbool.h>

#include "chaos/cluster/targets.h"

/* A fault that waits for its failpoint. */
struct point_watch {
    struct fault_point *point; /* NULL: not armed. */
    bool follows_chief;
    char place[PLACE_NAME_MAX]; /* Who was struck; "" before. */
    pid_t pid; /* His process, which may be unknown to the cluster yet, or no more. */
};

/*
 * From here on the fault waits for the `count`-th pass. The cluster has its control.
 *
 *   TN_EINVAL   no such failpoint, or not this fault there, or whom is meant never passes there
 *   TN_ENOTSUP  this build has no failpoints
 *   TN_EAGAIN   nobody is chief now, or too many faults wait: again soon
 */
MUST_CHECK enum tn_status point_arm(struct point_watch *watch, struct target_cluster *cluster,
                                    const struct injection *injection, struct error *error);

/* True, once: it has happened, to `watch->place`. Call it about every 20 ms; whom "chief" means is
 * looked up here. A watch that is not armed: false. */
bool point_poll(struct point_watch *watch, struct target_cluster *cluster);

/* Nobody waits any more. May be called at any time, also twice. */
void point_disarm(struct point_watch *watch);

#endif
