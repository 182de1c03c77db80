/*
 * agent/process.h: child processes. A child dies with its parent: it has the parent-death signal,
 * which follows the THREAD that starts it, so only the main thread may start one. It is in a
 * process group of its own, so that Ctrl-C reaches the parent alone, and inherits no file but its
 * log and `inherited`.
 *
 * Threads: the main thread. Blocking: process_start() until the program is loaded, about 1 ms.
 */
#ifndef AGENT_PROCESS_H
#define AGENT_PROCESS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/error.h"

struct process_config {
    const char *program;          /* A path. */
    const char *const *arguments; /* arguments[0] is the program's name; NULL-terminated. */
    char *const *environment;     /* NULL-terminated. */
    const char *log_path;         /* stdout and stderr are appended there; NULL: /dev/null. */
    int inherited;                /* Also open in the child, under its number, when > 0. */
    int output;                   /* Takes the place of `log_path` when it is > 0; borrowed. */
    const char *folder;           /* The working directory; NULL: the parent's. */
    const char *network;          /* The path of a network namespace; NULL: the parent's. */
    bool blocks_faults; /* The program starts with the signals of fault_signals.h blocked. */
    int nice;           /* Added to the parent's, unless the system forbids it. */
    const cpu_set_t *processors; /* It runs on these, unless the system forbids it. NULL: on the
                                  * parent's. */
};

struct process {
    pid_t pid;
    int pidfd; /* Readable when it has ended. Owned: process_reap() closes it. */
};

/* Start a process. TN_EIO: the log, network, folder or program cannot be used; the error has the
 * system's reason, and `out->pid` is 0. */
MUST_CHECK enum tn_status process_start(const struct process_config *config, struct process *out,
                                        struct error *error);

/* Reap a process whose pidfd is readable: its exit code, or the signal (0: none). Closes the
 * pidfd. */
void process_reap(struct process *process, int *exit_code, int *signal_number);

/* Wait up to `timeout_ms` (-1: without limit) for the process to end; true: it ended and was
 * reaped. */
bool process_wait(struct process *process, int timeout_ms, int *exit_code, int *signal_number);

/* "signal 9 (Killed)" or "exit code 6 (input or output failed)". */
void process_describe_end(int exit_code, int signal_number, char *text, size_t size);

#endif
