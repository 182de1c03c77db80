/*
 * ps/store/store_table.h: LMDB as the store uses it: a file of records, appended once in the order
 * of their keys, then only read. store_table.c is the one file that knows LMDB's API.
 *
 * A file must be known to be whole before table_open(): LMDB crashes on damaged pages, and a
 * shortened file is a SIGBUS. Threads: one owner. Blocking: on the disk.
 */
#ifndef PS_STORE_STORE_TABLE_H
#define PS_STORE_STORE_TABLE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct table {
    struct MDB_env *env;
    struct MDB_txn *txn;
    unsigned handle;
    uint32_t appended; /* In this transaction. */
    char path[PATH_MAX];
};

/*
 * Make a file of exactly `bytes`, all of them reserved on the device: later, writing through the
 * map onto a full device would be a SIGBUS. Nothing is durable before table_sync. After a failure
 * only table_close may follow; a file may be left.
 *   TN_ENOSPC the device is full (the error says what is needed and left), TN_EIO
 */
MUST_CHECK enum tn_status table_create(struct table *table, const char *path, uint64_t bytes,
                                       struct error *error);

/* Append a record of `size` bytes, its key above all before. `*out` is where the caller writes the
 * value, until the next call. TN_EINTERNAL: the file was made too small. */
MUST_CHECK enum tn_status table_append(struct table *table, uint64_t key, size_t size,
                                       uint8_t **out, struct error *error);

/* No more records: from now on the file has its final bytes, not yet durable. The kernel is told
 * to start writing. */
MUST_CHECK enum tn_status table_commit(struct table *table, struct error *error);

/* Make the committed file durable (not its name in the folder). */
MUST_CHECK enum tn_status table_sync(struct table *table, struct error *error);

/* The descriptor of the file; closed with the table. */
int table_descriptor(const struct table *table);

/* Open a finished file for reading. TN_ECORRUPT: LMDB does not know it. Always to be closed. */
MUST_CHECK enum tn_status table_open(struct table *table, const char *path, struct error *error);

/* The value of `key`, in mapped memory until table_close. TN_ECORRUPT: no such record. */
MUST_CHECK enum tn_status table_get(const struct table *table, uint64_t key, const uint8_t **data,
                                    size_t *size, struct error *error);

/* Also after a failed create or open. Twice is harmless. */
void table_close(struct table *table);

#endif
