/*
 * common/faults/failpoint.h: named moments in the code, at which the chaos harness can kill,
 * freeze, delay or fail the process exactly there (`struct fault_point`). Compiled in with
 * -DTANIST_FAILPOINTS=ON only; without it they are nothing at all, and their names are nowhere but
 * in failpoint_list().
 *
 *     FAILPOINT("ps.before_apply");                          kill, freeze, stall
 *     status = FAILPOINT_STATUS("ckpt.before_sync", error);  the same, or TN_EIO, with words, in
 *                                                            place of the operation that follows
 *
 * All names are in FAILPOINT_LIST; tests/tidy sees that each is in the code and in docs/chaos.md.
 * Never in a pure core: in its driver. Threads: any. Blocking: as ordered.
 */
#ifndef COMMON_FAULTS_FAILPOINT_H
#define COMMON_FAULTS_FAILPOINT_H

#include <stdbool.h>

#include "common/base/error.h"

/*
 * (name, who passes there, whether it can fail, when). Who: "any" node; "coordinator" any of them;
 * "chief" the one in office or on his way into it.
 */
#define FAILPOINT_LIST(X)                                                                          \
    X("node.before_register", "any", 0, "connected, and about to register")                        \
    X("node.registered", "any", 0, "registered, and no order read yet")                            \
    X("node.idle", "any", 0, "has read that the run is forming or paused")                         \
    X("node.leaving", "any", 0, "about to leave in good order, its session still open")            \
    X("election.standing", "coordinator", 0, "its election znode exists, the office is not taken") \
    X("office.before_multi", "chief", 0, "first in line, and about to take office")                \
    X("office.after_multi", "chief", 0, "the office is taken, and nobody told")                    \
    X("office.before_run", "chief", 0, "has read what the former chief left, /run not written")    \
    X("chief.before_write", "chief", 0, "about to send a transaction that writes /run")            \
    X("chief.paused", "chief", 0, "has written that the run is paused, as recoveries begin")       \
    X("chief.loading", "chief", 0, "has written that the run is loading, as recoveries go on")     \
    X("chief.before_done", "chief", 0, "about to write that the run is done")                      \
    X("ckpt.before_commit", "chief", 0, "every shard is reported, the manifest not created")       \
    X("ckpt.after_commit", "chief", 0, "the manifest is created, older ones not deleted")          \
    X("worker.before_push", "worker", 0, "gradients are computed, and about to go to a ps")        \
    X("worker.evaluated", "worker", 0, "has evaluated, and not reported it")                       \
    X("ps.mid_step", "ps", 0, "some slices of the step are here, and not all")                     \
    X("ps.before_apply", "ps", 0, "all slices are here, the update not applied")                   \
    X("ps.applied_before_ack", "ps", 0, "the update is applied, nobody has an answer")             \
    X("ckpt.before_sync", "ps", 1, "the shard is written under another name, and not synced")      \
    X("ckpt.before_rename", "ps", 1, "the shard is synced, and has not its name")                  \
    X("ckpt.before_report", "ps", 0, "the shard is safe, and not reported")                        \
    X("ckpt.before_copy", "ps", 1, "about to copy the committed manifest beside its shards")       \
    X("ckpt.before_collect", "ps", 1, "the manifest is copied, older checkpoints not removed")     \
    X("ckpt.mid_collect", "ps", 1, "an old checkpoint's manifest is removed, its shards are not")  \
    X("load.mid_read", "ps", 1, "a part of the shard is read")                                     \
    X("load.before_adopt", "ps", 0, "the shard is read, and not adopted")

struct failpoint_info {
    const char *name, *who;
    bool can_fail; /* It is a FAILPOINT_STATUS. */
    const char *when;
};
/* All of them, also in a build without: `*count` rows, static. */
const struct failpoint_info *failpoint_list(unsigned *count);
/* NULL: there is no such failpoint. */
const struct failpoint_info *failpoint_find(const char *name);
/* Whether this program was built with them. */
bool failpoints_built(void);

#ifdef TANIST_FAILPOINTS
#define FAILPOINT(name)               failpoint_pass(name)
#define FAILPOINT_STATUS(name, error) failpoint_status(name, error)
/* Who we are ("ps:1"). Once, before there are threads; before it, and without $TANIST_FAULTS,
 * nothing is ever done. */
void failpoint_init(const char *task_name);
/* Do what is ordered here, now; nothing is: return at once. An order to fail is not for these. */
void failpoint_pass(const char *name);
/* TN_EIO: ordered. */
MUST_CHECK enum tn_status failpoint_status(const char *name, struct error *error);
#else
#define FAILPOINT(name)               ((void)0)
#define FAILPOINT_STATUS(name, error) ((void)(error), TN_OK)
#define failpoint_init(task_name)     ((void)0)
#endif

#endif
