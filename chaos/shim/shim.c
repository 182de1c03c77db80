/* chaos/shim/shim.c: which slot is this process's. Raw system calls only: our own write() and the
 * like may be called while this still looks. */
#include "chaos/shim/shim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COMMAND_LINE_MAX = 64 * 1024, EVENT_TEXT_MAX = 256 };

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

/* ------------------------------------------------------------- who we are */

static char command_line[COMMAND_LINE_MAX];
static const char *words[EVENT_TEXT_MAX];

/* The words of our command line. */
static size_t read_words(void)
{
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t size = 0, count = 0;
    if (fd < 0) { return 0; }
    while (size < sizeof command_line - 1) {
        long got = syscall(SYS_read, fd, command_line + size, sizeof command_line - 1 - size);
        if (got <= 0) { break; }
        size += (size_t)got;
    }
    (void)syscall(SYS_close, fd);
    for (size_t at = 0; at < size && count < EVENT_TEXT_MAX; at += strlen(command_line + at) + 1) {
        words[count++] = command_line + at;
    }
    return count;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* NAME ":" and the first `length` bytes of `number`. False: it would be no name of a slot. */
static bool make_name(char name[static FAULT_CONTROL_NAME_MAX], const char *kind,
                      const char *number, size_t length)
{
    size_t used = strlen(kind);
    if (length == 0 || used + 1 + length >= FAULT_CONTROL_NAME_MAX) { return false; }
    memcpy(name, kind, used);
    name[used] = ':';
    memcpy(name + used + 1, number, length);
    name[used + 1 + length] = '\0';
    return true;
}

/* `tanist ps ... --index 1 ...` is "ps:1"; `tanist run` and `tanist agent` are "agent". */
static bool name_of_tanist(size_t count, char name[static FAULT_CONTROL_NAME_MAX])
{
    static const char *const roles[] = {"coordinator", "ps", "worker"};
    static const char flag[] = "--index";
    const size_t length = sizeof flag - 1;
    if (strcmp(words[1], "run") == 0 || strcmp(words[1], "agent") == 0) {
        memcpy(name, "agent", sizeof "agent");
        return true;
    }
    bool known = false;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        known = known || strcmp(words[1], roles[i]) == 0;
    }
    for (size_t i = 2; known && i < count; i++) {
        if (strncmp(words[i], flag, length) != 0) { continue; }
        const char *number = words[i] + length;
        if (*number == '=') {
            number++;
        } else if (*number == '\0' && i + 1 < count) {
            number = words[i + 1];
        } else {
            continue;
        }
        return make_name(name, words[1], number, strlen(number));
    }
    return false;
}

/* `java ... DIR/zookeeper/2/zoo.cfg` is "zookeeper:2". */
static bool name_of_server(size_t count, char name[static FAULT_CONTROL_NAME_MAX])
{
    static const char folder[] = "/zookeeper/", file[] = "/zoo.cfg";
    for (size_t i = 1; i < count; i++) {
        size_t length = strlen(words[i]);
        if (length < sizeof file || strcmp(words[i] + length - (sizeof file - 1), file) != 0) {
            continue;
        }
        const char *end = words[i] + length - (sizeof file - 1), *number = end;
        while (number > words[i] && number[-1] >= '0' && number[-1] <= '9') { number--; }
        if (number < words[i] + sizeof folder - 1) { continue; }
        if (memcmp(number - (sizeof folder - 1), folder, sizeof folder - 1) != 0) { continue; }
        return make_name(name, "zookeeper", number, (size_t)(end - number));
    }
    return false;
}

static bool find_name(char name[static FAULT_CONTROL_NAME_MAX])
{
    size_t count = read_words();
    if (count < 2) { return false; }
    const char *program = last_part(words[0]);
    if (strcmp(program, "tanist") == 0) { return name_of_tanist(count, name); }
    return strcmp(program, "java") == 0 && name_of_server(count, name);
}

/* --------------------------------------------------------- the control file */

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
    if (path == NULL || !*path || !find_name(name)) { return; }
    struct fault_control *control = map_control(path);
    if (control == NULL) { return; }
    for (size_t i = 0; i < FAULT_CONTROL_SLOTS; i++) {
        if (strncmp(control->slots[i].name, name, FAULT_CONTROL_NAME_MAX) != 0) { continue; }
        atomic_store_explicit(&shim_slot, &control->slots[i], memory_order_release);
        return;
    }
    (void)munmap(control, sizeof *control);
}
