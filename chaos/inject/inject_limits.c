/* chaos/inject/inject_limits.c: resource limits: how much more a process may map or open. */
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "chaos/cluster/proc.h"
#include "chaos/inject/injector.h"

enum { DESCRIPTORS_MAX = 4096, STATUS_MAX = 8192, KIB = 1024, MIB = 1024 * 1024 };

struct limited {
    pid_t pid;
    int resource; /* RLIMIT_AS or RLIMIT_NOFILE. */
    struct rlimit before;
};

/* The size of its address space; 0: it has ended. */
static uint64_t mapped_bytes(pid_t pid)
{
    static const char key[] = "\nVmSize:";
    char status[STATUS_MAX];
    assert(pid > 0);
    if (proc_read(pid, "status", status, sizeof status) <= 0) { return 0; }
    const char *line = strstr(status, key);
    return line != NULL ? strtoull(line + strlen(key), NULL, 10) * KIB : 0;
}

/* The limit that leaves `more` descriptors free: a new file gets the lowest free number. 0: the
 * process has ended. */
static uint64_t descriptors_with(pid_t pid, uint64_t more)
{
    char path[64];
    bool used[DESCRIPTORS_MAX] = {false};
    assert(pid > 0);
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    if (folder == NULL) { return 0; }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        unsigned long number = strtoul(entry->d_name, NULL, 10);
        bool is_number = isdigit((unsigned char)entry->d_name[0]);
        if (is_number && number < DESCRIPTORS_MAX) { used[number] = true; }
    }
    closedir(folder);
    uint64_t limit = 0;
    while (limit < DESCRIPTORS_MAX && (used[limit] || more > 0)) { more -= used[limit++] ? 0 : 1; }
    return limit;
}

static enum tn_status refused(const char *name, struct error *error)
{
    if (errno == ESRCH) { return error_set(error, TN_EAGAIN, "%s is not running", name); }
    return error_set(error, TN_ENOTSUP, "prlimit: %s", strerror(errno));
}

static enum tn_status begin_limit(struct target_cluster *cluster, struct active_fault *fault,
                                  struct error *error)
{
    struct limited *limited = fault->state;
    assert(fault->targets.count > 0);
    const struct component *component = fault->targets.components[0];
    bool memory = fault->injection.fault == FAULT_MEMORY;
    uint64_t value = fault->injection.value > 0 ? (uint64_t)fault->injection.value : 0, bound = 0;
    (void)cluster;
    *limited =
        (struct limited){.pid = component->pid, .resource = memory ? RLIMIT_AS : RLIMIT_NOFILE};
    if (component->pid > 0) {
        bound = memory ? mapped_bytes(component->pid) : descriptors_with(component->pid, value);
    }
    if (bound == 0) { return error_set(error, TN_EAGAIN, "%s is not running", component->name); }
    if (memory) { bound += value * MIB; }
    if (prlimit(component->pid, limited->resource, NULL, &limited->before) != 0) {
        return refused(component->name, error);
    }
    if (bound > limited->before.rlim_max) { bound = limited->before.rlim_max; }
    const struct rlimit now = {.rlim_cur = bound, .rlim_max = limited->before.rlim_max};
    if (prlimit(component->pid, limited->resource, &now, NULL) != 0) {
        return refused(component->name, error);
    }
    fault->targets.count = 1;
    fault_describe(fault, "%s (pid %ld) can have %" PRIu64 " %s, %.0f more than now",
                   component->name, (long)component->pid, memory ? bound / MIB : bound,
                   memory ? "MiB of addresses" : "descriptors", fault->injection.value);
    return TN_OK;
}

static void end_limit(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct limited *limited = fault->state;
    assert(limited->pid > 0);
    bool same = fault->targets.components[0]->pid == limited->pid;
    (void)cluster;
    if (same) { (void)prlimit(limited->pid, limited->resource, &limited->before, NULL); }
    fault_describe(fault, "%s",
                   same ? "the process survived; its limit was removed" : "the process had died");
}

const struct injector injector_limit = {
    .state_bytes = sizeof(struct limited), .begin = begin_limit, .end = end_limit};
