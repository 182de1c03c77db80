#include "data/source/offsets.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/files.h"

enum { FIRST_ROOM = 1 << 12 };
#define MEMORY_ROOM (UINT64_C(1) << 21) /* 16 MiB: more are in a file. */

static size_t bytes_of(uint64_t room)
{
    return (size_t)room * sizeof(uint64_t);
}

/* The space is reserved first: a full disk is an error here, and not a signal at a later write. */
static enum tn_status grow_file(struct offsets *offsets, uint64_t room, struct error *error)
{
    const char *folder = files_temporary_folder();
    if (!offsets->is_file) {
        offsets->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (offsets->file < 0) {
            return files_error(error, errno, "create the index of rows in", folder);
        }
    }
    const int failure = posix_fallocate(offsets->file, 0, (off_t)bytes_of(room));
    void *memory = failure != 0 ? MAP_FAILED
                                : mmap(NULL, bytes_of(room), PROT_READ | PROT_WRITE, MAP_SHARED,
                                       offsets->file, 0);
    if (memory == MAP_FAILED) {
        const int number = failure != 0 ? failure : errno;
        if (!offsets->is_file) { (void)close(offsets->file); }
        return files_error(error, number, "extend the index of rows in", folder);
    }
    uint64_t *at = memory;
    if (offsets->is_file) {
        (void)munmap(offsets->at, bytes_of(offsets->room));
    } else {
        for (uint64_t i = 0; i < offsets->count; i++) { at[i] = offsets->at[i]; }
        free(offsets->at);
    }
    offsets->at = at;
    offsets->room = room;
    offsets->is_file = true;
    return TN_OK;
}

static enum tn_status grow(struct offsets *offsets, struct error *error)
{
    const uint64_t room = offsets->room == 0 ? FIRST_ROOM : 2 * offsets->room;
    if (room > MEMORY_ROOM) { return grow_file(offsets, room, error); }
    uint64_t *at = realloc(offsets->at, bytes_of(room));
    if (at == NULL) { return error_set(error, TN_ENOMEM, "out of memory for the index of rows"); }
    offsets->at = at;
    offsets->room = room;
    return TN_OK;
}

enum tn_status offsets_add(struct offsets *offsets, uint64_t offset, struct error *error)
{
    assert(offsets->count <= offsets->room);
    if (offsets->count == offsets->room) {
        enum tn_status status = grow(offsets, error);
        if (status != TN_OK) { return status; }
    }
    offsets->at[offsets->count++] = offset;
    return TN_OK;
}

void offsets_free(struct offsets *offsets)
{
    if (offsets->is_file) {
        (void)munmap(offsets->at, bytes_of(offsets->room));
        (void)close(offsets->file);
    } else {
        free(offsets->at);
    }
    *offsets = (struct offsets){0};
}
