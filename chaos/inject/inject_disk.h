/*
 * chaos/inject/inject_disk.h: a small device of its own for the checkpoints of a run, so that it
 * can be full. Needed before the run starts: a folder cannot be changed for another under a
 * process.
 *
 * Threads: the main thread. Blocking: some ms; cleanup copies what is kept.
 */
#ifndef CHAOS_INJECT_INJECT_DISK_H
#define CHAOS_INJECT_INJECT_DISK_H

#include "chaos/cluster/targets.h"

/*
 * Mount a tmpfs, with room for the job's checkpoints, on RUN_DIR/checkpoints. For a process in a
 * mount namespace of its own (unshare(CLONE_NEWNS), all mounts private), before the run starts.
 *
 *   TN_ENOTSUP  this user or this machine cannot mount it
 *   TN_EIO, TN_ENOSPC  the folder cannot be made
 */
MUST_CHECK enum tn_status disk_full_prepare(const struct target_cluster *cluster,
                                            struct error *error);

/* Take it away again, after the run; `keep`: the checkpoints are copied to the folder beneath.
 * Nothing to do is fine. */
void disk_full_cleanup(const struct target_cluster *cluster, bool keep);

/* Bytes that such a device has. Pure. */
uint64_t disk_full_bytes(const struct job *job);

#endif
