#include "common/base/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tanist/status.h"

/* Modes before the umask. */
enum { TEMPORARY_TRIES = 100, MODE_PRIVATE = 0600, MODE_PUBLIC = 0666 };

enum tn_status files_status_of(int system_errno)
{
    switch (system_errno) {
    case 0: return TN_OK;
    case ENOENT:
    case ENOTDIR: return TN_ENOENT;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return TN_ENOSPC;
    case EEXIST: return TN_EEXIST;
    case ENOMEM: return TN_ENOMEM;
    case ENAMETOOLONG:
    case ELOOP: return TN_EINVAL;
    default: return TN_EIO;
    }
}

enum tn_status files_error(struct error *error, int system_errno, const char *what,
                           const char *path)
{
    assert(what != NULL && path != NULL);
    char text[128];
    return error_set(error, files_status_of(system_errno), "cannot %s %s: %s", what, path,
                     strerror_r(system_errno, text, sizeof text));
}

/* The length of "FOLDER/" in "FOLDER/NAME"; 0: no folder is given. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static int write_whole(int fd, const char *data, size_t size)
{
    assert(fd >= 0);
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR) { continue; }
        if (written < 0) { return errno; }
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

/* Lock an open file whose name is `temporary`. False: another writer has locked or renamed it. A
 * file system without locks has one writer. */
static bool lock(int fd, const char *temporary)
{
    struct stat own, named;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) { return false; }
    return fstat(fd, &own) == 0 && lstat(temporary, &named) == 0 && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
}

/* An empty file beside `path`, its name in `temporary`. It is locked until it is closed, so that
 * writers at the same time have different ones, and one that a killed writer left is used again.
 * Negative: see errno. */
static int open_temporary(const char *path, mode_t mode, char temporary[static PATH_MAX])
{
    assert(path[0] != '\0');
    const size_t folder = folder_length(path);
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        const int length =
            snprintf(temporary, PATH_MAX, "%.*s.%s.tmp-%d", (int)folder, path, path + folder, i);
        if (length < 0 || length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int fd = open(temporary, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0) { return fd; }
        if (lock(fd, temporary) && ftruncate(fd, 0) == 0) { return fd; }
        close(fd);
    }
    errno = EBUSY;
    return -1;
}

static enum tn_status sync_parent(const char *path, struct error *error)
{
    char folder[PATH_MAX];
    size_t length = folder_length(path);
    if (length >= sizeof folder) { return files_error(error, ENAMETOOLONG, "sync", path); }
    memcpy(folder, path, length);
    folder[length] = '\0';
    return files_sync_folder(length == 0 ? "." : folder, error);
}

static enum tn_status replace(const char *path, const void *data, size_t size, mode_t mode,
                              bool sync, struct error *error)
{
    assert(path != NULL);
    assert(data != NULL || size == 0);
    char temporary[PATH_MAX];
    int fd = open_temporary(path, mode, temporary);
    if (fd < 0) { return files_error(error, errno, "create a file beside", path); }
    int failed = write_whole(fd, data, size);
    if (failed == 0 && sync && fsync(fd) != 0) { failed = errno; }
    if (failed == 0 && rename(temporary, path) != 0) { failed = errno; }
    if (failed != 0 && unlink(temporary) != 0) { errno = 0; /* There is nothing more to try. */ }
    if (close(fd) != 0 && failed == 0) { failed = errno; }
    return failed == 0 ? TN_OK : files_error(error, failed, "write", path);
}

static enum tn_status write_durable(const char *path, const void *data, size_t size, mode_t mode,
                                    struct error *error)
{
    enum tn_status status = replace(path, data, size, mode, true, error);
    return status == TN_OK ? sync_parent(path, error) : status;
}

enum tn_status files_write_atomic(const char *path, const void *data, size_t size,
                                  struct error *error)
{
    return write_durable(path, data, size, MODE_PRIVATE, error);
}

enum tn_status files_write_public(const char *path, const void *data, size_t size,
                                  struct error *error)
{
    return write_durable(path, data, size, MODE_PUBLIC, error);
}

enum tn_status files_write_unsynced(const char *path, const void *data, size_t size,
                                    struct error *error)
{
    return replace(path, data, size, MODE_PRIVATE, false, error);
}

static enum tn_status read_open(int fd, const char *path, size_t limit, char **data, size_t *size,
                                struct error *error)
{
    assert(fd >= 0);
    assert(data != NULL && size != NULL);
    struct stat info;
    if (fstat(fd, &info) != 0) { return files_error(error, errno, "inspect", path); }
    if (!S_ISREG(info.st_mode)) {
        return error_set(error, TN_EINVAL, "%s is not a regular file", path);
    }
    if ((uintmax_t)info.st_size > limit) {
        return error_set(error, TN_EINVAL, "%s has %jd bytes, expected at most %zu", path,
                         (intmax_t)info.st_size, limit);
    }
    size_t expected = (size_t)info.st_size;
    char *bytes = malloc(expected + 1);
    if (bytes == NULL) { return error_set(error, TN_ENOMEM, "no memory to read %s", path); }
    size_t used = 0;
    while (used < expected) {
        ssize_t got = read(fd, bytes + used, expected - used);
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) {
            int failed = errno;
            free(bytes);
            return files_error(error, failed, "read", path);
        }
        if (got == 0) { break; /* The file became shorter while it was read. */ }
        used += (size_t)got;
    }
    bytes[used] = '\0';
    *data = bytes;
    *size = used;
    return TN_OK;
}

enum tn_status files_read(const char *path, size_t limit, char **data, size_t *size,
                          struct error *error)
{
    assert(path != NULL);
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* Never wait for a pipe's writer. */
    if (fd < 0) { return files_error(error, errno, "open", path); }
    enum tn_status status = read_open(fd, path, limit, data, size, error);
    close(fd);
    return status;
}

/* One level; an existing folder is fine. */
static enum tn_status make_folder(const char *path, struct error *error)
{
    struct stat info;
    if (mkdir(path, 0700) == 0) { return TN_OK; }
    int failed = errno; /* EROFS or EACCES of the parent is possible although the folder exists. */
    const bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) { return TN_OK; }
    if (exists) { failed = ENOTDIR; } /* A file: more helpful than EEXIST. */
    return files_error(error, failed, "make the folder", path);
}

enum tn_status files_make_folders(const char *path, struct error *error)
{
    assert(path != NULL);
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof prefix) {
        return files_error(error, length == 0 ? ENOENT : ENAMETOOLONG, "make the folder", path);
    }
    memcpy(prefix, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0') { continue; }
        prefix[i] = '\0';
        enum tn_status status = make_folder(prefix, error);
        if (status != TN_OK) { return status; }
        prefix[i] = path[i];
    }
    return TN_OK;
}

enum tn_status files_sync_folder(const char *path, struct error *error)
{
    assert(path != NULL);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) { return files_error(error, errno, "open the folder", path); }
    int failed = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    /* Some file systems cannot sync a folder and return EINVAL. */
    if (failed == 0 || failed == EINVAL) { return TN_OK; }
    return files_error(error, failed, "sync the folder", path);
}

const char *files_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && *folder != '\0' ? folder : "/var/tmp";
}

bool files_is_temporary_of(const char *name, const char *target)
{
    assert(name != NULL && target != NULL);
    size_t length = strlen(target);
    return name[0] == '.' && strncmp(name + 1, target, length) == 0 &&
           strncmp(name + 1 + length, ".tmp-", 5) == 0;
}
