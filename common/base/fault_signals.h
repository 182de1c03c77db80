/*
 * common/base/fault_signals.h: the signals by which the kernel reports an error of the program
 * itself (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT). Another process can send them, too;
 * the parent of a dead process cannot distinguish the two, but the process can.
 *
 * An agent starts nodes with these signals blocked: a real error ends a process in any case, and
 * one that another process sends waits until the node handles it.
 *
 * Threads: any for fault_signals_set() and fault_signals_block_others(); else the main thread,
 * before others exist.
 */
#ifndef COMMON_BASE_FAULT_SIGNALS_H
#define COMMON_BASE_FAULT_SIGNALS_H

#include <signal.h>

/* Fill `out` with these signals. */
void fault_signals_set(sigset_t *out);

/* Block all signals but these in the calling thread, before it creates a thread that no other
 * signal is for: a fault of that thread still reaches its handler (common/base/mapping_fault.h).
 * `before`: the former mask, for pthread_sigmask(). */
void fault_signals_block_others(sigset_t *before);

/* From now on a fault signal that another process sends ends this process as SIGKILL does; one that
 * this process causes ends it as before. Unblocks them. */
void fault_signals_handle(void);

#endif
