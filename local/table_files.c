/* The files of tables beside the checkpoints: saves, their chain, and what no checkpoint needs. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "local/tables.h"
#include "ps/store/store_folder.h"
#include "ps/store/store_port.h"
#include "ps/table/rows_file.h"

enum { WARNINGS_MAX = 512 };

static const char ending[] = ".rows";

static enum tn_status folder_of(const char *dir, char path[static PATH_MAX], struct error *error)
{
    const int length = snprintf(path, PATH_MAX, "%s/tables", dir);
    if (length > 0 && length < PATH_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the path of the checkpoints is too long: %.200s...", dir);
}

static enum tn_status path_of(const char *dir, uint64_t checkpoint, char path[static PATH_MAX],
                              struct error *error)
{
    const int length =
        snprintf(path, PATH_MAX, "%s/tables/%010" PRIu64 "%s", dir, checkpoint, ending);
    if (length > 0 && length < PATH_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "the path of the checkpoints is too long: %.200s...", dir);
}

/* ------------------------------------------------------------------------ saves */

enum tn_status tables_begin_save(struct tables *tables, uint64_t checkpoint, struct error *error)
{
    if (tables->set.count == 0) { return TN_OK; }
    const uint64_t step = row_table_step(tables->set.tables[0]);
    return row_set_begin_save(&tables->set, step, checkpoint, error);
}

static enum tn_status make_folder(const char *dir, struct error *error)
{
    char path[PATH_MAX];
    enum tn_status status = folder_of(dir, path, error);
    if (status != TN_OK) { return status; }
    if (mkdir(path, 0700) == 0) { return files_sync_folder(dir, error); }
    return errno == EEXIST ? TN_OK : files_error(error, errno, "make the folder", path);
}

uint64_t tables_save_bytes(const struct tables *tables, uint64_t step)
{
    const struct row_set *set = &tables->set;
    const struct rows_save save = rows_save_behind(&set->saving, step, set->save_counts);
    return rows_file_bytes((const struct row_table *const *)set->tables, set->all, &save);
}

enum tn_status tables_write(struct tables *tables, const char *dir, struct manifest *manifest,
                            const struct table_progress *progress, struct error *error)
{
    struct rows_file file;
    struct row_set *set = &tables->set;
    struct rows_chain *chain = &set->saving;
    if (set->count == 0) { return TN_OK; }
    struct rows_save save = rows_save_behind(chain, manifest->step, set->save_counts);
    save.progress = progress;
    enum tn_status status = make_folder(dir, error);
    if (status == TN_OK) { status = path_of(dir, manifest->id, file.path, error); }
    if (status == TN_OK) {
        status = rows_file_write(&file, (const struct row_table *const *)set->tables, set->all,
                                 &save, error);
    }
    if (status != TN_OK) { return status; }
    const struct manifest_rows last = {
        .checkpoint = manifest->id, .bytes = file.bytes, .digest = file.digest};
    rows_chain_append(chain, &last, manifest->step);
    manifest->chain_count = chain->count;
    memcpy(manifest->chain, chain->files, sizeof chain->files);
    return TN_OK;
}

void tables_end_save(struct tables *tables, bool committed)
{
    if (tables->set.count > 0) { row_set_end_save(&tables->set, committed); }
}

/* -------------------------------------------------------------------- collection */

/* The checkpoint that wrote a file, also one that is not complete; 0: it is another file. */
static uint64_t checkpoint_of(const char *name)
{
    char *rest;
    const uint64_t id = strtoull(name, &rest, 10);
    const size_t length = sizeof ending - 1;
    if (rest == name || strncmp(rest, ending, length) != 0) { return 0; }
    return rest[length] == '\0' || strcmp(rest + length, ".partial") == 0 ? id : 0;
}

static bool is_named(const struct manifest *manifests, size_t count, uint64_t checkpoint)
{
    for (size_t m = 0; m < count; m++) {
        for (uint32_t f = 0; f < manifests[m].chain_count; f++) {
            if (manifests[m].chain[f].checkpoint == checkpoint) { return true; }
        }
    }
    return false;
}

static enum tn_status remove_unnamed(const char *path, const struct manifest *manifests,
                                     size_t count, uint64_t below, struct error *error)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno == ENOENT ? TN_OK : files_error(error, errno, "open", path);
    }
    enum tn_status status = TN_OK;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const uint64_t id = checkpoint_of(entry->d_name);
        if (id == 0 || id >= below || is_named(manifests, count, id)) { continue; }
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0 && errno != ENOENT) {
            status = files_error(error, errno, "remove a file of", path);
        }
    }
    closedir(folder);
    return status;
}

enum tn_status tables_collect(const char *dir, uint64_t below, struct error *error)
{
    char path[PATH_MAX], warnings[WARNINGS_MAX];
    size_t count = 0;
    enum tn_status status = folder_of(dir, path, error);
    if (status != TN_OK) { return status; }
    struct manifest *manifests = calloc(STORE_LIST_MAX, sizeof *manifests);
    if (manifests == NULL) { return error_set(error, TN_ENOMEM, "out of memory for manifests"); }
    status = store_list(dir, manifests, STORE_LIST_MAX, &count, warnings, sizeof warnings, error);
    if (status == TN_OK && *warnings == '\0' && count < STORE_LIST_MAX) {
        status = remove_unnamed(path, manifests, count, below, error);
    }
    free(manifests);
    return status;
}

/* ----------------------------------------------------------------------- loading */

enum tn_status tables_files(const char *dir, const struct manifest *manifest,
                            struct rows_file *files, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t f = 0; f < manifest->chain_count && status == TN_OK; f++) {
        const struct manifest_rows *rows = &manifest->chain[f];
        files[f].bytes = rows->bytes;
        files[f].digest = rows->digest;
        status = path_of(dir, rows->checkpoint, files[f].path, error);
    }
    return status;
}

static enum tn_status load_chain(struct tables *tables, const char *dir,
                                 const struct manifest *manifest, struct rows_file *files,
                                 struct error *error)
{
    enum tn_status status = tables_files(dir, manifest, files, error);
    if (status != TN_OK) { return status; }
    return rows_file_load(files, manifest->chain_count, tables->set.tables, tables->set.all, error);
}

enum tn_status tables_load(struct tables *tables, const char *dir, const struct manifest *manifest,
                           struct error *error)
{
    if (tables->set.count == 0 && manifest->chain_count == 0) { return TN_OK; }
    if (tables->set.count == 0 || manifest->chain_count == 0) {
        return error_set(error, TN_EINVAL,
                         "it has %s rows of tables, but the model has %" PRIu32 " tables",
                         manifest->chain_count == 0 ? "no" : "some", tables->set.count);
    }
    struct rows_file *files = calloc(manifest->chain_count, sizeof *files);
    if (files == NULL) { return error_set(error, TN_ENOMEM, "out of memory for tables"); }
    enum tn_status status = load_chain(tables, dir, manifest, files, error);
    free(files);
    if (status != TN_OK) { return status; }
    if (row_table_step(tables->set.tables[0]) != manifest->step) {
        return error_set(error, TN_ECORRUPT,
                         "its table rows are of step %" PRIu64
                         ", but its manifest is of step %" PRIu64,
                         row_table_step(tables->set.tables[0]), manifest->step);
    }
    struct rows_chain *chain = &tables->set.chain;
    *chain = (struct rows_chain){.count = manifest->chain_count, .step = manifest->step};
    memcpy(chain->files, manifest->chain, sizeof manifest->chain);
    return TN_OK;
}
