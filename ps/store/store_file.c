#include "ps/store/store_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/minmax.h"
#include "ps/store/store_private.h"

enum {
    FLUSH_BYTES = 4 << 20,
    DIRECT_ALIGNMENT = 4096,
    /* One huge page, which the kernel finds at once, and which stays in the processor's cache. */
    BLOCK_BYTES = 2 << 20,
    TILE_BYTES = 64 << 10, /* Hashed, then copied from the nearest cache. */
};

static enum tn_status reserve_space(const struct store_file *file, struct error *error)
{
    int code;
    do {
        code = posix_fallocate(file->fd, 0, (off_t)file->bytes);
    } while (code == EINTR);
    if (code == 0) { return TN_OK; }
    if (code == EFBIG) {
        return error_set(error, TN_ENOSPC,
                         "%s needs %" PRIu64 " bytes, more than a file may have: raise the limit "
                         "(ulimit -f), or use another file system",
                         file->path, file->bytes);
    }
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
                                 bool direct, struct error *error)
{
    assert(bytes >= 1);
    *file = (struct store_file){.path = path, .bytes = bytes};
    digest_begin(&file->digest);
    const int flags = O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC;
    if (direct && bytes >= STORE_DIRECT_BYTES) {
        file->block = aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
    }
    if (file->block != NULL) { (void)madvise(file->block, BLOCK_BYTES, MADV_HUGEPAGE); }
    file->fd = open(path, flags | (file->block != NULL ? O_DIRECT : 0), 0600);
    if (file->fd < 0 && errno == EINVAL) { file->fd = open(path, flags, 0600); }
    if (file->fd < 0) { return files_error(error, errno, "create", path); }
    return reserve_space(file, error);
}

/* From now on, the page cache is used. */
static bool give_up_direct(const struct store_file *file)
{
    const int flags = fcntl(file->fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) != 0 &&
           fcntl(file->fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

/* Write the block as far as it is filled. The last one of a file may have any size. */
static enum tn_status write_block(struct store_file *file, struct error *error)
{
    if (file->filled % DIRECT_ALIGNMENT != 0) { (void)give_up_direct(file); }
    for (size_t done = 0; done < file->filled;) {
        const ssize_t part =
            pwrite(file->fd, file->block + done, file->filled - done, (off_t)file->at);
        if (part < 0 && (errno == EINTR || (errno == EINVAL && give_up_direct(file)))) { continue; }
        if (part <= 0) { return files_error(error, part < 0 ? errno : EIO, "write", file->path); }
        done += (size_t)part;
        file->at += (uint64_t)part;
    }
    file->filled = 0;
    return TN_OK;
}

enum tn_status store_file_use_cache(struct store_file *file, struct error *error)
{
    if (file->block == NULL) { return TN_OK; }
    (void)give_up_direct(file);
    const enum tn_status status = write_block(file, error);
    file->flushed = file->at;
    free(file->block);
    file->block = NULL;
    return status;
}

/* Hash and append bytes to the block, which is written whenever it is full. */
static enum tn_status fill_block(struct store_file *file, const uint8_t *bytes, size_t size,
                                 struct error *error)
{
    enum tn_status status = TN_OK;
    assert(size <= file->bytes - file->at - file->filled);
    while (size > 0 && status == TN_OK) {
        const size_t part = size_min(size_min(size, TILE_BYTES), BLOCK_BYTES - file->filled);
        digest_add(&file->digest, bytes, part);
        memcpy(file->block + file->filled, bytes, part);
        file->filled += part;
        bytes += part;
        size -= part;
        if (file->filled == BLOCK_BYTES) { status = write_block(file, error); }
    }
    return status;
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
        store_drop_front(left, count, (size_t)done);
        file->at += (uint64_t)done;
        size -= (size_t)done;
    }
    return TN_OK;
}

enum tn_status store_file_add(struct store_file *file, const struct iovec *pieces, size_t count,
                              struct error *error)
{
    assert(count >= 1 && count <= STORE_PIECES_MAX);
    enum tn_status status = TN_OK;
    if (file->block != NULL) {
        for (size_t i = 0; i < count && status == TN_OK; i++) {
            status = fill_block(file, pieces[i].iov_base, pieces[i].iov_len, error);
        }
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        digest_add(&file->digest, pieces[i].iov_base, pieces[i].iov_len);
    }
    status = write_pieces(file, pieces, count, error);
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
    if (file->block != NULL) {
        const enum tn_status status = write_block(file, error);
        if (status != TN_OK) { return status; }
    }
    assert(file->at == file->bytes);
    *digest = digest_end(&file->digest);
    if (fsync(file->fd) != 0) { return files_error(error, errno, "sync", file->path); }
    return TN_OK;
}

void store_file_close(struct store_file *file)
{
    if (file->fd >= 0) { close(file->fd); }
    file->fd = -1;
    free(file->block);
    file->block = NULL;
}
