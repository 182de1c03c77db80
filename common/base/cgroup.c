#include "common/base/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"

enum { NUMBERS_BYTES = 64 };

/* The one or two numbers at the beginning of a file of a group; the count of those that it has.
 * Without a limit, files have "max" or -1. */
static int read_numbers(const char *group, const char *name, int64_t *first, int64_t *second)
{
    char path[PATH_MAX], text[NUMBERS_BYTES];
    const int length = snprintf(path, sizeof path, "%s/%s", group, name);
    if (length < 0 || (size_t)length >= sizeof path) { return 0; }
    FILE *file = fopen(path, "re"); /* Not files_read(): the kernel gives these files the size 0. */
    if (file == NULL) { return 0; }
    const bool read = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    return read ? sscanf(text, "%" SCNd64 " %" SCNd64, first, second) : 0;
}

static void limit_memory(struct cgroup_limits *limits, int64_t bytes)
{
    if (bytes <= 0) { return; }
    const bool first = limits->memory_bytes == 0;
    limits->memory_bytes = first ? (uint64_t)bytes : u64_min(limits->memory_bytes, (uint64_t)bytes);
}

/* `quota` of each `period`, both in microseconds, summed over all processors. */
static void limit_processors(struct cgroup_limits *limits, int64_t quota, int64_t period)
{
    if (quota <= 0 || period <= 0) { return; }
    const uint64_t whole = u64_max(1, u64_min((uint64_t)(quota / period), UINT32_MAX));
    const bool first = limits->processors == 0;
    limits->processors = (uint32_t)(first ? whole : u64_min(limits->processors, whole));
}

/* Each hierarchy has the files of its own version and controllers. */
static void apply_group(struct cgroup_limits *limits, const char *group)
{
    int64_t first, second;
    if (read_numbers(group, "memory.max", &first, &second) >= 1) { limit_memory(limits, first); }
    if (read_numbers(group, "memory.limit_in_bytes", &first, &second) >= 1) {
        limit_memory(limits, first);
    }
    if (read_numbers(group, "cpu.max", &first, &second) == 2) {
        limit_processors(limits, first, second);
    }
    int64_t quota;
    if (read_numbers(group, "cpu.cfs_quota_us", &quota, &second) >= 1 &&
        read_numbers(group, "cpu.cfs_period_us", &first, &second) >= 1) {
        limit_processors(limits, quota, first);
    }
}

/* A group and all those around it. In a container the path of the group may be that on its host,
 * so that only the root of the hierarchy exists here. */
static void apply_path(struct cgroup_limits *limits, const char *root, const char *controller,
                       const char *path)
{
    char group[PATH_MAX];
    const int mount = snprintf(group, sizeof group, "%s/%s", root, controller);
    if (mount < 0 || (size_t)mount >= sizeof group) { return; }
    const size_t room = sizeof group - (size_t)mount;
    const int length = snprintf(group + mount, room, "%s", path);
    if (length < 0 || (size_t)length >= room) { return; }
    for (;;) {
        apply_group(limits, group);
        char *last = strrchr(group + mount, '/');
        if (last == NULL) { return; }
        *last = '\0';
    }
}

/* A line of /proc/PID/cgroup: "4:cpu,cpuacct:/path" in version 1, "0::/path" in version 2. */
static void apply_line(struct cgroup_limits *limits, const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL) { return; }
    *controllers++ = '\0';
    *path++ = '\0';
    if (*controllers == '\0') {
        apply_path(limits, root, "", path);
        apply_path(limits, root, "unified", path); /* Beside version 1. */
        return;
    }
    char *rest;
    for (char *name = strtok_r(controllers, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        if (strcmp(name, "memory") == 0 || strcmp(name, "cpu") == 0) {
            apply_path(limits, root, name, path);
        }
    }
}

void cgroup_limits_of(const char *membership, const char *root, struct cgroup_limits *out)
{
    char line[PATH_MAX];
    *out = (struct cgroup_limits){0};
    FILE *file = fopen(membership, "re");
    if (file == NULL) { return; }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        apply_line(out, root, line);
    }
    (void)fclose(file);
}

void cgroup_limits_read(struct cgroup_limits *out)
{
    cgroup_limits_of("/proc/self/cgroup", "/sys/fs/cgroup", out);
}
