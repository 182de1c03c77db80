/*
 * common/base/thread_priority.h: threads that run, and use the disk, only when no other thread
 * needs the processor or the disk: the policies SCHED_IDLE and IOPRIO_CLASS_IDLE of Linux.
 *
 * A thread that is idle may not run for a long time, so it holds no lock that others need.
 *
 * Threads: any. Blocking: thread_priority_can_return(), for the life of a short thread.
 */
#ifndef COMMON_BASE_THREAD_PRIORITY_H
#define COMMON_BASE_THREAD_PRIORITY_H

#include <stdbool.h>

enum thread_priority {
    THREAD_NORMAL, /* As the threads of the process begin. */
    THREAD_IDLE,
};

/* The number of the calling thread, for thread_priority_set(). */
int thread_priority_self(void);

/* Whether a thread of this process that is idle can be made normal again. Linux refuses it without
 * CAP_SYS_NICE, unless RLIMIT_NICE allows the nice value of the process. */
bool thread_priority_can_return(void);

/* Set the priority of a thread of this process. False: the kernel refused a part of it, which then
 * is as before; the thread works all the same. */
bool thread_priority_set(int thread, enum thread_priority priority);

/* The calling thread gets a small share of a processor that others need (nice), for good. Unlike an
 * idle one it continues to run, so it may enter the kernel where others wait for it. */
void thread_priority_lower(void);

#endif
