/*
 * common/faults/failpoint.h: named places in the code at which the chaos harness can kill, freeze,
 * delay or fail a process (`struct fault_point`). Compiled in with -DTANIST_FAILPOINTS=ON only;
 * without it they produce no code, and their names exist only in failpoint_list().
 *
 *     FAILPOINT("ps.before_apply");                          kill, freeze, stall
 *     status = FAILPOINT_STATUS("ckpt.before_sync", error);  the same, or TN_EIO instead of the
 *                                                            operation that follows
 *
 * FAILPOINT_LIST has all names; tests/tidy checks that each is in the code and in docs/chaos.md.
 * Drivers have failpoints, pure cores do not. Threads: any. Blocking: as armed.
 */
#ifndef COMMON_FAULTS_FAILPOINT_H
#define COMMON_FAULTS_FAILPOINT_H

#include <stdbool.h>

#include "common/base/error.h"

/*
 * (name, nodes that pass it, whether it can fail, when). Nodes: "any"; "coordinator": any of them;
 * "chief": the chief, or a coordinator that is becoming the chief; "gpu": a worker or a ps that
 * computes on a GPU.
 */
#define FAILPOINT_LIST(X)                                                                          \
    X("node.before_register", "any", 0, "connected, about to register")                            \
    X("node.registered", "any", 0, "registered, /run not read yet")                                \
    X("node.idle", "any", 0, "has read that the run is forming or paused")                         \
    X("node.leaving", "any", 0, "about to leave in good order, its session still open")            \
    X("election.standing", "coordinator", 0, "its election znode exists, it is not the chief yet") \
    X("office.before_multi", "chief", 0, "first in line, about to become the chief")               \
    X("office.after_multi", "chief", 0, "has become the chief, not announced yet")                 \
    X("office.before_run", "chief", 0, "has read the former chief's state, /run not written")      \
    X("chief.before_write", "chief", 0, "about to send a transaction that writes /run")            \
    X("chief.paused", "chief", 0, "has written that the run is paused, as recoveries begin")       \
    X("chief.loading", "chief", 0, "has written that the run is loading, as recoveries go on")     \
    X("chief.before_done", "chief", 0, "about to write that the run is done")                      \
    X("ckpt.before_commit", "chief", 0, "every shard is reported, the manifest not created")       \
    X("ckpt.after_commit", "chief", 0, "the manifest is created, older ones not deleted")          \
    X("worker.before_push", "worker", 0, "a gradient, or a part, is about to be sent to a ps")     \
    X("group.before_order", "worker", 0, "the head is about to order its group to compute slices") \
    X("group.computed", "worker", 0, "a member has its part of a gradient, no node knows it")      \
    X("group.before_swap", "worker", 0, "the next values are complete at a member, not in use")    \
    X("worker.evaluated", "worker", 0, "has evaluated, result not reported")                       \
    X("gpu.allocate", "gpu", 1, "memory of a GPU is about to be allocated")                        \
    X("gpu.mid_upload", "gpu", 1, "a copy to a GPU has begun, nothing has waited for it")          \
    X("gpu.mid_kernel", "gpu", 1, "a kernel has been launched, nothing has waited for it")         \
    X("gpu.mid_download", "gpu", 1, "a copy from a GPU has begun, nothing has waited for it")      \
    X("gpu.mid_peer_copy", "worker", 1,                                                            \
      "a copy between GPUs has begun, nothing has waited for it")                                  \
    X("gpu.wait", "gpu", 1, "about to wait for kernels or copies of a GPU")                        \
    X("ps.mid_step", "ps", 0, "some slices of the step have arrived, not all")                     \
    X("ps.before_apply", "ps", 0, "all slices have arrived, or chunks of all; not applied")        \
    X("ps.mid_rows", "ps", 0, "a row of the step is half written")                                 \
    X("ps.mid_apply", "ps", 0, "a part of the update is computed, not yet in place")               \
    X("ps.chunks_applied", "ps", 0, "the chunks that all slices have are applied, none answered")  \
    X("ps.before_keep", "ps", 0, "the update is applied, the kept memory has the step before")     \
    X("ps.applied_before_ack", "ps", 0, "the update is applied, no worker has an answer")          \
    X("ps.mid_recover", "ps", 0, "the rows that a killed ps has left are found, not in use yet")   \
    X("ckpt.before_sync", "ps", 1, "the shard is written under a temporary name, not synced")      \
    X("ckpt.before_rename", "ps", 1, "the shard is synced, not renamed")                           \
    X("ckpt.before_report", "ps", 0, "the shard is durable, not reported")                         \
    X("ckpt.before_copy", "ps", 1, "about to copy the committed manifest beside its shards")       \
    X("ckpt.before_collect", "ps", 1, "the manifest is copied, older checkpoints not removed")     \
    X("ckpt.mid_collect", "ps", 1,                                                                 \
      "the manifest of an old checkpoint is removed, its shards are not")                          \
    X("load.mid_read", "ps", 1, "part of the shard is read")                                       \
    X("load.before_adopt", "ps", 0, "the shard is read, not in use yet")

struct failpoint_info {
    const char *name, *passed_by;
    bool can_fail; /* The code declares it by FAILPOINT_STATUS(). */
    const char *when;
};
/* All failpoints, also in a build without them: `*count` rows, static. */
const struct failpoint_info *failpoint_list(unsigned *count);
/* NULL: unknown. */
const struct failpoint_info *failpoint_find(const char *name);
/* Whether only processes that compute on GPUs pass it: its name begins with "gpu.". */
bool failpoint_is_of_gpu(const char *name);
/* Whether this program was built with failpoints. */
bool failpoints_built(void);

struct fault_slot;
#ifdef TANIST_FAILPOINTS
#define FAILPOINT(name)               failpoint_pass(name)
#define FAILPOINT_STATUS(name, error) failpoint_status(name, error)
/* The name of this process ("ps:1"). Call it once, before other threads start; before that, and
 * without $TANIST_FAULTS, failpoints do nothing. */
void failpoint_init(const char *task_name);
/* Carry out the action that is armed here, if any. POINT_FAIL does not apply. */
void failpoint_pass(const char *name);
/* TN_EIO: armed to fail. */
MUST_CHECK enum tn_status failpoint_status(const char *name, struct error *error);
/* The slot of this process in the fault control; NULL: it has none. */
struct fault_slot *failpoint_slot(void);
#else
#define FAILPOINT(name)               ((void)0)
#define FAILPOINT_STATUS(name, error) ((void)(error), TN_OK)
#define failpoint_init(task_name)     ((void)0)
#endif

#endif
