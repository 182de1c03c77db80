#include "ps/store/store_rows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/files.h"
#include "ps/store/store_layout.h"

/* The bytes of a blob: magic, step, and of each file its checkpoint, size and digest.
 * Little-endian. Version 1: magic, step, size of the file, its digest. */
enum { AT_STEP = 8, AT_FILES = 16, FILE_BYTES = 16 + DIGEST_BYTES, OLD_BLOB_BYTES = 40 };
enum { AT_OLD_BYTES = 16, AT_OLD_DIGEST = 24 };

static const char magic[8] = "rowchain", old_magic[8] = "rowsfile";

static_assert(AT_FILES + MANIFEST_CHAIN_MAX * FILE_BYTES <= STORE_BLOB_MAX,
              "a blob is long enough");
static_assert((int)AT_OLD_DIGEST + (int)DIGEST_BYTES == (int)OLD_BLOB_BYTES, "no gaps");

/* ------------------------------------------------------------------------ the blob */

size_t store_rows_blob_bytes(uint32_t files)
{
    assert(files >= 1 && files <= MANIFEST_CHAIN_MAX);
    return AT_FILES + (size_t)files * FILE_BYTES;
}

static void encode(const struct rows_chain *chain, uint8_t *blob)
{
    memcpy(blob, magic, sizeof magic);
    memcpy(blob + AT_STEP, &chain->step, sizeof chain->step);
    for (uint32_t f = 0; f < chain->count; f++) {
        const struct manifest_rows *file = &chain->files[f];
        uint8_t *at = blob + store_rows_blob_bytes(f + 1) - FILE_BYTES;
        memcpy(at, &file->checkpoint, sizeof file->checkpoint);
        memcpy(at + 8, &file->bytes, sizeof file->bytes);
        digest_encode(file->digest, at + 16);
    }
}

static bool is_old(const void *blob)
{
    return memcmp(blob, old_magic, sizeof old_magic) == 0;
}

bool store_rows_are_named(const void *blob, size_t size)
{
    if (size == OLD_BLOB_BYTES && is_old(blob)) { return true; }
    return size > AT_FILES && (size - AT_FILES) % FILE_BYTES == 0 &&
           size <= store_rows_blob_bytes(MANIFEST_CHAIN_MAX) &&
           memcmp(blob, magic, sizeof magic) == 0;
}

/* The file of version 1 has no checkpoint. */
static void decode(const uint8_t *blob, size_t size, struct rows_chain *chain)
{
    assert(store_rows_are_named(blob, size));
    *chain = (struct rows_chain){.count = 1};
    memcpy(&chain->step, blob + AT_STEP, sizeof chain->step);
    if (is_old(blob)) {
        memcpy(&chain->files[0].bytes, blob + AT_OLD_BYTES, sizeof chain->files[0].bytes);
        chain->files[0].digest = digest_decode(blob + AT_OLD_DIGEST);
        return;
    }
    chain->count = (uint32_t)((size - AT_FILES) / FILE_BYTES);
    for (uint32_t f = 0; f < chain->count; f++) {
        struct manifest_rows *file = &chain->files[f];
        const uint8_t *at = blob + store_rows_blob_bytes(f + 1) - FILE_BYTES;
        memcpy(&file->checkpoint, at, sizeof file->checkpoint);
        memcpy(&file->bytes, at + 8, sizeof file->bytes);
        file->digest = digest_decode(at + 16);
    }
}

/* ------------------------------------------------------------------------- writing */

/* The folder of a shard of checkpoint `id`. */
struct place {
    const char *dir;
    uint64_t id;
    uint32_t shard, shards;
};

static enum tn_status name_path(const struct place *place, const char *name,
                                char path[static PATH_MAX], struct error *error)
{
    char folder[PATH_MAX];
    if (store_path_of_shard_folder(folder, place->dir, place->id, place->shard, place->shards)) {
        const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
        if (length > 0 && length < PATH_MAX) { return TN_OK; }
    }
    return store_path_too_long(place->dir, error);
}

static enum tn_status file_path(const struct place *place, const struct manifest_rows *file,
                                char path[static PATH_MAX], struct error *error)
{
    char name[64];
    if (file->checkpoint == 0) { return name_path(place, STORE_ROWS_NAME, path, error); }
    snprintf(name, sizeof name, STORE_ROWS_PREFIX "%010" PRIu64 "-%016" PRIx64, file->checkpoint,
             file->digest.low);
    return name_path(place, name, path, error);
}

/* The files of the chain, from the folder of the checkpoint before. */
static enum tn_status link_chain(const struct place *place, const struct rows_chain *chain,
                                 struct error *error)
{
    struct place before = *place;
    enum tn_status status = TN_OK;
    if (chain->count == 0) { return TN_OK; }
    before.id = chain->files[chain->count - 1].checkpoint;
    for (uint32_t f = 0; f < chain->count && status == TN_OK; f++) {
        char from[PATH_MAX], to[PATH_MAX];
        status = file_path(&before, &chain->files[f], from, error);
        if (status == TN_OK) { status = file_path(place, &chain->files[f], to, error); }
        if (status == TN_OK && link(from, to) != 0 && errno != EEXIST) {
            status =
                error_set(error, TN_EIO, "cannot link %s: %s: the next checkpoint saves all rows",
                          from, strerror(errno));
        }
    }
    return status;
}

