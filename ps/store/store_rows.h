/*
 * ps/store/store_rows.h: the rows of tables that belong to a shard, in files beside it: a full one
 * and the deltas behind it (ps/table/rows_file.h). A save writes one of them; those that it
 * continues are hard links to the files of the checkpoint before. So each checkpoint has all that
 * it needs in its own folder, whichever others are removed, and the disk has each file once.
 *
 *   DIR/<id>/shard-<i>-of-<n>/rows-<checkpoint that wrote it>-<half of its digest>
 *
 * The blob of the shard has sizes and digests of its files, so that the manifest, which has the
 * digest of the shard, covers the rows, too. Version 1 of the blob, which is read but no longer
 * written, has one full file, named `rows`.
 *
 * Threads and blocking: as ps/store/store.h.
 */
#ifndef PS_STORE_STORE_ROWS_H
#define PS_STORE_STORE_ROWS_H

#include "ps/store/save_pace.h"
#include "ps/store/store_port.h"
#include "ps/table/rows_file.h"

/* The size of a blob that names `files` files. */
size_t store_rows_blob_bytes(uint32_t files);

/* The bytes of the file that store_rows_write() writes. */
uint64_t store_rows_bytes(const struct store_write_request *request);

/* Write the rows of `request` beside its shard, and the blob that names them, of
 * store_rows_blob_bytes() of one file more than its chain has. `pace` may be NULL. Errors as
 * rows_file_write(); TN_EIO: a file of its chain cannot be linked. */
MUST_CHECK enum tn_status store_rows_write(const char *dir,
                                           const struct store_write_request *request,
                                           struct save_pace *pace,
                                           uint8_t blob[static STORE_BLOB_MAX],
                                           struct error *error);

/* Whether the blob of a shard names rows. */
bool store_rows_are_named(const void *blob, size_t size);

/* The files that the blob of shard `shard` names, which are not looked at, to
 * files[0..chain->count), and `chain`. TN_EINVAL: a path is too long. */
MUST_CHECK enum tn_status store_rows_files(const char *dir, const struct manifest *manifest,
                                           uint32_t shard, const void *blob, size_t size,
                                           struct rows_file files[static MANIFEST_CHAIN_MAX],
                                           struct rows_chain *chain, struct error *error);

/*
 * Check the files that the blob of shard `shard` names, and append their rows to the tables of
 * `rows`, unless its count is 0. Between row_table_begin_load() and row_table_end_load(). `chain`
 * is set to the files, without any if none can continue them. Errors as rows_file_load();
 * TN_ECORRUPT: they are of another step than the manifest.
 */
MUST_CHECK enum tn_status store_rows_read(const char *dir, const struct manifest *manifest,
                                          uint32_t shard, const void *blob, size_t size,
                                          const struct store_rows *rows, struct rows_chain *chain,
                                          struct error *error);

#endif
