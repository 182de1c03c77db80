#include "common/base/memory_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

static void *map(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int memory_file_create(const char *name, size_t bytes, void **memory)
{
    assert(bytes > 0);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) { return -1; }
    if (ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, SIZE_SEALS | F_SEAL_SEAL) == 0) {
        *memory = map(fd, bytes);
        if (*memory != NULL) { return fd; }
    }
    const int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

void *memory_file_map(int fd, size_t bytes)
{
    assert(bytes > 0);
    struct stat file;
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SIZE_SEALS) != SIZE_SEALS || fstat(fd, &file) != 0 ||
        file.st_size != (off_t)bytes) {
        errno = EINVAL;
        return NULL;
    }
    return map(fd, bytes);
}
