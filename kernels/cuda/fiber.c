#include "kernels/cuda/fiber.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "kernels/cuda/fiber_stack.h"

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 64 * 1024 };

struct fiber {
    ucontext_t here, caller;
    uint8_t *memory;
    struct fiber_stack stack;
    void (*body)(void *context);
    void *context;
};

static struct fiber *running;
/* The stack of the thread that enters fibers. */
static struct fiber_stack home;

struct fiber *fiber_create(void)
{
    struct fiber *fiber = calloc(1, sizeof *fiber);
    void *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber == NULL || memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0) {
        (void)fputs("no memory for the stack of a fiber\n", stderr);
        abort();
    }
    fiber->memory = (uint8_t *)memory + GUARD_BYTES;
    fiber->stack = (struct fiber_stack){.bottom = fiber->memory, .size = STACK_BYTES};
    return fiber;
}

/* The first function of a fiber. Its argument is `running`, as makecontext() passes only ints. */
NEVER_RETURNS static void start(void)
{
    stack_enter(&running->stack, &home);
    running->body(running->context);
    stack_leave(&running->stack, &home, true);
    (void)setcontext(&running->caller);
}

void fiber_begin(struct fiber *fiber, void (*body)(void *context), void *context)
{
    assert(fiber != running);
    fiber->body = body;
    fiber->context = context;
    stack_begin(&fiber->stack);
    (void)getcontext(&fiber->here);
    fiber->here.uc_stack.ss_sp = fiber->memory;
    fiber->here.uc_stack.ss_size = STACK_BYTES;
    fiber->here.uc_link = NULL;
    makecontext(&fiber->here, start, 0);
}

void fiber_enter(struct fiber *fiber)
{
    assert(running == NULL);
    running = fiber;
    stack_leave(&home, &fiber->stack, false);
    (void)swapcontext(&fiber->caller, &fiber->here);
    stack_enter(&home, &fiber->stack);
    running = NULL;
}

void fiber_leave(void)
{
    struct fiber *self = running;
    assert(self != NULL);
    stack_leave(&self->stack, &home, false);
    (void)swapcontext(&self->here, &self->caller);
    stack_enter(&self->stack, &home);
}
