#include "ps/store/store_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/faults/failpoint.h"
#include "ps/store/store_layout.h"

static enum tn_status missing_folder(const char *dir, struct error *error)
{
    return error_set(error, TN_ENOENT,
                     "the checkpoint folder %s does not exist: is its disk mounted?", dir);
}

static enum tn_status open_folder(const char *dir, DIR **out, struct error *error)
{
    *out = opendir(dir);
    if (*out != NULL) { return TN_OK; }
    if (errno != ENOENT) { return files_error(error, errno, "open the checkpoint folder", dir); }
    return missing_folder(dir, error);
}

/* ----------------------------------------------------------------- listing */

/* `*id` is the highest id below `below` of a checkpoint with a folder; 0: none. */
static enum tn_status newest_below(const char *dir, uint64_t below, uint64_t *id,
                                   struct error *error)
{
    DIR *folder;
    enum tn_status status = open_folder(dir, &folder, error);
    if (status != TN_OK) { return status; }
    *id = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        uint64_t found = store_id_of_name(entry->d_name);
        if (found < below && found > *id) { *id = found; }
    }
    closedir(folder);
    return TN_OK;
}

enum tn_status store_highest_id(const char *dir, uint64_t *id, struct error *error)
{
    return newest_below(dir, UINT64_MAX, id, error);
}

static void add_warning(char *warnings, size_t size, const char *text)
{
    size_t used = strlen(warnings);
    assert(used < size);
    size_t left = size - used;
    int length = snprintf(warnings + used, left, "%s%s", used == 0 ? "" : "\n", text);
    if (length < 0 || (size_t)length >= left) { warnings[used] = '\0'; /* Only complete lines. */ }
}

enum tn_status store_get_manifest(const char *dir, uint64_t id, struct manifest *out,
                                  struct error *error)
{
    assert(id != 0);
    char path[PATH_MAX];
    char *text;
    size_t size;
    if (!store_path_of_manifest(path, dir, id)) { return store_path_too_long(dir, error); }
    enum tn_status status = files_read(path, MANIFEST_JSON_MAX, &text, &size, error);
    if (status == TN_EINVAL) { /* Too large, or not a regular file. */
        return error_set(error, TN_ECORRUPT, "%s is not a manifest", path);
    }
    if (status != TN_OK) { return status; }
    status = manifest_decode(text, size, out, error);
    free(text);
    if (status != TN_OK) {
        error_context(error, "%s", path);
        return status;
    }
    if (out->id != id) {
        return error_set(error, TN_ECORRUPT, "%s is the manifest of checkpoint %" PRIu64, path,
                         out->id);
    }
    return TN_OK;
}

enum tn_status store_list(const char *dir, struct manifest *manifests, size_t max, size_t *count,
                          char *warnings, size_t warnings_size, struct error *error)
{
    uint64_t id = UINT64_MAX;
    assert(max >= 1);
    *count = 0;
    if (warnings_size > 0) { warnings[0] = '\0'; }
    while (*count < max) {
        enum tn_status status = newest_below(dir, id, &id, error);
        if (status != TN_OK) { return status; }
        if (id == 0) { break; }
        struct error why = {.status = TN_OK, .text = ""};
        status = store_get_manifest(dir, id, &manifests[*count], &why);
        if (status == TN_OK) {
            ++*count;
        } else if (status == TN_ENOMEM) {
            return error_set(error, status, "out of memory to list %s", dir);
        } else if (status != TN_ENOENT && warnings_size > 0) {
            add_warning(warnings, warnings_size, why.text);
        }
    }
    return TN_OK;
}

/* ------------------------------------------------------------------ making */

static enum tn_status make_one(const char *path, const char *dir, struct error *error)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST) { return TN_OK; }
    if (errno != ENOENT) { return files_error(error, errno, "make the folder", path); }
    return missing_folder(dir, error);
}

