#include "data/formats/mapping.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static enum tn_status map(int file, const char *path, struct mapping *out, struct error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0) {
        return error_set(error, TN_EIO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) {
        return error_set(error, TN_EINVAL, "%s: not a regular file", path);
    }
    if (about.st_size == 0) { return error_set(error, TN_EINVAL, "%s: the file is empty", path); }
    void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        enum tn_status status = errno == ENOMEM ? TN_ENOMEM : TN_EIO;
        return error_set(error, status, "%s: cannot map the file: %s", path, strerror(errno));
    }
    *out = (struct mapping){.bytes = bytes, .size = (size_t)about.st_size};
    return TN_OK;
}

enum tn_status mapping_open(const char *path, struct mapping *out, struct error *error)
{
    assert(path != NULL);
    *out = (struct mapping){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        enum tn_status status = errno == ENOENT ? TN_ENOENT : errno == EACCES ? TN_EINVAL : TN_EIO;
        return error_set(error, status, "%s: cannot open: %s", path, strerror(errno));
    }
    enum tn_status status = map(file, path, out, error);
    (void)close(file); /* Nothing was written. */
    return status;
}

void mapping_close(struct mapping *mapping)
{
    if (mapping->bytes != NULL) { (void)munmap((void *)(uintptr_t)mapping->bytes, mapping->size); }
    *mapping = (struct mapping){0};
}
