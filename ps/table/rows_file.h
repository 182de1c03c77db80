/*
 * ps/table/rows_file.h: the rows of all tables of a checkpoint in one file, and the chain of such
 * files, a full one and the deltas behind it, from which tables are loaded. The rows of each table
 * are as in ps/table/table_file.h.
 *
 * The size and the digest of a file are known to the checkpoint (struct manifest_rows), so that a
 * file of another run is refused as well as a damaged one.
 *
 * Threads: rows_file_write() may run on another thread than the tables' owner, between
 * row_table_begin_save() and row_table_end_save(). Blocking: on the disk. If the disk fails while a
 * file is read, SIGBUS ends the process.
 */
#ifndef PS_TABLE_ROWS_FILE_H
#define PS_TABLE_ROWS_FILE_H

#include "ps/table/rows_chain.h"
#include "ps/table/table_file.h"

/* A file as it was written. */
struct rows_file {
    char path[PATH_MAX];
    uint64_t bytes;
    struct digest digest;
};

/* A save in progress of all tables. */
struct rows_save {
    bool full;
    uint64_t step, since;                  /* As in struct table_file_info. */
    const uint64_t *row_counts;            /* By table: row_table_begin_save(). */
    const struct table_progress *progress; /* Or NULL. Outlives the save. */
};

/* A save of `step` behind the files of `chain`. `row_counts` outlives it. */
struct rows_save rows_save_behind(const struct rows_chain *chain, uint64_t step,
                                  const uint64_t *row_counts);

/* The bytes of the file that rows_file_write() writes. */
uint64_t rows_file_bytes(const struct row_table *const *tables, uint32_t count,
                         const struct rows_save *save);

/* Write the saves in progress of tables[0..count) to `file->path`, and set the rest of `file`.
 * Durable after TN_OK. Errors as table_file_write(). */
MUST_CHECK enum tn_status rows_file_write(struct rows_file *file,
                                          const struct row_table *const *tables, uint32_t count,
                                          const struct rows_save *save, struct error *error);

/*
 * Replace the rows of the tables by those of a chain, and set their step.
 *
 *   TN_ECORRUPT  a file is damaged, is not the next one of the chain, or has tables of several
 *                steps: the error names it
 *   TN_EINVAL    it is of other tables, or of a later format
 *   TN_ENOENT, TN_EIO, TN_ENOMEM; after a failure the tables have undefined rows
 */
MUST_CHECK enum tn_status rows_file_load(const struct rows_file *files, uint32_t file_count,
                                         struct row_table *const *tables, uint32_t count,
                                         struct error *error);

/* Append the rows of a chain whose last file is of step `step` to tables whose load has begun, and
 * which have none of its keys. Errors as rows_file_load(). */
MUST_CHECK enum tn_status rows_file_append(const struct rows_file *files, uint32_t file_count,
                                           struct row_table *const *tables, uint32_t count,
                                           uint64_t step, struct error *error);

/* Check the size and the digest of a file, and read its headers: the first one, with the rows of
 * all its tables of the model. TN_ECORRUPT, TN_ENOENT, TN_EIO. */
MUST_CHECK enum tn_status rows_file_inspect(const struct rows_file *file,
                                            struct table_file_info *info, struct error *error);

/* Check the size and the digest of a file, without tables. TN_ECORRUPT, TN_ENOENT, TN_EIO. */
MUST_CHECK enum tn_status rows_file_verify(const struct rows_file *file, struct error *error);

#endif
