#include "chaos/cluster/proc.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/minmax.h"

enum { PROC_PATH_MAX = 64, STAT_MAX = 512, STATUS_MAX = 8192, ENVIRONMENT_MAX = 256 * 1024 };

ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size)
{
    char path[PROC_PATH_MAX];
    size_t used = 0;
    ssize_t got;
    assert(size > 1);
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) { return -1; }
    while ((got = read(fd, text + used, size - 1 - used)) > 0) { used += (size_t)got; }
    (void)close(fd);
    if (got < 0 && used == 0) { return -1; }
    text[used] = '\0';
    return (ssize_t)used;
}

char proc_state(pid_t pid)
{
    char text[STAT_MAX];
    if (pid <= 0 || proc_read(pid, "stat", text, sizeof text) <= 0) { return 0; }
    const char *state = strrchr(text, ')'); /* The name in parentheses may hold any character. */
    if (state == NULL || state[1] != ' ' || state[2] == 'Z' || state[2] == 'X') { return 0; }
    return state[2];
}

/* The number after "\nNAME:". False: there is none; a zombie, for example, has no memory. */
static bool read_number(const char *status, const char *name, uint64_t *out)
{
    const char *at = strstr(status, name);
    if (at == NULL) { return false; }
    char *end;
    *out = strtoull(at + strlen(name), &end, 10);
    return end != at + strlen(name);
}

static bool count_descriptors(pid_t pid, uint32_t *out)
{
    char path[PROC_PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (dir == NULL) { return false; }
    *out = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) { *out += entry->d_name[0] != '.'; }
    (void)closedir(dir);
    return true;
}

bool proc_usage(pid_t pid, struct proc_usage *out)
{
    char status[STATUS_MAX];
    uint64_t threads;
    assert(out != NULL);
    if (pid <= 0 || proc_read(pid, "status", status, sizeof status) <= 0) { return false; }
    if (!read_number(status, "\nVmRSS:", &out->rss_kib)) { return false; }
    if (!read_number(status, "\nThreads:", &threads)) { return false; }
    out->threads = (uint32_t)threads;
    return count_descriptors(pid, &out->descriptors);
}

static bool is_marked(pid_t pid, const char *mark, char *environment)
{
    ssize_t size = proc_read(pid, "environ", environment, ENVIRONMENT_MAX);
    for (ssize_t at = 0; at < size;) {
        if (strcmp(environment + at, mark) == 0) { return true; }
        at += (ssize_t)strlen(environment + at) + 1;
    }
    return false;
}

static int by_number(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return left < right ? -1 : left > right;
}

size_t proc_find_marked(const char *mark, pid_t *out, size_t limit)
{
    size_t count = 0;
    assert(mark != NULL);
    assert(out != NULL || limit == 0);
    DIR *dir = opendir("/proc");
    char *environment = malloc(ENVIRONMENT_MAX);
    if (dir == NULL || environment == NULL) { goto end; }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *rest;
        long number = strtol(entry->d_name, &rest, 10);
        if (*rest != '\0' || number <= 0 || number == (long)getpid()) { continue; }
        if (!is_marked((pid_t)number, mark, environment)) { continue; }
        if (count < limit) { out[count] = (pid_t)number; }
        count++;
    }
end:
    free(environment);
    if (dir != NULL) { (void)closedir(dir); }
    size_t kept = size_min(count, limit);
    if (kept > 1) { qsort(out, kept, sizeof *out, by_number); }
    return count;
}

void proc_command(pid_t pid, char *text, size_t size)
{
    ssize_t got = proc_read(pid, "cmdline", text, size);
    if (got <= 0) { got = 0; }
    for (ssize_t i = 0; i + 1 < got; i++) {
        if (text[i] == '\0') { text[i] = ' '; }
    }
    text[got] = '\0';
}
