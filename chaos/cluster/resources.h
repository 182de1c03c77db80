/*
 * chaos/cluster/resources.h: what a process uses, and which processes belong to a run, read from
 * /proc.
 *
 * Threads: any. Blocking: reads /proc, some 10 us a process.
 */
#ifndef CHAOS_CLUSTER_RESOURCES_H
#define CHAOS_CLUSTER_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MARKED_MAX = 512 };

struct resources {
    uint64_t rss_kib; /* Resident memory. */
    uint32_t descriptors, threads;
};

/* False: there is no such process (a zombie is none), or it is not ours to look at. */
bool resources_sample(pid_t pid, struct resources *out);

/*
 * The processes that carry `mark` ("NAME=VALUE") in their environment, in ascending order; a zombie
 * is none, and the caller itself is left out. Returns how many there are, which may be more than
 * `limit`; the first `limit` are in `out` (NULL with 0 is allowed).
 */
size_t resources_marked(const char *mark, pid_t *out, size_t limit);

/* The first `size` - 1 bytes of a process's command line, words parted by spaces; "" if it is gone.
 */
void resources_command(pid_t pid, char *text, size_t size);

#endif
