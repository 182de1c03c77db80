#include "common/base/partial_file.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"

enum tn_status partial_file_open(struct partial_file *file, const char *path, struct error *error)
{
    assert(file != NULL && path != NULL);
    *file = (struct partial_file){0};
    int length = snprintf(file->partial, sizeof file->partial, "%s.partial", path);
    if (length < 0 || (size_t)length >= sizeof file->partial) {
        return error_set(error, TN_EINVAL, "%.200s...: the path is too long", path);
    }
    struct stat found;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        return error_set(error, TN_EINVAL, "%s is a folder: give the name of a file", path);
    }
    memcpy(file->path, path, strlen(path) + 1);
    file->file = fopen(file->partial, "wbe");
    return file->file != NULL ? TN_OK : files_error(error, errno, "create", file->partial);
}

void partial_file_write(struct partial_file *file, const void *data, size_t size)
{
    assert(file->file != NULL);
    if (file->failed != 0 || size == 0) { return; }
    errno = 0;
    if (fwrite(data, 1, size, file->file) == size) {
        file->bytes += size;
    } else {
        file->failed = errno != 0 ? errno : EIO;
    }
}

static enum tn_status sync_folder_of(const char *path, struct error *error)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash != NULL) { snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path); }
    return files_sync_folder(folder, error);
}

enum tn_status partial_file_close(struct partial_file *file, enum tn_status status,
                                  struct error *error)
{
    if (file->file == NULL) { return status; }
    bool written = file->failed == 0;
    if (written && (fflush(file->file) != 0 || fsync(fileno(file->file)) != 0)) {
        file->failed = errno;
    }
    if (fclose(file->file) != 0 && file->failed == 0) { file->failed = errno; }
    file->file = NULL;
    if (status == TN_OK && file->failed != 0) {
        status = files_error(error, file->failed, "write", file->partial);
    }
    if (status == TN_OK && rename(file->partial, file->path) != 0) {
        status = files_error(error, errno, "rename", file->partial);
    }
    if (status != TN_OK) {
        (void)unlink(file->partial);
        return status;
    }
    return sync_folder_of(file->path, error);
}
