#include "common/base/memory_alias.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.14; the headers of the C library may be older. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* With an old size of 0, mremap() maps shared pages at the new address, too. */
static bool alias(void *ctx, const struct buffer *body, size_t offset, void *to, size_t bytes,
                  bool writable)
{
    (void)ctx;
    assert(offset <= body->size && bytes <= body->size - offset);
    void *from = (char *)body->data + offset;
    if (mremap(from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to) { return false; }
    if (!writable && mprotect(to, bytes, PROT_READ) != 0) { return false; }
    /* A hint: all at once instead of one by one. */
    (void)madvise(to, bytes, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
    return true;
}

static bool unalias(void *ctx, void *to, size_t bytes)
{
    (void)ctx;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(to, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != to) { return false; }
    (void)madvise(to, bytes, MADV_HUGEPAGE); /* As in memory_array_create(). */
    return true;
}

struct memory_port memory_port_of_machine(void)
{
    const long page = sysconf(_SC_PAGESIZE);
    return (struct memory_port){
        .page_bytes = page > 0 ? (size_t)page : 0,
        .alias = alias,
        .unalias = unalias,
    };
}

struct array {
    void *memory;
    size_t bytes;
};

static void release(void *ctx)
{
    struct array *array = ctx;
    (void)munmap(array->memory, array->bytes);
    free(array);
}

struct buffer *memory_array_create(size_t bytes)
{
    assert(bytes > 0);
    struct array *array = malloc(sizeof *array);
    if (array == NULL) { return NULL; }
    array->bytes = bytes;
    array->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct buffer *buffer =
        array->memory != MAP_FAILED ? buffer_wrap(array->memory, bytes, release, array) : NULL;
    if (buffer != NULL) {
        /* A hint, for pages that are not replaced. */
        (void)madvise(array->memory, bytes, MADV_HUGEPAGE);
        return buffer;
    }
    if (array->memory != MAP_FAILED) { (void)munmap(array->memory, bytes); }
    free(array);
    return NULL;
}
