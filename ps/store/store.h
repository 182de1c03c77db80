/*
 * ps/store/store.h: shards of checkpoints in LMDB files, written completely or not at all, and
 * verified before they are used. Only store_table.c uses LMDB; store_folder.h handles the folders
 * around shards, and store_layout.h is the format on disk.
 *
 * Threads: no state except on the disk; one thread at a time per folder of a process (LMDB must not
 * open a file twice in a process). Blocking: on the disk; see store_thread.h.
 *
 * The agent makes DIR; the store never does, because a disk that is not mounted must not look like
 * an empty store. If the disk fails while a mapped file is being read, SIGBUS ends the process; a
 * restart is the recovery. Not for network file systems.
 */
#ifndef PS_STORE_STORE_H
#define PS_STORE_STORE_H

#include <stdatomic.h>

#include "ps/store/save_pace.h"
#include "ps/store/store_port.h"
#include "ps/table/rows_file.h"

/*
 * Write shard `request->shard` of checkpoint `request->id`; `request->arrays` are read during the
 * call. The shard is written to a new file beside the final one, which is synced and renamed, and
 * its folders are synced: after TN_OK the shard survives a loss of power. Writing the same shard
 * again gives the same bytes; a shard of a committed checkpoint (its manifest is in the folder) is
 * verified and left unchanged. `*digest` and `*bytes` are of the whole file, for the manifest. When
 * `*cancelled` (may be NULL) becomes true, the call ends soon. `pace`, which may be NULL, has begun
 * a save of store_write_bytes() or more. A failed call leaves no files of its own; an older shard
 * remains.
 *
 *   TN_ENOSPC    the device is full; detected before anything is written
 *   TN_ENOENT    DIR does not exist
 *   TN_EEXIST    `id` is committed here with another step, generation or division into shards
 *   TN_ECORRUPT  the manifest in the folder of `id` is damaged
 *   TN_EIO       the disk failed, or it cannot be written
 *   TN_ECLOSED   cancelled
 *   TN_EINVAL    the path of DIR is too long
 */
MUST_CHECK enum tn_status store_write(const char *dir, const struct store_write_request *request,
                                      const atomic_bool *cancelled, struct save_pace *pace,
                                      struct digest *digest, uint64_t *bytes, struct error *error);

/* The bytes that store_write() writes for this request, rows of tables included. */
uint64_t store_write_bytes(const struct store_write_request *request);

/*
 * Fill `request->arrays` with the range of the flat parameter vector, from any number of shards.
 * Each file is read once (store_scan.h): its size and its structure (store_pages.h) are checked
 * before LMDB opens it for the header, and its digest against the manifest while it is read, with
 * the digest of each chunk used. After a failure the arrays hold values of intact and of damaged
 * chunks, and must not be used. A load uses several threads.
 *
 *   TN_ECORRUPT  a shard differs from the manifest, or is not a shard: the error names the file,
 *                and the page or the chunk if known
 *   TN_ENOENT    a shard is not under DIR: the error names it and its place
 *   TN_EINVAL    the range is not inside the checkpoint; a later format; the path is too long
 *   TN_EIO, TN_ENOMEM, TN_ECLOSED
 */
MUST_CHECK enum tn_status store_read_range(const char *dir,
                                           const struct store_read_request *request,
                                           const atomic_bool *cancelled,
                                           struct store_metadata *metadata, struct error *error);

/* Check shard `shard`, or STORE_ALL_SHARDS, as store_read_range() does, on this thread alone. The
 * errors are the same. */
MUST_CHECK enum tn_status store_verify(const char *dir, const struct manifest *manifest,
                                       uint32_t shard, const atomic_bool *cancelled,
                                       struct error *error);

/*
 * The files with rows of tables that shard `shard` names, which are not looked at, in the order of
 * their chain, and their checkpoints; none if it has no rows. The shard's own file is checked.
 *
 *   TN_ECORRUPT, TN_ENOENT, TN_EINVAL, TN_EIO, TN_ENOMEM  of the shard, as store_read_range()
 */
MUST_CHECK enum tn_status store_row_files(const char *dir, const struct manifest *manifest,
                                          uint32_t shard,
                                          struct rows_file files[static MANIFEST_CHAIN_MAX],
                                          struct rows_chain *chain, struct error *error);

/*
 * The digest of all parameters as they are stored, in the order of the flat vector: array 0 of
 * every shard, which are all read and checked as store_verify() does. A worker that evaluates the
 * same parameters, not placed otherwise, reports the same digest. After a failure `*digest` is
 * meaningless.
 */
MUST_CHECK enum tn_status store_digest_values(const char *dir, const struct manifest *manifest,
                                              struct digest *digest, struct error *error);

#endif
