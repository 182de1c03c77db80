/*
 * tests/lmdb_file.h: writes a file through LMDB, as the store of Tanist 0.1 wrote shards: what the
 * store accepts must be what LMDB itself writes.
 */
#ifndef TESTS_LMDB_FILE_H
#define TESTS_LMDB_FILE_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <lmdb.h>

struct lmdb_file {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi handle;
};

static inline void lmdb_check(int code)
{
    assert(code == MDB_SUCCESS);
}

/* Begin a file whose map has `bytes`. */
static inline void lmdb_file_begin(struct lmdb_file *file, const char *path, size_t bytes)
{
    lmdb_check(mdb_env_create(&file->env));
    lmdb_check(mdb_env_set_mapsize(file->env, bytes));
    lmdb_check(
        mdb_env_open(file->env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_WRITEMAP | MDB_NOSYNC, 0600));
    lmdb_check(mdb_txn_begin(file->env, NULL, 0, &file->txn));
    lmdb_check(mdb_dbi_open(file->txn, NULL, 0, &file->handle));
}

/* Append a record of `size` bytes, with a key above all earlier ones. The caller fills them before
 * the next call. */
static inline uint8_t *lmdb_file_append(struct lmdb_file *file, uint64_t key, size_t size)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++) { bytes[i] = (uint8_t)(key >> (56 - 8 * i)); }
    MDB_val name = {.mv_size = sizeof bytes, .mv_data = bytes};
    MDB_val value = {.mv_size = size, .mv_data = NULL};
    lmdb_check(mdb_put(file->txn, file->handle, &name, &value, MDB_RESERVE | MDB_APPEND));
    return value.mv_data;
}

static inline void lmdb_file_end(struct lmdb_file *file)
{
    lmdb_check(mdb_txn_commit(file->txn));
    lmdb_check(mdb_env_sync(file->env, 1));
    mdb_env_close(file->env);
}

#endif
