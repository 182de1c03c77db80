#include "common/base/log_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"

enum { NUMBERED_PATH_MAX = LOG_FILE_PATH_MAX + 16 };

/* Not through a link that another user made in a shared folder. */
static int open_log(const char *path, int more)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | more, 0600);
}

/* PATH, PATH.1, ... */
static void numbered(char out[static NUMBERED_PATH_MAX], const char *path, int number)
{
    assert(number >= 0 && number <= LOG_FILES_KEPT);
    if (number == 0) {
        snprintf(out, NUMBERED_PATH_MAX, "%s", path);
    } else {
        snprintf(out, NUMBERED_PATH_MAX, "%s.%d", path, number);
    }
}

/* The new file is created first: a full disk then costs nothing but the rotation. */
int log_file_rotate(const char *path)
{
    char next[NUMBERED_PATH_MAX], from[NUMBERED_PATH_MAX], to[NUMBERED_PATH_MAX];
    assert(strlen(path) < LOG_FILE_PATH_MAX);
    snprintf(next, sizeof next, "%s.new", path);
    int fd = open_log(next, O_TRUNC);
    if (fd < 0) { return -1; }
    for (int number = LOG_FILES_KEPT; number > 0; number--) {
        numbered(from, path, number - 1);
        numbered(to, path, number);
        (void)rename(from, to); /* One of them may not exist yet. */
    }
    if (rename(next, path) == 0) { return fd; }
    (void)unlink(next);
    close(fd);
    return -1;
}

void log_file_rotate_if_full(const char *path, uint64_t limit)
{
    struct stat now;
    assert(limit > 0);
    if (stat(path, &now) != 0 || (uint64_t)now.st_size < limit) { return; }
    int fd = log_file_rotate(path);
    if (fd >= 0) { close(fd); }
}

enum tn_status log_file_open(struct log_file *file, const char *path, uint64_t limit,
                             struct error *error)
{
    struct stat now;
    assert(limit > 0);
    *file = (struct log_file){.fd = -1, .limit = limit};
    if (strlen(path) >= sizeof file->path) {
        return error_set(error, TN_EINVAL, "the path %s is too long", path);
    }
    memcpy(file->path, path, strlen(path) + 1);
    file->fd = open_log(path, 0);
    if (file->fd < 0) { return files_error(error, errno, "open", path); }
    if (fstat(file->fd, &now) == 0) { file->size = (uint64_t)now.st_size; }
    return TN_OK;
}

void log_file_close(struct log_file *file)
{
    if (file->fd >= 0) { close(file->fd); }
    file->fd = -1;
}

static void append(struct log_file *file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file->fd, data, size);
        if (written < 0 && errno == EINTR) { continue; }
        if (written <= 0) { return; }
        file->size += (uint64_t)written;
        file->in_line = data[written - 1] != '\n';
        data += written;
        size -= (size_t)written;
    }
}

void log_file_write(struct log_file *file, const char *data, size_t size)
{
    assert(file->fd >= 0);
    if (size == 0) { return; }
    if (file->size > 0 && file->size + size > file->limit) {
        /* The end of the present line belongs to the old file. */
        size_t head = 0;
        if (file->in_line) {
            const char *end = memchr(data, '\n', size);
            head = end != NULL ? (size_t)(end + 1 - data) : size;
        }
        append(file, data, head);
        data += head;
        size -= head;
        int next = file->in_line ? -1 : log_file_rotate(file->path);
        if (next >= 0) {
            close(file->fd);
            file->fd = next;
            file->size = 0;
        }
    }
    append(file, data, size);
}
