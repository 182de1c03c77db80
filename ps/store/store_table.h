/*
 * ps/store/store_table.h: LMDB as the store uses it: a finished file of records, which is only
 * read. store_table.c is the only file that uses LMDB's API.
 *
 * The caller checks a file with store_find_values() before table_open(): LMDB crashes on damaged
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
    char path[PATH_MAX];
};

/* Open a finished file for reading. TN_ECORRUPT: not an LMDB file. table_close() must follow, also
 * after a failure. */
MUST_CHECK enum tn_status table_open(struct table *table, const char *path, struct error *error);

/* The value of `key`, in mapped memory, valid until table_close(). TN_ECORRUPT: no such record. */
MUST_CHECK enum tn_status table_get(const struct table *table, uint64_t key, const uint8_t **data,
                                    size_t *size, struct error *error);

/* Allowed after a failed open, and more than once. */
void table_close(struct table *table);

#endif
