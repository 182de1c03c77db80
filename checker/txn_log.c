#include "checker/txn_log.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOG_MAGIC = 0x5a4b4c47, /* "ZKLG" */
    LOG_HEADER_BYTES = 16,
    RECORD_MAX = 8 << 20,
    CHANGES_MAX = 64,
};

/* Operation codes (ZooDefs.OpCode). */
enum {
    OP_CREATE = 1,
    OP_DELETE = 2,
    OP_SET = 5,
    OP_CHECK = 13,
    OP_MULTI = 14,
    OP_CREATE2 = 15,
    OP_CLOSE_SESSION = -11,
};

/* A record being read; `bad` once the record was too short. */
struct cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static uint64_t take(struct cursor *cursor, size_t bytes)
{
    uint64_t value = 0;
    assert(bytes <= sizeof value);
    if (cursor->left < bytes) {
        cursor->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) { value = value << 8 | *cursor->at++; }
    cursor->left -= bytes;
    return value;
}

static int32_t take_int(struct cursor *cursor)
{
    return (int32_t)(uint32_t)take(cursor, 4);
}

/* A buffer or text. The result points into the record. */
static const uint8_t *take_bytes(struct cursor *cursor, size_t *size)
{
    assert(size != NULL);
    int32_t length = take_int(cursor);
    *size = 0;
    if (length <= 0) { return cursor->at; }
    if ((size_t)length > cursor->left) {
        cursor->bad = true;
        return cursor->at;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += length;
    cursor->left -= (size_t)length;
    *size = (size_t)length;
    return bytes;
}

static void take_path(struct cursor *cursor, char path[static ZK_PATH_MAX])
{
    assert(path != NULL);
    size_t size;
    const uint8_t *bytes = take_bytes(cursor, &size);
    if (size >= ZK_PATH_MAX) { cursor->bad = true; }
    if (cursor->bad) { size = 0; }
    memcpy(path, bytes, size);
    path[size] = '\0';
}

static struct zk_blob *take_blob(struct cursor *cursor)
{
    size_t size;
    const uint8_t *bytes = take_bytes(cursor, &size);
    struct zk_blob *blob = malloc(sizeof *blob + size);
    if (blob == NULL) { abort(); }
    blob->references = 1;
    blob->size = size;
    memcpy(blob->data, bytes, size);
    return blob;
}

static void skip_acl(struct cursor *cursor)
{
    assert(cursor->at != NULL);
    int32_t count = take_int(cursor);
    for (int32_t i = 0; i < count && !cursor->bad; i++) {
        size_t size;
        (void)take_int(cursor);
        (void)take_bytes(cursor, &size);
        (void)take_bytes(cursor, &size);
    }
}

static void take_operation(struct cursor *cursor, int32_t op, struct txn_log_entry *entry)
{
    struct zk_txn *txn = entry->txn;
    assert(txn->count <= CHANGES_MAX);
    struct zk_change change = {.kind = ZK_SET};
    char path[ZK_PATH_MAX];
    switch (op) {
    case OP_CREATE:
    case OP_CREATE2:
        change.kind = ZK_CREATE;
        take_path(cursor, change.path);
        change.blob = take_blob(cursor);
        skip_acl(cursor);
        change.owner = take(cursor, 1) != 0 ? txn->session : 0;
        break;
    case OP_DELETE:
        change.kind = ZK_DELETE;
        take_path(cursor, change.path);
        break;
    case OP_SET:
        take_path(cursor, change.path);
        change.blob = take_blob(cursor);
        break;
    case OP_CHECK:
        take_path(cursor, path);
        if (entry->check_count < TXN_CHECKS_MAX) {
            memcpy(entry->checks[entry->check_count++], path, sizeof path);
        }
        return;
    case OP_CLOSE_SESSION: txn->closes_session = true; return;
    default: return; /* New sessions and errors change nothing. */
    }
    if (txn->count < CHANGES_MAX) {
        txn->changes[txn->count++] = change;
    } else {
        /* No program of Tanist writes so large a transaction. It is refused: a part of it would
         * pass for the complete one. */
        free(change.blob);
        cursor->bad = true;
    }
}

static void take_multi(struct cursor *cursor, struct txn_log_entry *entry)
{
    assert(entry->txn != NULL);
    int32_t count = take_int(cursor);
    for (int32_t i = 0; i < count && !cursor->bad; i++) {
        int32_t op = take_int(cursor);
        size_t size;
        const uint8_t *bytes = take_bytes(cursor, &size);
        struct cursor part = {.at = bytes, .left = size};
        if (!cursor->bad) { take_operation(&part, op, entry); }
        cursor->bad = cursor->bad || part.bad;
    }
}

static bool visit_record(const uint8_t *record, size_t size, txn_log_visit visit, void *ctx)
{
    assert(size > 0 && visit != NULL);
    struct cursor cursor = {.at = record, .left = size};
    struct txn_log_entry entry = {0};
    entry.txn = calloc(1, sizeof *entry.txn + CHANGES_MAX * sizeof entry.txn->changes[0]);
    if (entry.txn == NULL) { abort(); }
    entry.txn->references = 1;
    entry.txn->session = take(&cursor, 8);
    (void)take_int(&cursor);
    entry.txn->zxid = take(&cursor, 8);
    entry.txn->wall_ms = take(&cursor, 8);
    int32_t op = take_int(&cursor);
    if (op == OP_MULTI) {
        take_multi(&cursor, &entry);
    } else {
        take_operation(&cursor, op, &entry);
    }
    bool good = !cursor.bad;
    if (good) { visit(ctx, &entry); }
    zk_txn_release(entry.txn);
    return good;
}

/* A record is: checksum, length, bytes, 'B'. Zeros follow the last one, since files are allocated
 * in advance. */
static bool read_record(FILE *file, uint8_t *record, size_t *size)
{
    uint8_t head[12];
    assert(file != NULL && record != NULL);
    if (fread(head, 1, sizeof head, file) != sizeof head) { return false; }
    struct cursor cursor = {.at = head, .left = sizeof head};
    (void)take(&cursor, 8);
    int32_t length = take_int(&cursor);
    if (length <= 0 || length > RECORD_MAX) { return false; }
    *size = (size_t)length;
    return fread(record, 1, *size, file) == *size && fgetc(file) == 'B';
}

long txn_log_read(const char *path, txn_log_visit visit, void *ctx)
{
    assert(path != NULL && visit != NULL);
    FILE *file = fopen(path, "rb");
    if (file == NULL) { return -1; }
    uint8_t header[LOG_HEADER_BYTES];
    uint8_t *record = malloc(RECORD_MAX);
    long count = -1;
    errno = 0;
    size_t bytes = fread(header, 1, sizeof header, file);
    if (record != NULL && bytes < sizeof header && !ferror(file)) { count = 0; }
    if (record != NULL && bytes == sizeof header) {
        struct cursor cursor = {.at = header, .left = sizeof header};
        size_t size;
        if (take(&cursor, 4) == LOG_MAGIC) {
            count = 0;
            while (read_record(file, record, &size) && visit_record(record, size, visit, ctx)) {
                count++;
            }
        }
    }
    free(record);
    (void)fclose(file);
    return count;
}
