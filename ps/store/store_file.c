#include "ps/store/store_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"

enum { FLUSH_BYTES = 4 << 20 };

static enum tn_status reserve_space(const struct store_file *file, struct error *error)
{
    int code;
    do {
        code = posix_fallocate(file->fd, 0, (off_t)file->bytes);
    } while (code == EINTR);
    if (code == 0) { return TN_OK; }
    if (files_status_of(code) != TN_ENOSPC) {
        return files_error(error, code, "reserve space for", file->path);
    }
    struct statvfs device;
    uint64_t left = 0;
    if (fstatvfs(file->fd, &device) == 0) { left = (uint64_t)device.f_bavail * device.f_frsize; }
    return error_set(error, TN_ENOSPC,
                     "the device is full: %s needs %" PRIu64 " bytes, %" PRIu64
                     " are left: free space, or lower checkpoint.keep",
                     file->path, file->bytes, left);
}

enum tn_status store_file_create(struct store_file *file, const char *path, uint64_t bytes,
                                 struct error *error)
{
    assert(bytes >= 1);
    *file = (struct store_file){.path = path, .bytes = bytes};
    digest_begin(&file->digest);
    file->fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (file->fd < 0) { return files_error(error, errno, "create", path); }
    return reserve_space(file, error);
}

/* Remove the first `size` bytes of the pieces. */
static void drop_written(struct iovec *pieces, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const size_t part = size_min(size, pieces[i].iov_len);
        pieces[i].iov_base = (uint8_t *)pieces[i].iov_base + part;
        pieces[i].iov_len -= part;
        size -= part;
    }
}

static enum tn_status write_pieces(struct store_file *file, const struct iovec *pieces,
                                   size_t count, struct error *error)
{
    struct iovec left[STORE_PIECES_MAX];
    memcpy(left, pieces, count * sizeof *left);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) { size += pieces[i].iov_len; }
    assert(size <= file->bytes - file->at);
    while (size > 0) {
        const ssize_t done = pwritev(file->fd, left, (int)count, (off_t)file->at);
        if (done < 0 && errno == EINTR) { continue; }
        if (done <= 0) { return files_error(error, done < 0 ? errno : EIO, "write", file->path); }
        drop_written(left, count, (size_t)done);
        file->at += (uint64_t)done;
        size -= (size_t)done;
    }
    return TN_OK;
}

enum tn_status store_file_add(struct store_file *file, const struct iovec *pieces, size_t count,
                              struct error *error)
{
    assert(count >= 1 && count <= STORE_PIECES_MAX);
    for (size_t i = 0; i < count; i++) {
        digest_add(&file->digest, pieces[i].iov_base, pieces[i].iov_len);
    }
    const enum tn_status status = write_pieces(file, pieces, count, error);
    if (status == TN_OK && file->at - file->flushed >= FLUSH_BYTES) {
        /* Only a hint: store_file_sync() makes it durable. */
        (void)sync_file_range(file->fd, (off_t)file->flushed, (off_t)(file->at - file->flushed),
                              SYNC_FILE_RANGE_WRITE);
        file->flushed = file->at;
    }
    return status;
}

enum tn_status store_file_sync(struct store_file *file, struct digest *digest, struct error *error)
{
    assert(file->at == file->bytes);
    *digest = digest_end(&file->digest);
    if (fsync(file->fd) != 0) { return files_error(error, errno, "sync", file->path); }
    return TN_OK;
}

void store_file_close(struct store_file *file)
{
    if (file->fd >= 0) { close(file->fd); }
    file->fd = -1;
}
