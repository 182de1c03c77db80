#include "ps/store/store_table.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <lmdb.h>

#include "common/base/files.h"

enum {
    KEY_BYTES = 8,
    APPENDS_PER_TRANSACTION = 64, /* LMDB limits the pages that one transaction may change. */
};

/* Big-endian, so that LMDB's order of keys is the order of the numbers. */
static MDB_val key_of(uint64_t number, uint8_t bytes[static KEY_BYTES])
{
    for (unsigned i = 0; i < KEY_BYTES; i++) { bytes[i] = (uint8_t)(number >> (56 - 8 * i)); }
    return (MDB_val){.mv_size = KEY_BYTES, .mv_data = bytes};
}

/* LMDB returns errno values above zero and its own codes below. */
static enum tn_status table_error(struct error *error, int code, const char *what,
                                  const struct table *table)
{
    assert(code != MDB_SUCCESS);
    if (code > 0) { return files_error(error, code, what, table->path); }
    bool damage = code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID ||
                  code == MDB_VERSION_MISMATCH || code == MDB_NOTFOUND;
    return error_set(error, damage ? TN_ECORRUPT : TN_EINTERNAL, "cannot %s %s: LMDB: %s", what,
                     table->path, mdb_strerror(code));
}

static enum tn_status open_environment(struct table *table, const char *path, uint64_t bytes,
                                       unsigned flags, struct error *error)
{
    memset(table, 0, sizeof *table);
    size_t length = strlen(path);
    if (length >= sizeof table->path) {
        return error_set(error, TN_EINVAL, "%s: the path is too long", path);
    }
    memcpy(table->path, path, length + 1);
    int code = mdb_env_create(&table->env);
    if (code == MDB_SUCCESS && bytes != 0) { code = mdb_env_set_mapsize(table->env, bytes); }
    /* No lock file: a file has one writer, and afterwards only readers. */
    if (code == MDB_SUCCESS) {
        code = mdb_env_open(table->env, path, flags | MDB_NOSUBDIR | MDB_NOLOCK, 0600);
    }
    return code == MDB_SUCCESS ? TN_OK : table_error(error, code, "open", table);
}

int table_descriptor(const struct table *table)
{
    assert(table->env != NULL);
    mdb_filehandle_t fd;
    int code = mdb_env_get_fd(table->env, &fd);
    assert(code == MDB_SUCCESS);
    return fd;
}

static enum tn_status reserve_space(const struct table *table, uint64_t bytes, struct error *error)
{
    int code;
    do {
        code = posix_fallocate(table_descriptor(table), 0, (off_t)bytes);
    } while (code == EINTR);
    if (code == 0) { return TN_OK; }
    if (files_status_of(code) != TN_ENOSPC) {
        return files_error(error, code, "reserve space for", table->path);
    }
    struct statvfs device;
    uint64_t left = 0;
    if (fstatvfs(table_descriptor(table), &device) == 0) {
        left = (uint64_t)device.f_bavail * device.f_frsize;
    }
    return error_set(error, TN_ENOSPC,
                     "the device is full: %s needs %" PRIu64 " bytes, %" PRIu64
                     " are left: free space, or lower checkpoint.keep",
                     table->path, bytes, left);
}

static enum tn_status begin_transaction(struct table *table, unsigned flags, struct error *error)
{
    assert(table->txn == NULL);
    int code = mdb_txn_begin(table->env, NULL, flags, &table->txn);
    if (code == MDB_SUCCESS) { code = mdb_dbi_open(table->txn, NULL, 0, &table->handle); }
    table->appended = 0;
    return code == MDB_SUCCESS ? TN_OK : table_error(error, code, "open", table);
}

static enum tn_status commit_transaction(struct table *table, struct error *error)
{
    assert(table->txn != NULL);
    int code = mdb_txn_commit(table->txn); /* Frees it even if it fails. */
    table->txn = NULL;
    return code == MDB_SUCCESS ? TN_OK : table_error(error, code, "write", table);
}

/* MDB_WRITEMAP with MDB_NOSYNC is LMDB's fastest mode. It is safe here because the file is not used
 * as a shard before it is synced and renamed. */
enum tn_status table_create(struct table *table, const char *path, uint64_t bytes,
                            struct error *error)
{
    assert(bytes >= 1);
    enum tn_status status = open_environment(table, path, bytes, MDB_WRITEMAP | MDB_NOSYNC, error);
    if (status == TN_OK) { status = reserve_space(table, bytes, error); }
    return status == TN_OK ? begin_transaction(table, 0, error) : status;
}

enum tn_status table_append(struct table *table, uint64_t key, size_t size, uint8_t **out,
                            struct error *error)
{
    assert(table->txn != NULL);
    assert(size >= 1);
    if (table->appended == APPENDS_PER_TRANSACTION) {
        enum tn_status status = commit_transaction(table, error);
        if (status == TN_OK) { status = begin_transaction(table, 0, error); }
        if (status != TN_OK) { return status; }
    }
    uint8_t bytes[KEY_BYTES];
    MDB_val name = key_of(key, bytes);
    MDB_val value = {.mv_size = size, .mv_data = NULL};
    int code = mdb_put(table->txn, table->handle, &name, &value, MDB_RESERVE | MDB_APPEND);
    if (code != MDB_SUCCESS) { return table_error(error, code, "write", table); }
    table->appended++;
    *out = value.mv_data;
    return TN_OK;
}

enum tn_status table_commit(struct table *table, struct error *error)
{
    enum tn_status status = commit_transaction(table, error);
    if (status == TN_OK) { /* Only a hint: table_sync() makes it durable. */
        (void)sync_file_range(table_descriptor(table), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    return status;
}

enum tn_status table_sync(struct table *table, struct error *error)
{
    assert(table->txn == NULL);
    int code = mdb_env_sync(table->env, 1);
    if (code != MDB_SUCCESS) { return table_error(error, code, "sync", table); }
    /* LMDB does not sync the size and the blocks of the file. */
    if (fsync(table_descriptor(table)) != 0) {
        return files_error(error, errno, "sync", table->path);
    }
    return TN_OK;
}

enum tn_status table_open(struct table *table, const char *path, struct error *error)
{
    enum tn_status status = open_environment(table, path, 0, MDB_RDONLY, error);
    return status == TN_OK ? begin_transaction(table, MDB_RDONLY, error) : status;
}

enum tn_status table_get(const struct table *table, uint64_t key, const uint8_t **data,
                         size_t *size, struct error *error)
{
    assert(table->txn != NULL);
    uint8_t bytes[KEY_BYTES];
    MDB_val name = key_of(key, bytes);
    MDB_val value;
    int code = mdb_get(table->txn, table->handle, &name, &value);
    if (code != MDB_SUCCESS) { return table_error(error, code, "read", table); }
    *data = value.mv_data;
    *size = value.mv_size;
    return TN_OK;
}

void table_close(struct table *table)
{
    if (table->txn != NULL) { mdb_txn_abort(table->txn); }
    if (table->env != NULL) { mdb_env_close(table->env); }
    table->txn = NULL;
    table->env = NULL;
}
