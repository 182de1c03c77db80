/*
 * ps/store/store.h: shards of checkpoints in LMDB: written whole, verified before they are used.
 * The one file that knows LMDB is store_table.c; the folders around shards are in store_folder.h,
 * the format on disk is in store_layout.h.
 *
 * Threads: no state but the disk's; one thread at a time per folder of a process (LMDB must not
 * open a file twice in a process). Blocking: on the disk; see store_thread.h.
 *
 * DIR is made by the agent, never here: a disk that was not mounted must not look like an empty
 * store. Memory mapped from a disk that fails in mid-read ends the process with SIGBUS; a restart
 * is the recovery. Not for network file systems.
 */
#ifndef PS_STORE_STORE_H
#define PS_STORE_STORE_H

#include <stdatomic.h>

#include "ps/store/store_port.h"

/*
 * Write shard `request->shard` of checkpoint `request->id`; `request->arrays` are read during the
 * call. A fresh file beside the final one, synced, renamed, folders synced: once it returns TN_OK
 * the shard survives loss of power. Writing the same shard again gives the same bytes; one that
 * belongs to a committed checkpoint (its manifest is here) is verified and left alone. `*digest`
 * and `*bytes` are of the whole file, for the manifest. When `*cancelled` (may be NULL) becomes
 * true the call ends soon. After a failure no trace of the attempt remains, an older shard does.
 *
 *   TN_ENOSPC   the device is full; found out before anything is written
 *   TN_ENOENT   DIR is not there
 *   TN_EEXIST   `id` is committed here with another step, generation or cut
 *   TN_ECORRUPT the manifest that lies in the folder of `id` is damaged
 *   TN_EIO      the disk failed or refuses to be written
 *   TN_ECLOSED  cancelled
 *   TN_EINVAL   DIR is too long a path
 */
MUST_CHECK enum tn_status store_write(const char *dir, const struct store_write_request *request,
                                      const atomic_bool *cancelled, struct digest *digest,
                                      uint64_t *bytes, struct error *error);

/*
 * Fill `request->arrays` with the range of the flat parameter vector, from whatever number of
 * shards. The size and digest of each shard's file are checked against the manifest before LMDB
 * sees it, then its header and each chunk used. After a failure the arrays are undefined.
 *
 *   TN_ECORRUPT a shard is not what the manifest says: the error names file, and chunk if known
 *   TN_ENOENT   a shard is not under DIR: the error names it and its place
 *   TN_EINVAL   the range is not inside the checkpoint; a later format; too long a path
 *   TN_EIO, TN_ENOMEM, TN_ECLOSED
 */
MUST_CHECK enum tn_status store_read_range(const char *dir,
                                           const struct store_read_request *request,
                                           const atomic_bool *cancelled,
                                           struct store_metadata *metadata, struct error *error);

/* Check shard `shard`, or STORE_ALL_SHARDS, as store_read_range does. Same errors. */
MUST_CHECK enum tn_status store_verify(const char *dir, const struct manifest *manifest,
                                       uint32_t shard, const atomic_bool *cancelled,
                                       struct error *error);

#endif
