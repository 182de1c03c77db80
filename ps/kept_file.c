#include "ps/kept_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static enum tn_status give_size(int fd, size_t bytes, struct error *error)
{
    struct stat found;
    if (fstat(fd, &found) != 0) {
        return error_set(error, TN_EIO, "its memory: %s", strerror(errno));
    }
    /* The former process may have been killed between the two calls. */
    const int seals = fcntl(fd, F_GET_SEALS);
    const bool sealed = seals >= 0 && (seals & SEALS) == SEALS;
    if (sealed && (uint64_t)found.st_size == bytes) { return TN_OK; }
    if (sealed) {
        return error_set(error, TN_EINVAL, "its memory has %" PRIu64 " bytes instead of %zu",
                         (uint64_t)found.st_size, bytes);
    }
    if (ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0) { return TN_OK; }
    return error_set(error, TN_EIO, "its memory of %zu bytes: %s", bytes, strerror(errno));
}

void *kept_file_map(int fd, size_t bytes, struct error *error)
{
    assert(fd >= 0 && bytes > 0);
    void *memory = MAP_FAILED;
    if (give_size(fd, bytes, error) == TN_OK) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) {
            (void)error_set(error, TN_EIO, "its memory of %zu bytes: %s", bytes, strerror(errno));
        }
    }
    close(fd);
    if (memory == MAP_FAILED) { return NULL; }
    /* A hint, which most systems ignore for such files. */
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void kept_file_unmap(void *memory, size_t bytes)
{
    (void)munmap(memory, bytes);
}
