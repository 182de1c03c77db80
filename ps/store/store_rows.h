/*
 * ps/store/store_rows.h: the rows of tables that belong to a shard: a file beside the shard's, of
 * all rows of its ps (ps/table/rows_file.h). The blob of the shard has the size and the digest of
 * this file, so that the manifest, which has the digest of the shard, covers the rows, too.
 *
 *   DIR/<id>/shard-<i>-of-<n>/rows
 *
 * Threads and blocking: as ps/store/store.h.
 */
#ifndef PS_STORE_STORE_ROWS_H
#define PS_STORE_STORE_ROWS_H

#include "ps/store/store_port.h"
#include "ps/table/rows_file.h"

enum { STORE_ROWS_BLOB_BYTES = 40 };

/* Write the rows of `request` beside its shard, and the blob that names them. Errors as
 * rows_file_write(). */
MUST_CHECK enum tn_status store_rows_write(const char *dir,
                                           const struct store_write_request *request,
                                           uint8_t blob[static STORE_ROWS_BLOB_BYTES],
                                           struct error *error);

/* Whether the blob of a shard names rows. */
bool store_rows_are_named(const void *blob, size_t size);

/* Check the file that the blob of shard `shard` names, and append its rows to the tables of `rows`,
 * unless its count is 0. Between row_table_begin_load() and row_table_end_load(). Errors as
 * rows_file_load(); TN_ECORRUPT: it is of another step than the manifest. */
MUST_CHECK enum tn_status store_rows_read(const char *dir, const struct manifest *manifest,
                                          uint32_t shard, const void *blob,
                                          const struct store_rows *rows, struct error *error);

#endif