enum tn_status store_make_folder(const char *dir, uint64_t id, uint32_t shard, uint32_t shards,
                                 struct error *error)
{
    assert(shards == 0 || shard < shards);
    char path[PATH_MAX];
    if (!store_path_of_checkpoint(path, dir, id)) { return store_path_too_long(dir, error); }
    enum tn_status status = make_one(path, dir, error);
    if (status != TN_OK || shards == 0) { return status; }
    if (!store_path_of_shard_folder(path, dir, id, shard, shards)) {
        return store_path_too_long(dir, error);
    }
    return make_one(path, dir, error);
}

enum tn_status store_sync_folders(const char *dir, uint64_t id, uint32_t shard, uint32_t shards,
                                  struct error *error)
{
    assert(shard < shards);
    char path[PATH_MAX];
    if (!store_path_of_shard_folder(path, dir, id, shard, shards)) {
        return store_path_too_long(dir, error);
    }
    enum tn_status status = files_sync_folder(path, error);
    if (status != TN_OK) { return status; }
    if (!store_path_of_checkpoint(path, dir, id)) { return store_path_too_long(dir, error); }
    status = files_sync_folder(path, error);
    return status == TN_OK ? files_sync_folder(dir, error) : status;
}

enum tn_status store_put_manifest(const char *dir, const struct manifest *manifest,
                                  struct error *error)
{
    assert(manifest->id != 0);
    char path[PATH_MAX];
    char *text;
    size_t size;
    if (!store_path_of_manifest(path, dir, manifest->id)) {
        return store_path_too_long(dir, error);
    }
    enum tn_status status = manifest_encode(manifest, &text, &size, error);
    if (status != TN_OK) { return status; }
    /* The folder does not exist if all shards are in other folders. */
    status = store_make_folder(dir, manifest->id, 0, 0, error);
    if (status == TN_OK) { status = files_write_atomic(path, text, size, error); }
    /* A collection by another process may have removed the temporary file. */
    if (status == TN_ENOENT) { status = files_write_atomic(path, text, size, error); }
    if (status == TN_OK) { status = files_sync_folder(dir, error); }
    free(text);
    return status;
}

/* ---------------------------------------------------------------- removing */

/* Removal uses names relative to open folders, so that nothing outside of them can be removed.
 * Another process may remove the same files at the same time, so a missing file is not an error. */
static int open_inside(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_partial_file(const char *name)
{
    return strcmp(name, STORE_ROWS_NAME ".partial") == 0 || begins_with(name, STORE_ROWS_PARTIAL) ||
           begins_with(name, STORE_PARTIAL_PREFIX);
}

static bool is_data_file(const char *name)
{
    return strcmp(name, STORE_DATA_NAME) == 0 || strcmp(name, STORE_ROWS_NAME) == 0 ||
           begins_with(name, STORE_ROWS_PREFIX) || is_partial_file(name);
}

static bool is_manifest_file(const char *name)
{
    return strcmp(name, STORE_MANIFEST_NAME) == 0 ||
           files_is_temporary_of(name, STORE_MANIFEST_NAME);
}

/* Unlink the files of an open folder whose name `is_ours`. Closes `fd`. */
static void unlink_files(int fd, bool (*is_ours)(const char *name))
{
    assert(fd >= 0);
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        close(fd);
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (is_ours(entry->d_name)) { (void)unlinkat(dirfd(folder), entry->d_name, 0); }
    }
    closedir(folder);
}

void store_remove_partials(const char *shard_folder)
{
    int fd = open_inside(AT_FDCWD, shard_folder);
    if (fd >= 0) { unlink_files(fd, is_partial_file); }
}

static void remove_shards(int checkpoint)
{
    assert(checkpoint >= 0);
    int copy = open_inside(checkpoint, ".");
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        if (copy >= 0) { close(copy); }
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (!store_is_shard_folder(entry->d_name)) { continue; }
        int shard = open_inside(checkpoint, entry->d_name);
        if (shard >= 0) { unlink_files(shard, is_data_file); }
        (void)unlinkat(checkpoint, entry->d_name, AT_REMOVEDIR);
    }
    closedir(folder);
}

