/*
 * chaos/inject/inject_disk_full.h: a small device for the checkpoints of a run, so that the fault
 * disk-full can fill it. It is mounted before the run starts: the folder of a running process
 * cannot be replaced.
 *
 * Threads: the main thread. Blocking: a few ms; cleanup also while it copies.
 */
#ifndef CHAOS_INJECT_INJECT_DISK_FULL_H
#define CHAOS_INJECT_INJECT_DISK_FULL_H

#include "chaos/cluster/targets.h"

/*
 * Mount a tmpfs that has space for the job's checkpoints on RUN_DIR/checkpoints. Call it before the
 * run starts, in a mount namespace of this process (unshare(CLONE_NEWNS), all mounts private).
 *
 *   TN_ENOTSUP  this user or this machine cannot mount it
 *   TN_EIO, TN_ENOSPC  the folder cannot be created
 */
MUST_CHECK enum tn_status disk_full_prepare(const struct target_cluster *cluster,
                                            struct error *error);

/* Unmount it after the run; `keep`: the checkpoints are copied into the folder beneath. Does
 * nothing if it is not mounted. */
void disk_full_cleanup(const struct target_cluster *cluster, bool keep);

/* The size of the device. Pure. */
uint64_t disk_full_bytes(const struct job *job);

#endif
