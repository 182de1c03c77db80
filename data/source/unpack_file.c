#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "data/source/unpack.h"

enum { REPORT_MS = 3000 };
#define RESERVE_BYTES (UINT64_C(1) << 26)

/* The temporary file that is written. */
struct target {
    const char *path; /* The packed file's, for logs. */
    const char *folder;
    const char *place; /* NULL: the file stays without a name. */
    int file;
    uint64_t used, reserved; /* Bytes. */
    uint64_t reported_ms;
};

static enum tn_status write_all(struct target *target, const uint8_t *bytes, size_t size,
                                struct error *error)
{
    for (size_t done = 0; done < size;) {
        const ssize_t written =
            pwrite(target->file, bytes + done, size - done, (off_t)(target->used + done));
        if (written < 0 && errno == EINTR) { continue; }
        if (written < 0) { return files_error(error, errno, "unpack a file into", target->folder); }
        done += (size_t)written;
    }
    target->used += size;
    return TN_OK;
}

static void report(struct target *target)
{
    const uint64_t now = clock_monotonic_ms();
    if (now - target->reported_ms < REPORT_MS) { return; }
    target->reported_ms = now;
    log_info("unpacking %s into %s: %" PRIu64 " MiB", target->path, target->folder,
             target->used >> 20);
}

static enum tn_status put(void *ctx, const uint8_t *bytes, size_t size, struct error *error)
{
    struct target *target = ctx;
    if (size > target->reserved - target->used) {
        const int failure = posix_fallocate(target->file, (off_t)target->reserved, RESERVE_BYTES);
        if (failure != 0) {
            return files_error(error, failure, "reserve space to unpack a file in", target->folder);
        }
        target->reserved += RESERVE_BYTES;
    }
    report(target);
    return write_all(target, bytes, size, error);
}

static enum tn_status fill(struct target *target, const struct source_file *packed,
                           struct source_file *out, struct error *error)
{
    const struct unpack_sink sink = {.put = put, .ctx = target};
    enum tn_status status = unpack_bytes(packed->bytes, packed->size, &sink, error);
    if (status != TN_OK) { return status; }
    if (target->used == 0) { return error_set(error, TN_ECORRUPT, "it has no contents"); }
    void *bytes = MAP_FAILED;
    if (ftruncate(target->file, (off_t)target->used) == 0) {
        bytes = mmap(NULL, (size_t)target->used, PROT_READ, MAP_PRIVATE, target->file, 0);
    }
    if (bytes == MAP_FAILED) {
        return files_error(error, errno, "read an unpacked file in", target->folder);
    }
    *out = (struct source_file){.bytes = bytes, .size = (size_t)target->used};
    return TN_OK;
}

/* Give the whole file its name. Without one, it is unpacked again next time. */
static void keep(const struct target *target)
{
    char file[64];
    if (target->place == NULL) { return; }
    (void)snprintf(file, sizeof file, "/proc/self/fd/%d", target->file);
    if (linkat(AT_FDCWD, file, AT_FDCWD, target->place, AT_SYMLINK_FOLLOW) == 0) { return; }
    log_debug("%s is not kept: %s", target->place, strerror(errno));
}

/* Beside the place, if a file can be created there. */
static void open_target(struct target *target, const char *place, char folder[static PATH_MAX])
{
    const char *slash = place != NULL ? strrchr(place, '/') : NULL;
    target->file = -1;
    if (slash != NULL && slash - place < PATH_MAX) {
        memcpy(folder, place, (size_t)(slash - place));
        folder[slash - place] = '\0';
        target->folder = folder;
        target->place = place;
        target->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    }
    if (target->file >= 0) { return; }
    target->place = NULL;
    target->folder = files_temporary_folder();
    target->file = open(target->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

enum tn_status unpack_file(const char *path, const char *place, struct source_file *file,
                           struct error *error)
{
    assert(unpack_is_packed(file->bytes, file->size));
    struct source_file unpacked = {0};
    char folder[PATH_MAX];
    struct target target = {.path = path, .reported_ms = clock_monotonic_ms()};
    open_target(&target, place, folder);
    enum tn_status status;
    if (target.file < 0) {
        status = files_error(error, errno, "create a temporary file in", target.folder);
    } else {
        status = fill(&target, file, &unpacked, error);
        if (status == TN_OK) { keep(&target); }
        (void)close(target.file); /* The mapping keeps it. */
    }
    source_file_close(file);
    if (status == TN_OK) {
        *file = unpacked;
        return TN_OK;
    }
    if (error == NULL) { return status == TN_ECORRUPT ? TN_EINVAL : status; }
    if (status == TN_ECORRUPT) { error->status = TN_EINVAL; }
    return error_context(error, "%s", path);
}
