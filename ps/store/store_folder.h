/*
 * ps/store/store_folder.h: the checkpoints of a folder: which are there, their manifests, and which
 * go. A checkpoint counts once its manifest is here or in ZooKeeper; a folder without one was
 * aborted or is being written. Names that are not ours are never touched.
 *
 * Threads: none of its own; several processes may use one folder at a time. Blocking: on the disk.
 */
#ifndef PS_STORE_STORE_FOLDER_H
#define PS_STORE_STORE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/manifest.h"

/*
 * The manifests in DIR, newest (highest id) first, at most `max`. One that is damaged is skipped
 * and named in `warnings`, one line each, as many as fit. It does not look at the shards.
 *   TN_ENOENT DIR is not there; TN_EIO; TN_ENOMEM
 */
MUST_CHECK enum tn_status store_list(const char *dir, struct manifest *manifests, size_t max,
                                     size_t *count, char *warnings, size_t warnings_size,
                                     struct error *error);

/* Read one. TN_ENOENT: not here; TN_ECORRUPT: damaged, or of another id than its folder. */
MUST_CHECK enum tn_status store_get_manifest(const char *dir, uint64_t id, struct manifest *out,
                                             struct error *error);

/* Keep a copy of a committed manifest, durably; an equal or older copy is replaced whole.
 *   TN_ENOENT DIR is not there; TN_ENOSPC; TN_EIO; TN_EINVAL: it is no possible manifest */
MUST_CHECK enum tn_status store_put_manifest(const char *dir, const struct manifest *manifest,
                                             struct error *error);

/*
 * Remove each checkpoint with an id below `below_id` that is not among the `keep`. Its manifest
 * goes first, so that one half removed is no checkpoint. `*removed` counts them; a folder that
 * holds something else too stays, with that in it. TN_ENOENT DIR is not there; TN_EIO.
 */
MUST_CHECK enum tn_status store_collect(const char *dir, const uint64_t *keep, size_t keep_count,
                                        uint64_t below_id, size_t *removed, struct error *error);

/* Remove what was written of a checkpoint that was never committed; nothing there is fine.
 * TN_EEXIST: its manifest is here, it stays; TN_ENOENT DIR is not there; TN_EIO. */
MUST_CHECK enum tn_status store_discard(const char *dir, uint64_t id, struct error *error);

/* Make the folder of checkpoint `id` (0: DIR only) durable in DIR, and the one of a shard in it.
 * TN_ENOENT: DIR is not there. Used by store_write. */
MUST_CHECK enum tn_status store_make_folder(const char *dir, uint64_t id, uint32_t shard,
                                            uint32_t shards, struct error *error);

/* Sync the folders around a shard's file, innermost first. */
MUST_CHECK enum tn_status store_sync_folders(const char *dir, uint64_t id, uint32_t shard,
                                             uint32_t shards, struct error *error);

/* Remove what crashed writers left in a shard's folder. Best effort. */
void store_remove_partials(const char *shard_folder);

#endif
