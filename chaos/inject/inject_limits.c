/* chaos/inject/inject_limits.c: a process may have only so much more: address space, open files. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "chaos/cluster/targets.h"

enum { NUMBERS = 4096, LEAST_MS = 500, KIB = 1024, MIB = 1024 * 1024 };

struct limited {
    pid_t pid;
    struct rlimit before;
};

/* Its address space now, in bytes; 0: it has ended. */
static uint64_t mapped_bytes(pid_t pid)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) { return 0; }
    while (kib == 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmSize:", 7) == 0) { kib = strtoull(line + 7, NULL, 10); }
    }
    fclose(file);
    return kib * KIB;
}

/* The limit under which `more` descriptors are free: a new file gets the lowest free number.
 * 0: it has ended. */
static uint64_t descriptors_with(pid_t pid, uint64_t more)
{
    char path[64];
    bool used[NUMBERS] = {false};
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    if (folder == NULL) { return 0; }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        unsigned long number = strtoul(entry->d_name, NULL, 10);
        if (isdigit((unsigned char)entry->d_name[0]) && number < NUMBERS) { used[number] = true; }
    }
    closedir(folder);
    uint64_t limit = 0;
    while (limit < NUMBERS && (used[limit] || more > 0)) { more -= used[limit++] ? 0 : 1; }
    return limit;
}

/* Why prlimit() failed: its process may have ended. */
static enum tn_status refused(const char *whom, struct error *error)
{
    if (errno == ESRCH) { return error_set(error, TN_EAGAIN, "%s is not running", whom); }
    return error_set(error, TN_ENOTSUP, "prlimit: %s", strerror(errno));
}

static enum tn_status limit(const struct injection *injection, struct limited *limited,
                            struct rlimit *now, struct error *error)
{
    bool memory = injection->fault == FAULT_MEMORY;
    uint64_t value = injection->value > 0 ? (uint64_t)injection->value : 0;
    uint64_t bound = memory ? mapped_bytes(limited->pid) : descriptors_with(limited->pid, value);
    if (bound == 0) { return error_set(error, TN_EAGAIN, "%s is not running", injection->whom); }
    if (memory) { bound += value * MIB; }
    if (prlimit(limited->pid, memory ? RLIMIT_AS : RLIMIT_NOFILE, NULL, &limited->before) != 0) {
        return refused(injection->whom, error);
    }
    *now = (struct rlimit){.rlim_cur = bound, .rlim_max = limited->before.rlim_max};
    if (bound > now->rlim_max) { now->rlim_cur = now->rlim_max; }
    if (prlimit(limited->pid, memory ? RLIMIT_AS : RLIMIT_NOFILE, now, NULL) == 0) { return TN_OK; }
    return refused(injection->whom, error);
}

static enum tn_status begin_limit(struct target_cluster *cluster, struct strike *strike,
                                  struct error *error)
{
    struct rlimit now;
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    const struct place *place = target_cluster_place(cluster, strike->targets[0]);
    if (place == NULL || place->pid <= 0) {
        return error_set(error, TN_EAGAIN, "%s is not running", strike->targets[0]);
    }
    struct limited *limited = calloc(1, sizeof *limited);
    if (limited == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    limited->pid = place->pid;
    status = limit(&strike->injection, limited, &now, error);
    if (status != TN_OK) {
        free(limited);
        return status;
    }
    if (strike->injection.for_ms == 0) { strike->injection.for_ms = LEAST_MS; }
    strike->target_count = 1;
    strike->state = limited;
    bool memory = strike->injection.fault == FAULT_MEMORY;
    snprintf(strike->text, sizeof strike->text, "%s (pid %ld) may have %llu %s, %.0f more than now",
             place->name, (long)place->pid,
             (unsigned long long)(memory ? now.rlim_cur / MIB : now.rlim_cur),
             memory ? "MiB of addresses" : "descriptors", strike->injection.value);
    return TN_OK;
}

static void end_limit(struct target_cluster *cluster, struct strike *strike)
{
    struct limited *limited = strike->state;
    const struct place *place = target_cluster_place(cluster, strike->targets[0]);
    bool same = place != NULL && place->pid == limited->pid;
    int resource = strike->injection.fault == FAULT_MEMORY ? RLIMIT_AS : RLIMIT_NOFILE;
    if (same) { (void)prlimit(limited->pid, resource, &limited->before, NULL); }
    snprintf(strike->text, sizeof strike->text, "%s",
             same ? "it lived through it; the limit is gone"
                  : "it died meanwhile, and its limit with it");
    free(limited);
    strike->state = NULL;
}

const struct injector injector_limit = {.begin = begin_limit, .end = end_limit};
