/*
 * ps/table/table_file.h: the rows of a save as a file. A *full* file has all rows, a *delta* those
 * that changed since the file before it; the files of a table form a chain, in which later rows
 * win. Files are written and read once, front to back, so they are plain: keys and numbers in
 * chunks, each with its digest. A row takes its own size and 8 bytes for the key; in LMDB, whose
 * random access nothing would use, 1.15 times that (10^6 rows of 68 bytes, appended).
 * If rows expire, a file also has the step of each, 8 bytes, so that a chain is loaded without
 * those that have expired at its end, whichever file has them.
 *
 * Nothing in a file is trusted: a flipped bit, a missing or a swapped part, a file of another table
 * and a gap in the chain are refused.
 *
 * Threads: table_file_write() may run on another thread than the table's owner, between
 * row_table_begin_save() and row_table_end_save(). Blocking: on the disk. If the disk fails while a
 * file is read, SIGBUS ends the process.
 */
#ifndef PS_TABLE_TABLE_FILE_H
#define PS_TABLE_TABLE_FILE_H

#include "common/base/partial_file.h"
#include "ps/table/row_table.h"

struct table_file_info {
    bool full;
    uint64_t step;  /* The rows are those of this step. */
    uint64_t since; /* The step of the file before; of a full file 0. */
    uint64_t rows;
    bool counts; /* The rows are counts of keys, not rows of the model. */
};

/* This receives the number of bytes while a file is written, on the thread that writes it. */
struct table_progress {
    void (*wrote)(void *ctx,
                  uint64_t bytes); /* Since the call before; writing continues on return. */
    void (*end)(void *ctx);        /* All bytes are written; the file is not yet durable. */
    void *ctx;
};

/* Write the rows of the save in progress, `info->rows` of them: durable after TN_OK; before, an
 * older file of this name stays. TN_ENOENT, TN_ENOSPC, TN_EIO, TN_EINVAL: the path is too long. */
MUST_CHECK enum tn_status table_file_write(const char *path, const struct row_table *table,
                                           const struct table_file_info *info, uint64_t *bytes,
                                           struct error *error);

/*
 * Replace the rows of `table` by those of a chain: a full file and the deltas behind it.
 *
 *   TN_ECORRUPT  a file is damaged, or is not the next one of the chain: the error names it
 *   TN_EINVAL    it is of another table, or of a later format
 *   TN_ENOENT, TN_EIO, TN_ENOMEM; after a failure the table has undefined rows
 */
MUST_CHECK enum tn_status table_file_load(const char *const *paths, uint32_t count,
                                          struct row_table *table, struct error *error);

/* Check the bytes of a file for `table`; the table does not change. `bytes` is aligned for
 * uint64_t. `path` is for errors, which are those of table_file_load(). */
MUST_CHECK enum tn_status table_file_check(const void *bytes, size_t size, const char *path,
                                           const struct row_table *table,
                                           struct table_file_info *info, struct error *error);
/* The same, and put the rows of the file into `table`. */
MUST_CHECK enum tn_status table_file_decode(const void *bytes, size_t size, const char *path,
                                            struct row_table *table, struct table_file_info *info,
                                            struct error *error);

/* ------------------------------------------------ for files of several tables */

/* Write the same bytes behind what `file` has, and add them to `digest`. `progress`, or NULL,
 * receives each chunk. TN_ENOMEM; errors of the disk are those of partial_file_close(). */
MUST_CHECK enum tn_status table_file_add(struct partial_file *file, struct digest_stream *digest,
                                         const struct row_table *table,
                                         const struct table_file_info *info,
                                         const struct table_progress *progress,
                                         struct error *error);

/* The number of these bytes. */
uint64_t table_file_bytes(const struct row_table *table, const struct table_file_info *info);

/* The bytes of the rows of one table at the beginning of `bytes`, by their header, which is only
 * checked for this; 0: they are not whole. */
size_t table_file_extent(const void *bytes, size_t size);

/* As table_file_extent(); also gets the contents of the header, which are not checked. */
size_t table_file_peek(const void *bytes, size_t size, struct table_file_info *info);

/* TN_ECORRUPT: a file is not the one that follows `last` in a chain; NULL: it is not a full one. */
MUST_CHECK enum tn_status table_file_check_chain(const struct table_file_info *last,
                                                 const struct table_file_info *info,
                                                 const char *path, struct error *error);

#endif
