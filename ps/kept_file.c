#include "ps/kept_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/minmax.h"

enum {
    SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
    PAGE_BYTES = 4096,
    HUGE_PAGE_BYTES = 2 << 20,
    ROWS_BLOCK_BYTES = 32 << 20,
    ROWS_BLOCKS_LEAST = 1024, /* Tables that are small have one each, and more while they load. */
};

/* To exceed it would end the process, by SIGXFSZ. */
static bool is_above_limit(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

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
    if (is_above_limit(bytes)) {
        return error_set(error, TN_EINVAL,
                         "its memory of %zu bytes exceeds the limit of the size of files: raise it "
                         "(ulimit -f unlimited)",
                         bytes);
    }
    if (ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0) { return TN_OK; }
    return error_set(error, TN_EIO, "its memory of %zu bytes: %s", bytes, strerror(errno));
}

/* Map the file from a multiple of the size of a huge page on, without which it can have none. */
static void *map_aligned(int fd, size_t bytes)
{
    const size_t mask = HUGE_PAGE_BYTES - 1;
    char *space = mmap(NULL, bytes + HUGE_PAGE_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) { return MAP_FAILED; }
    const size_t before = (HUGE_PAGE_BYTES - ((uintptr_t)space & mask)) & mask;
    char *begin = space + before;
    void *memory = mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (memory == MAP_FAILED) {
        const int cause = errno;
        (void)munmap(space, bytes + HUGE_PAGE_BYTES);
        errno = cause;
        return MAP_FAILED;
    }
    const size_t mapped = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (before > 0) { (void)munmap(space, before); }
    (void)munmap(begin + mapped, HUGE_PAGE_BYTES - before - (mapped - bytes));
    return memory;
}

void *kept_file_map(int fd, size_t bytes, struct error *error)
{
    assert(fd >= 0 && bytes > 0);
    void *memory = MAP_FAILED;
    if (give_size(fd, bytes, error) == TN_OK) {
        memory = map_aligned(fd, bytes);
        if (memory == MAP_FAILED) {
            (void)error_set(error, TN_EIO, "its memory of %zu bytes: %s", bytes, strerror(errno));
        }
    }
    close(fd);
    if (memory == MAP_FAILED) { return NULL; }
    /* A hint, which most systems ignore for such files: there the slots are collapsed as they are
     * used (common/base/buffer.c). */
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void kept_file_unmap(void *memory, size_t bytes)
{
    (void)munmap(memory, bytes);
}

/* At least half of a block is used for cells, so twice the memory suffices: a block that is never
 * used takes none. */
struct cell_arena_size kept_file_rows(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t blocks = 0;
    if (pages > 0 && page_bytes > 0) {
        blocks = 2 * ((uint64_t)pages * (uint64_t)page_bytes / ROWS_BLOCK_BYTES);
    }
    return (struct cell_arena_size){
        .blocks = (uint32_t)u64_min(UINT32_MAX, blocks + ROWS_BLOCKS_LEAST),
        .block_bytes = ROWS_BLOCK_BYTES,
    };
}
