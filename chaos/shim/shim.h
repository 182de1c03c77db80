/*
 * chaos/shim/shim.h: tanist-faults.so, a library that is preloaded into each process of a run and
 * makes its system calls fail, be slow or lie as the process's slot of the fault control file says
 * (common/faults/fault_control.h). Without that file, or without a slot of its own, a process
 * notices nothing: each call costs one load more.
 *
 * It lives in programs it knows nothing of, Java among them: it allocates nothing, links with
 * nothing but the C library, may be called before its own start, from any thread and, but for
 * clocks and delays, in any signal handler.
 */
#ifndef CHAOS_SHIM_SHIM_H
#define CHAOS_SHIM_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/faults/fault_control.h"

/* Seen by the dynamic linker in place of the C library's. */
#define EXPORT __attribute__((visibility("default")))

/* Of this process; NULL: none, or not known yet. */
extern struct fault_slot *_Atomic shim_slot;

static inline struct fault_slot *shim_faults(void)
{
    return atomic_load_explicit(&shim_slot, memory_order_acquire);
}

/* The function of that name which comes after ours. Never NULL: without it the process ends. */
void *shim_find(void *_Atomic *known, const char *name);

/* Declare `real`, a pointer to the next function called NAME. The copy is POSIX's way to make a
 * function pointer of dlsym's data pointer. */
#define NEXT(name)                                                                                 \
    static void *_Atomic name##_found;                                                             \
    void *name##_address = shim_find(&name##_found, #name);                                        \
    __typeof__(name) *real;                                                                        \
    memcpy(&real, &name##_address, sizeof real)

#endif
