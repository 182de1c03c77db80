/*
 * common/net/loan_locks.h: the locks by which the kernel reports that a peer can no longer read the
 * memory that is lent to it (common/net/loans.h). The simulator replaces both functions.
 *
 * Threads: any. Blocking: never.
 */
#ifndef COMMON_NET_LOAN_LOCKS_H
#define COMMON_NET_LOAN_LOCKS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether a lock is held at `count` positions from `first` on; 0: all from there on. True also if
 * that is unknown. */
bool loan_locks_held(int fd, off_t first, off_t count);

/* A description of the file `fd` of its own that can only be read, with a lock at `position`, which
 * lasts as long as this description or a mapping through it. -1: not possible. */
int loan_locks_open(int fd, off_t position);

#endif
