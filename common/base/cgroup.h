/*
 * common/base/cgroup.h: what the control groups of a process let it use (cgroups(7)), in version 1
 * and 2. Containers and services of systemd are limited in this way. Threads: any. Blocking: on
 * files of the system only.
 */
#ifndef COMMON_BASE_CGROUP_H
#define COMMON_BASE_CGROUP_H

#include <stdint.h>

/* 0: no limit. */
struct cgroup_limits {
    uint64_t memory_bytes;
    uint32_t processors; /* That can be busy all the time: a quota of 2.5 is 2, one of 0.5 is 1. */
};

/* The tightest limits of the groups of this process and of all groups around them. */
void cgroup_limits_read(struct cgroup_limits *out);

/* The limits of the groups in the file `membership` (proc(5), /proc/PID/cgroup), whose hierarchies
 * are mounted in the folder `root`. A file that cannot be read sets no limit. */
void cgroup_limits_of(const char *membership, const char *root, struct cgroup_limits *out);

#endif
