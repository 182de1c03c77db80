/* chaos/shim/shim.c: finds the slot of this process. It uses system calls directly, because the
 * shim's own open() and read() might be called before the slot is known. */
#include "chaos/shim/shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/faults/process_name.h"

enum { COMMAND_LINE_MAX = 64 * 1024 };

struct fault_slot *_Atomic shim_slot;

void *shim_find(void *_Atomic *known, const char *name)
{
    void *found = atomic_load_explicit(known, memory_order_acquire);
    if (found == NULL) {
        found = dlsym(RTLD_NEXT, name);
        if (found == NULL) { abort(); }
        atomic_store_explicit(known, found, memory_order_release);
    }
    return found;
}

static bool find_name(char name[static FAULT_CONTROL_NAME_MAX])
{
    static char arguments[COMMAND_LINE_MAX];
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t size = 0;
    if (fd < 0) { return false; }
    while (size < sizeof arguments - 1) {
        long got = syscall(SYS_read, fd, arguments + size, sizeof arguments - 1 - size);
        if (got <= 0) { break; }
        size += (size_t)got;
    }
    (void)syscall(SYS_close, fd);
    return process_name(arguments, size, name);
}

static struct fault_control *map_control(const char *path)
{
    struct stat info;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) { return NULL; }
    void *map = MAP_FAILED;
    if (fstat((int)fd, &info) == 0 && (size_t)info.st_size >= sizeof(struct fault_control)) {
        map = mmap(NULL, sizeof(struct fault_control), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd,
                   0);
    }
    (void)syscall(SYS_close, fd);
    if (map == MAP_FAILED) { return NULL; }
    struct fault_control *control = map;
    if (control->magic == FAULT_CONTROL_MAGIC && control->version == FAULT_CONTROL_VERSION) {
        return control;
    }
    (void)munmap(map, sizeof *control);
    return NULL;
}

static __attribute__((constructor)) void start(void)
{
    char name[FAULT_CONTROL_NAME_MAX];
    const char *path = getenv(FAULTS_VARIABLE);
    if (path == NULL || *path == '\0' || !find_name(name)) { return; }
    struct fault_control *control = map_control(path);
    if (control == NULL) { return; }
    for (size_t i = 0; i < FAULT_CONTROL_SLOTS; i++) {
        if (strncmp(control->slots[i].name, name, FAULT_CONTROL_NAME_MAX) != 0) { continue; }
        atomic_store_explicit(&shim_slot, &control->slots[i], memory_order_release);
        return;
    }
    (void)munmap(control, sizeof *control);
}
