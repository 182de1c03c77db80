#include "common/base/thread_priority.h"
#include "common/base/fault_signals.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The values of <linux/ioprio.h>, a header of the kernel. */
enum { IO_OF_THREAD = 1, IO_CLASS_SHIFT = 13, IO_CLASS_NONE = 0, IO_CLASS_IDLE = 3 };

enum { NICE_LOWER = 10 };

int thread_priority_self(void)
{
    return gettid();
}

bool thread_priority_set(int thread, enum thread_priority priority)
{
    const struct sched_param none = {.sched_priority = 0};
    const bool idle = priority == THREAD_IDLE;
    const int io = (idle ? IO_CLASS_IDLE : IO_CLASS_NONE) << IO_CLASS_SHIFT;
    assert(thread > 0);
    const bool processor = sched_setscheduler(thread, idle ? SCHED_IDLE : SCHED_OTHER, &none) == 0;
    const bool disk = syscall(SYS_ioprio_set, IO_OF_THREAD, thread, io) == 0;
    return processor && disk;
}

void thread_priority_lower(void)
{
    /* On Linux the nice value belongs to the thread. */
    const id_t self = (id_t)gettid();
    (void)setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICE_LOWER);
}

static void *go_and_return(void *out)
{
    const int self = thread_priority_self();
    *(bool *)out =
        thread_priority_set(self, THREAD_IDLE) && thread_priority_set(self, THREAD_NORMAL);
    return NULL;
}

bool thread_priority_can_return(void)
{
    pthread_t thread;
    sigset_t before;
    bool can = false;
    /* Signals are for the threads of the process. */
    fault_signals_block_others(&before);
    const int failed = pthread_create(&thread, NULL, go_and_return, &can);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) { return false; }
    pthread_join(thread, NULL);
    return can;
}
