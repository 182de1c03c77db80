#include "ps/store/store_table.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <lmdb.h>

#include "common/base/files.h"

enum { KEY_BYTES = 8 };

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

enum tn_status table_open(struct table *table, const char *path, struct error *error)
{
    memset(table, 0, sizeof *table);
    size_t length = strlen(path);
    if (length >= sizeof table->path) {
        return error_set(error, TN_EINVAL, "%s: the path is too long", path);
    }
    memcpy(table->path, path, length + 1);
    int code = mdb_env_create(&table->env);
    if (code == MDB_SUCCESS) { /* No lock file: a finished file has only readers. */
        code = mdb_env_open(table->env, path, MDB_RDONLY | MDB_NOSUBDIR | MDB_NOLOCK, 0600);
    }
    if (code == MDB_SUCCESS) { code = mdb_txn_begin(table->env, NULL, MDB_RDONLY, &table->txn); }
    if (code == MDB_SUCCESS) { code = mdb_dbi_open(table->txn, NULL, 0, &table->handle); }
    return code == MDB_SUCCESS ? TN_OK : table_error(error, code, "open", table);
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
