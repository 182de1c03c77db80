#include "common/faults/fault_control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/files.h"

static enum tn_status map(int fd, const char *path, struct fault_control **out, struct error *error)
{
    void *memory =
        mmap(NULL, sizeof(struct fault_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) { return files_error(error, errno, "map", path); }
    *out = memory;
    return TN_OK;
}

enum tn_status fault_control_create(const char *path, const char *const *names, uint32_t count,
                                    struct fault_control **out, struct error *error)
{
    assert(count <= FAULT_CONTROL_SLOTS);
    *out = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) { return files_error(error, errno, "create", path); }
    /* Allocated now: a page that cannot be allocated later would raise SIGBUS. */
    int failed = posix_fallocate(fd, 0, sizeof(struct fault_control));
    enum tn_status status =
        failed ? files_error(error, failed, "write", path) : map(fd, path, out, error);
    close(fd);
    if (status != TN_OK) { return status; }
    struct fault_control *control = *out;
    assert(control != NULL);
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        assert(length < FAULT_CONTROL_NAME_MAX);
        memcpy(control->slots[i].name, names[i], length);
    }
    control->version = FAULT_CONTROL_VERSION;
    control->magic = FAULT_CONTROL_MAGIC;
    return TN_OK;
}

enum tn_status fault_control_open(const char *path, struct fault_control **out, struct error *error)
{
    *out = NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) { return files_error(error, errno, "open", path); }
    off_t size = lseek(fd, 0, SEEK_END);
    enum tn_status status =
        size == (off_t)sizeof(struct fault_control)
            ? map(fd, path, out, error)
            : error_set(error, TN_ECORRUPT, "%s is not a fault control file", path);
    close(fd);
    if (status != TN_OK) { return status; }
    assert(*out != NULL);
    if ((*out)->magic == FAULT_CONTROL_MAGIC && (*out)->version == FAULT_CONTROL_VERSION) {
        return TN_OK;
    }
    fault_control_close(*out);
    *out = NULL;
    return error_set(error, TN_ECORRUPT, "%s is not a fault control file of this version", path);
}

void fault_control_close(struct fault_control *control)
{
    if (control != NULL) { (void)munmap(control, sizeof *control); }
}

struct fault_slot *fault_control_slot(struct fault_control *control, const char *name)
{
    assert(name != NULL);
    for (int i = 0; control != NULL && i < FAULT_CONTROL_SLOTS; i++) {
        if (strncmp(control->slots[i].name, name, FAULT_CONTROL_NAME_MAX) == 0) {
            return &control->slots[i];
        }
    }
    return NULL;
}

uint64_t fault_slot_bit(const struct fault_control *control, const struct fault_slot *slot)
{
    assert(slot >= control->slots && slot < control->slots + FAULT_CONTROL_SLOTS);
    return (uint64_t)1 << (slot - control->slots);
}

struct fault_point *fault_control_arm(struct fault_control *control, const char *name,
                                      enum point_action action, uint64_t slots, uint32_t countdown,
                                      uint32_t stall_ms)
{
    size_t length = strlen(name);
    assert(length < FAULT_CONTROL_POINT_MAX && countdown > 0);
    struct fault_point *point = control->points;
    while (point < control->points + FAULT_CONTROL_POINTS && point->taken != 0) { point++; }
    if (point == control->points + FAULT_CONTROL_POINTS) { return NULL; }
    memset(point->name, 0, sizeof point->name);
    memcpy(point->name, name, length);
    point->taken = 1;
    point->slots = slots;
    point->action = action;
    point->stall_ms = stall_ms;
    point->countdown = countdown;
    point->done = 0;
    point->armed = 1;
    return point;
}

void fault_point_release(struct fault_point *point)
{
    assert(point->taken != 0);
    point->armed = 0;
    point->taken = 0;
}
