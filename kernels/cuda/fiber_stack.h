/*
 * kernels/cuda/fiber_stack.h: what sanitizers must know when the processor goes over to another
 * stack. Without a sanitizer these functions do nothing. Private to fiber.c.
 */
#ifndef KERNELS_CUDA_FIBER_STACK_H
#define KERNELS_CUDA_FIBER_STACK_H

#include <stddef.h>

#if defined(__has_feature)
#define HAS_SANITIZER(name) __has_feature(name)
#else
#define HAS_SANITIZER(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_SANITIZER(address_sanitizer)
#define FIBER_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__) || HAS_SANITIZER(thread_sanitizer)
#define FIBER_THREAD
#include <sanitizer/tsan_interface.h>
#elif HAS_SANITIZER(memory_sanitizer)
#define FIBER_MEMORY
#include <sanitizer/msan_interface.h>
#endif

/* ThreadSanitizer counts the functions of a stack: a call must not end on another stack than it
 * began, and a function that never returns must not be counted. */
#define STACK_INLINE static inline __attribute__((always_inline))
#if defined(FIBER_THREAD)
#define NEVER_RETURNS __attribute__((no_sanitize_thread))
#else
#define NEVER_RETURNS
#endif

struct fiber_stack {
    const void *bottom; /* NULL: the stack of the thread that enters fibers, not known yet. */
    size_t size;
    void *shadow; /* AddressSanitizer's frames, or ThreadSanitizer's fiber. */
};

/* A stack that is used from its beginning, the first time or again. Until now it ended at `top`. */
STACK_INLINE void stack_begin(struct fiber_stack *stack, const void *top)
{
#if defined(FIBER_ADDRESS)
    const size_t unused = (size_t)((const char *)top - (const char *)stack->bottom);
    __asan_unpoison_memory_region(top, stack->size - unused);
#elif defined(FIBER_THREAD)
    if (stack->shadow != NULL) { __tsan_destroy_fiber(stack->shadow); }
    stack->shadow = __tsan_create_fiber(0);
    (void)top;
#elif defined(FIBER_MEMORY)
    (void)top;
    __msan_unpoison(stack->bottom, stack->size);
#else
    (void)stack, (void)top;
#endif
}

/* Called immediately before the switch. AddressSanitizer's frames are kept when a fiber ends, for
 * the next time: they are megabytes. */
STACK_INLINE void stack_leave(struct fiber_stack *from, const struct fiber_stack *to)
{
#if defined(FIBER_ADDRESS)
    __sanitizer_start_switch_fiber(&from->shadow, to->bottom, to->size);
#elif defined(FIBER_THREAD)
    if (from->bottom == NULL) { from->shadow = __tsan_get_current_fiber(); }
    __tsan_switch_to_fiber(to->shadow, 0);
#elif defined(FIBER_MEMORY)
    (void)from;
    __msan_start_switch_fiber(to->bottom, to->size);
#else
    (void)from, (void)to;
#endif
}

/* Called immediately after the switch to `self`, with the stack that was left. */
STACK_INLINE void stack_enter(const struct fiber_stack *self, struct fiber_stack *left)
{
#if defined(FIBER_ADDRESS)
    __sanitizer_finish_switch_fiber(self->shadow, &left->bottom, &left->size);
#elif defined(FIBER_MEMORY)
    (void)self;
    __msan_finish_switch_fiber(&left->bottom, &left->size);
#else
    (void)self, (void)left;
#endif
}

#endif