/* Under a name that no other process uses, then under that of its contents: a frozen process that
 * wakes up does not replace the file of another one. */
static enum tn_status write_rows(const struct place *place, const struct rows_save *save,
                                 const struct store_rows *rows, struct manifest_rows *out,
                                 struct error *error)
{
    static atomic_uint counter;
    struct rows_file file;
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, STORE_ROWS_PARTIAL "%ld-%u", (long)getpid(),
             atomic_fetch_add(&counter, 1));
    enum tn_status status = name_path(place, name, file.path, error);
    if (status == TN_OK) {
        status = rows_file_write(&file, (const struct row_table *const *)rows->tables, rows->count,
                                 save, error);
    }
    if (status != TN_OK) { return status; }
    *out =
        (struct manifest_rows){.checkpoint = place->id, .bytes = file.bytes, .digest = file.digest};
    status = file_path(place, out, path, error);
    if (status == TN_OK && rename(file.path, path) != 0) {
        status = files_error(error, errno, "rename", file.path);
    }
    if (status != TN_OK) { (void)unlink(file.path); }
    return status;
}

/* Whether the next checkpoint can have links to this one's files. */
static bool has_links(const struct place *place, const struct manifest_rows *file)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct error ignored;
    if (file_path(place, file, from, &ignored) != TN_OK ||
        name_path(place, STORE_ROWS_PARTIAL "link", to, &ignored) != TN_OK) {
        return false;
    }
    const bool linked = link(from, to) == 0 || errno == EEXIST;
    (void)unlink(to);
    return linked;
}

static struct rows_save save_of(const struct store_write_request *request)
{
    return rows_save_behind(request->rows.chain, request->step, request->rows.row_counts);
}

uint64_t store_rows_bytes(const struct store_write_request *request)
{
    const struct rows_save save = save_of(request);
    return rows_file_bytes((const struct row_table *const *)request->rows.tables,
                           request->rows.count, &save);
}

enum tn_status store_rows_write(const char *dir, const struct store_write_request *request,
                                struct save_pace *pace, uint8_t blob[static STORE_BLOB_MAX],
                                struct error *error)
{
    struct manifest_rows file;
    const struct store_rows *rows = &request->rows;
    struct rows_chain *chain = rows->chain;
    const struct place place = {dir, request->id, request->shard, request->shards};
    assert(rows->count >= 1 && chain != NULL);
    struct rows_save save = save_of(request);
    const struct table_progress progress = save_pace_of_rows(pace);
    if (pace != NULL) { save.progress = &progress; }
    enum tn_status status = link_chain(&place, chain, error);
    if (status != TN_OK) {
        chain->count = 0;
        return status;
    }
    status = write_rows(&place, &save, rows, &file, error);
    if (status != TN_OK) { return status; }
    rows_chain_append(chain, &file, request->step);
    encode(chain, blob);
    if (save.full && !has_links(&place, &file)) { chain->count = 0; }
    return TN_OK;
}

/* ------------------------------------------------------------------------- reading */

static enum tn_status read_files(const struct rows_file *files, const struct rows_chain *chain,
                                 const struct store_rows *rows, struct error *error)
{
    enum tn_status status = TN_OK;
    if (rows->count > 0) {
        return rows_file_append(files, chain->count, rows->tables, rows->count, chain->step, error);
    }
    for (uint32_t f = 0; f < chain->count && status == TN_OK; f++) {
        status = rows_file_verify(&files[f], error);
    }
    return status;
}

enum tn_status store_rows_files(const char *dir, const struct manifest *manifest, uint32_t shard,
                                const void *blob, size_t size,
                                struct rows_file files[static MANIFEST_CHAIN_MAX],
                                struct rows_chain *chain, struct error *error)
{
    const struct place place = {dir, manifest->id, shard, manifest->shard_count};
    enum tn_status status = TN_OK;
    decode(blob, size, chain);
    for (uint32_t f = 0; f < chain->count && status == TN_OK; f++) {
        files[f].bytes = chain->files[f].bytes;
        files[f].digest = chain->files[f].digest;
        status = file_path(&place, &chain->files[f], files[f].path, error);
    }
    return status;
}

enum tn_status store_rows_read(const char *dir, const struct manifest *manifest, uint32_t shard,
                               const void *blob, size_t size, const struct store_rows *rows,
                               struct rows_chain *chain, struct error *error)
{
    struct rows_file *files = calloc(MANIFEST_CHAIN_MAX, sizeof *files);
    if (files == NULL) { return error_set(error, TN_ENOMEM, "out of memory for tables"); }
    enum tn_status status = store_rows_files(dir, manifest, shard, blob, size, files, chain, error);
    if (status == TN_OK && chain->step != manifest->step) {
        status = error_set(error, TN_ECORRUPT,
                           "its rows are of step %" PRIu64 ", its manifest is of step %" PRIu64,
                           chain->step, manifest->step);
    }
    if (status == TN_OK) { status = read_files(files, chain, rows, error); }
    free(files);
    if (chain->files[0].checkpoint == 0) { chain->count = 0; }
    return status;
}
