/*
 * chaos/cluster/proc.h: processes as /proc shows them: their state, their resources, and which of
 * them belong to a run.
 *
 * Threads: any. Blocking: reads /proc, about 10 us per process.
 */
#ifndef CHAOS_CLUSTER_PROC_H
#define CHAOS_CLUSTER_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROC_MARKED_MAX = 512 };

struct proc_usage {
    uint64_t rss_kib; /* Resident memory. */
    uint32_t descriptors, threads;
};

/* Up to `size` - 1 bytes of /proc/PID/NAME, zero-terminated. Returns their number; -1: the process
 * does not exist or must not be read. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size);

/* The state letter of /proc/PID/stat ('R', 'S', 'T', ...); 0: the process has ended, even if its
 * parent has not reaped it yet. */
char proc_state(pid_t pid);

/* False: the process has ended or must not be read. */
bool proc_usage(pid_t pid, struct proc_usage *out);

/*
 * The processes that have `mark` ("NAME=VALUE") in their environment, ascending; zombies and the
 * caller are left out. Returns their number, which may exceed `limit`; the first `limit` are in
 * `out` (NULL with 0 is allowed).
 */
size_t proc_find_marked(const char *mark, pid_t *out, size_t limit);

/* The first `size` - 1 bytes of a process's command line, its arguments separated by spaces; "" if
 * the process has ended. */
void proc_command(pid_t pid, char *text, size_t size);

#endif
