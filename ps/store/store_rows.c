#include "ps/store/store_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ps/store/store_layout.h"

/* The bytes of a blob: magic, step, size of the file, its digest. Little-endian. */
enum { AT_STEP = 8, AT_BYTES = 16, AT_DIGEST = 24 };

static const char magic[8] = "rowsfile";

static_assert((int)AT_DIGEST + (int)DIGEST_BYTES == (int)STORE_ROWS_BLOB_BYTES, "no gaps");

static enum tn_status set_path(const char *dir, uint64_t id, uint32_t shard, uint32_t shards,
                               struct rows_file *file, struct error *error)
{
    char folder[PATH_MAX];
    if (store_path_of_shard_folder(folder, dir, id, shard, shards)) {
        const int length = snprintf(file->path, sizeof file->path, "%s/" STORE_ROWS_NAME, folder);
        if (length > 0 && (size_t)length < sizeof file->path) { return TN_OK; }
    }
    return store_path_too_long(dir, error);
}

enum tn_status store_rows_write(const char *dir, const struct store_write_request *request,
                                uint8_t blob[static STORE_ROWS_BLOB_BYTES], struct error *error)
{
    struct rows_file file;
    const struct store_rows *rows = &request->rows;
    const struct rows_save save = {
        .full = true,
        .step = request->step,
        .row_counts = rows->row_counts,
    };
    assert(rows->count >= 1);
    enum tn_status status =
        set_path(dir, request->id, request->shard, request->shards, &file, error);
    if (status == TN_OK) {
        status = rows_file_write(&file, (const struct row_table *const *)rows->tables, rows->count,
                                 &save, error);
    }
    if (status != TN_OK) { return status; }
    memcpy(blob, magic, sizeof magic);
    memcpy(blob + AT_STEP, &request->step, sizeof request->step);
    memcpy(blob + AT_BYTES, &file.bytes, sizeof file.bytes);
    digest_encode(file.digest, blob + AT_DIGEST);
    return TN_OK;
}

bool store_rows_are_named(const void *blob, size_t size)
{
    return size == STORE_ROWS_BLOB_BYTES && memcmp(blob, magic, sizeof magic) == 0;
}

enum tn_status store_rows_read(const char *dir, const struct manifest *manifest, uint32_t shard,
                               const void *blob, const struct store_rows *rows, struct error *error)
{
    struct rows_file file;
    uint64_t step;
    const uint8_t *bytes = blob;
    assert(store_rows_are_named(blob, STORE_ROWS_BLOB_BYTES));
    memcpy(&step, bytes + AT_STEP, sizeof step);
    memcpy(&file.bytes, bytes + AT_BYTES, sizeof file.bytes);
    file.digest = digest_decode(bytes + AT_DIGEST);
    if (step != manifest->step) {
        return error_set(error, TN_ECORRUPT,
                         "its rows are of step %" PRIu64 ", its manifest is of step %" PRIu64, step,
                         manifest->step);
    }
    enum tn_status status = set_path(dir, manifest->id, shard, manifest->shard_count, &file, error);
    if (status != TN_OK) { return status; }
    if (rows->count == 0) { return rows_file_verify(&file, error); }
    return rows_file_append(&file, rows->tables, rows->count, step, error);
}
