/*
 * kernels/cuda/fiber.h: functions that give up the processor in the middle and go on later, on
 * stacks of their own.
 *
 * Threads: one at a time. A fiber that is left may be entered or begun again at any time.
 */
#ifndef KERNELS_CUDA_FIBER_H
#define KERNELS_CUDA_FIBER_H

struct fiber;

/* A fiber that exists until the process ends. Without memory for it, the process is aborted. */
struct fiber *fiber_create(void);
/* The next fiber_enter() calls body(context); what the fiber did before is forgotten. */
void fiber_begin(struct fiber *fiber, void (*body)(void *context), void *context);
/* Run the fiber until it leaves or its body returns. */
void fiber_enter(struct fiber *fiber);
/* Called in a fiber: return to the caller of fiber_enter(). */
void fiber_leave(void);

#endif
