/*
 * ps/store/store_folder.h: the checkpoints in a folder: listing them, their manifests, and removal.
 * A checkpoint is committed once its manifest is in its folder or in ZooKeeper; a folder without a
 * manifest was aborted or is being written. Files and folders with other names are never touched.
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
 * List the manifests in DIR, newest (highest id) first, at most `max`. A damaged manifest is
 * skipped and named in `warnings`, one line each, as many as fit. Shards are not checked.
 *   TN_ENOENT: DIR does not exist; TN_EIO; TN_ENOMEM
 */
MUST_CHECK enum tn_status store_list(const char *dir, struct manifest *manifests, size_t max,
                                     size_t *count, char *warnings, size_t warnings_size,
                                     struct error *error);

/* The highest id of a checkpoint in DIR, committed or not; 0: none. TN_ENOENT: DIR does not exist;
 * TN_EIO. */
MUST_CHECK enum tn_status store_highest_id(const char *dir, uint64_t *id, struct error *error);

/* Read one manifest. TN_ENOENT: not found; TN_ECORRUPT: damaged, or of another id than its
 * folder; TN_EINVAL: the path is too long. */
MUST_CHECK enum tn_status store_get_manifest(const char *dir, uint64_t id, struct manifest *out,
                                             struct error *error);

/* Store a durable copy of a committed manifest; an existing copy is replaced atomically.
 *   TN_ENOENT: DIR does not exist; TN_ENOSPC; TN_EIO; TN_EINVAL: it is not a valid manifest */
MUST_CHECK enum tn_status store_put_manifest(const char *dir, const struct manifest *manifest,
                                             struct error *error);

/*
 * Remove each checkpoint with an id below `below_id` that is not among `keep`. Its manifest is
 * removed first, so that a partly removed checkpoint does not look committed. `*removed` counts the
 * folders removed; a folder that contains other files stays, with these files. Of those that are
 * kept, the temporary copies of the manifest are removed that a killed process left.
 *   TN_ENOENT: DIR does not exist; TN_EIO
 */
MUST_CHECK enum tn_status store_collect(const char *dir, const uint64_t *keep, size_t keep_count,
                                        uint64_t below_id, size_t *removed, struct error *error);

/* Remove the files of a checkpoint that was never committed; no files are not an error.
 *   TN_EEXIST: it has a manifest and stays; TN_ENOENT: DIR does not exist; TN_EIO */
MUST_CHECK enum tn_status store_discard(const char *dir, uint64_t id, struct error *error);

/* Make the folder of checkpoint `id` in DIR, and in it the folder of a shard unless `shards` is 0.
 * TN_ENOENT: DIR does not exist. */
MUST_CHECK enum tn_status store_make_folder(const char *dir, uint64_t id, uint32_t shard,
                                            uint32_t shards, struct error *error);

/* Sync the folders around a shard's file, innermost first: of the shard, of the checkpoint, DIR. */
MUST_CHECK enum tn_status store_sync_folders(const char *dir, uint64_t id, uint32_t shard,
                                             uint32_t shards, struct error *error);

/* Remove the files that crashed writers left in a shard's folder. Errors are ignored. */
void store_remove_partials(const char *shard_folder);

#endif
