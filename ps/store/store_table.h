/*
 * ps/store/store_table.h: LMDB as the store uses it: a file of records that are appended once, in
 * the order of their keys, and then only read. store_table.c is the only file that uses LMDB's API.
 *
 * The caller checks a file with store_check_pages() before table_open(): LMDB crashes on damaged
 * pages, and reading a truncated file raises SIGBUS. Threads: one owner. Blocking: on the disk.
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
    uint32_t appended; /* Records in this transaction. */
    char path[PATH_MAX];
};

/*
 * Make a file of exactly `bytes`, all of them reserved on the device, because writing through the
 * map to a full device would raise SIGBUS. Nothing is durable before table_sync(). After a failure
 * the file may exist, and only table_close() may follow. TN_ENOSPC: the device is full (the error
 * has the numbers of bytes needed and left); TN_EIO
 */
MUST_CHECK enum tn_status table_create(struct table *table, const char *path, uint64_t bytes,
                                       struct error *error);

/* Append a record of `size` bytes with a key above all earlier ones. The caller writes the value to
 * `*out` before the next call. TN_EINTERNAL: the file was made too small. */
MUST_CHECK enum tn_status table_append(struct table *table, uint64_t key, size_t size,
                                       uint8_t **out, struct error *error);

/* Finish appending: from now on the file has its final contents, which are not durable yet. The
 * kernel starts to write them to the disk. */
MUST_CHECK enum tn_status table_commit(struct table *table, struct error *error);

/* Make the committed file durable, but not its name in the folder. */
MUST_CHECK enum tn_status table_sync(struct table *table, struct error *error);

/* The descriptor of the file; table_close() closes it. */
int table_descriptor(const struct table *table);

/* Open a finished file for reading. TN_ECORRUPT: not an LMDB file. table_close() must follow, also
 * after a failure. */
MUST_CHECK enum tn_status table_open(struct table *table, const char *path, struct error *error);

/* The value of `key`, in mapped memory, valid until table_close(). TN_ECORRUPT: no such record. */
MUST_CHECK enum tn_status table_get(const struct table *table, uint64_t key, const uint8_t **data,
                                    size_t *size, struct error *error);

/* Allowed after a failed create or open, and more than once. */
void table_close(struct table *table);

#endif