/* `*gone` is whether the folder was removed. An error is returned only if the manifest
 * may remain, and then the shards remain, too. */
static enum tn_status remove_checkpoint(const char *dir, const char *name, bool *gone,
                                        struct error *error)
{
    char path[PATH_MAX];
    *gone = false;
    int length = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (length < 0 || length >= PATH_MAX) { return store_path_too_long(dir, error); }
    int checkpoint = open_inside(AT_FDCWD, path);
    if (checkpoint < 0 && errno == ENOENT) { return TN_OK; }
    if (checkpoint < 0) { return files_error(error, errno, "open", path); }
    int failed = 0;
    if (unlinkat(checkpoint, STORE_MANIFEST_NAME, 0) != 0 && errno != ENOENT) { failed = errno; }
    if (failed == 0 && fsync(checkpoint) != 0) { failed = errno; }
    if (failed == 0 && FAILPOINT_STATUS("ckpt.mid_collect", NULL) != TN_OK) { failed = EIO; }
    if (failed == 0) {
        remove_shards(checkpoint);
        int copy = open_inside(checkpoint, ".");
        if (copy >= 0) { unlink_files(copy, is_manifest_file); /* Temporaries. */ }
    }
    close(checkpoint);
    if (failed != 0) { return files_error(error, failed, "remove the manifest in", path); }
    *gone = rmdir(path) == 0;
    return TN_OK;
}

static bool is_temporary_manifest(const char *name)
{
    return files_is_temporary_of(name, STORE_MANIFEST_NAME);
}

/* The file of a process that was killed while it wrote the manifest, which another one wrote. */
static void remove_temporaries(const char *dir, uint64_t id)
{
    char path[PATH_MAX];
    if (!store_path_of_manifest(path, dir, id) || access(path, F_OK) != 0) { return; }
    if (!store_path_of_checkpoint(path, dir, id)) { return; }
    int checkpoint = open_inside(AT_FDCWD, path);
    if (checkpoint >= 0) { unlink_files(checkpoint, is_temporary_manifest); }
}

static bool is_among(uint64_t id, const uint64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id) { return true; }
    }
    return false;
}

enum tn_status store_collect(const char *dir, const uint64_t *keep, size_t keep_count,
                             uint64_t below_id, size_t *removed, struct error *error)
{
    DIR *folder;
    assert(keep != NULL || keep_count == 0);
    *removed = 0;
    enum tn_status status = open_folder(dir, &folder, error);
    if (status != TN_OK) { return status; }
    for (const struct dirent *entry = readdir(folder); entry != NULL && status == TN_OK;
         entry = readdir(folder)) {
        uint64_t id = store_id_of_name(entry->d_name);
        if (id == 0 || id >= below_id) { continue; }
        if (is_among(id, keep, keep_count)) {
            remove_temporaries(dir, id);
            continue;
        }
        bool gone;
        status = remove_checkpoint(dir, entry->d_name, &gone, error);
        if (gone) { ++*removed; }
    }
    closedir(folder);
    return status == TN_OK ? files_sync_folder(dir, error) : status;
}

enum tn_status store_discard(const char *dir, uint64_t id, struct error *error)
{
    assert(id != 0);
    char path[PATH_MAX];
    bool gone;
    if (!store_path_of_manifest(path, dir, id)) { return store_path_too_long(dir, error); }
    if (access(path, F_OK) == 0) {
        return error_set(error, TN_EEXIST, "checkpoint %" PRIu64 " is committed: %s", id, path);
    }
    if (!store_path_of_checkpoint(path, dir, id)) { return store_path_too_long(dir, error); }
    enum tn_status status = remove_checkpoint(dir, strrchr(path, '/') + 1, &gone, error);
    return status == TN_OK ? files_sync_folder(dir, error) : status;
}
