#include "common/net/loan_locks.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool loan_locks_held(int fd, off_t first, off_t count)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first, .l_len = count};
    assert(fd >= 0);
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

int loan_locks_open(int fd, off_t position)
{
    char path[32];
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = position, .l_len = 1};
    assert(fd >= 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int locked = open(path, O_RDONLY | O_CLOEXEC);
    if (locked >= 0 && fcntl(locked, F_OFD_SETLK, &lock) != 0) {
        close(locked);
        locked = -1;
    }
    return locked;
}
