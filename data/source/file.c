#include "data/source/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum tn_status refuse(const char *path, struct error *error)
{
    const enum tn_status status = errno == ENOENT   ? TN_ENOENT
                                  : errno == ENOMEM ? TN_ENOMEM
                                  : errno == EIO    ? TN_EIO
                                                    : TN_EINVAL;
    return error_set(error, status, "cannot read %s: %s", path, strerror(errno));
}

static enum tn_status map(int file, const char *path, struct source_file *out, struct error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0) { return refuse(path, error); }
    if (!S_ISREG(about.st_mode)) {
        return error_set(error, TN_EINVAL, "%s is not a regular file", path);
    }
    if (about.st_size == 0) { return error_set(error, TN_EINVAL, "%s is empty", path); }
    const size_t size = (size_t)about.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) { return refuse(path, error); }
    *out = (struct source_file){.bytes = bytes, .size = size};
    return TN_OK;
}

enum tn_status source_file_open(const char *path, struct source_file *out, struct error *error)
{
    assert(path != NULL);
    *out = (struct source_file){0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) { return refuse(path, error); }
    enum tn_status status = map(file, path, out, error);
    (void)close(file); /* Nothing was written. */
    return status;
}

void source_file_close(struct source_file *file)
{
    if (file->bytes != NULL) { (void)munmap((void *)(uintptr_t)file->bytes, file->size); }
    *file = (struct source_file){0};
}
