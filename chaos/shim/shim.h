/*
 * chaos/shim/shim.h: tanist-faults.so, a library that is preloaded into each process of a run. Its
 * system calls fail, are slow or return a shifted time as the process's slot of the fault control
 * file orders (common/faults/fault_control.h). Without that file, or without a slot, a process is
 * not affected: each call costs one more load.
 *
 * It runs inside programs that know nothing of it, Java among them: it allocates nothing, links
 * with the C library only, and may be called before its own constructor, from any thread and, but
 * for clocks and delays, in any signal handler.
 */
#ifndef CHAOS_SHIM_SHIM_H
#define CHAOS_SHIM_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/faults/fault_control.h"

/* The dynamic linker takes this function instead of the C library's. */
#define EXPORT __attribute__((visibility("default")))

/* The slot of this process; NULL: it has none, or it is not known yet. */
extern struct fault_slot *_Atomic shim_slot;

static inline struct fault_slot *shim_faults(void)
{
    return atomic_load_explicit(&shim_slot, memory_order_acquire);
}

/* The function that would be called without the shim. Never NULL: without it the process aborts. */
void *shim_find(void *_Atomic *known, const char *name);

/* Declare `real`, a pointer to the next function called NAME. POSIX asks for this copy to make a
 * function pointer of dlsym's data pointer. */
#define NEXT(name)                                                                                 \
    static void *_Atomic name##_found;                                                             \
    void *name##_address = shim_find(&name##_found, #name);                                        \
    __typeof__(name) *real;                                                                        \
    memcpy(&real, &name##_address, sizeof real)

#endif
