#include "kernels/cuda/fiber.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kernels/cuda/fiber_stack.h"

/* Push the registers that a call preserves, store in *top where the stack ends, and continue on the
 * stack that ends at `next`. swapcontext() also exchanges signal masks, by two system calls. */
void fiber_switch(void **top, void *next) __attribute__((visibility("hidden")));

/* fiber_switch() pops so many values from a new stack; one is the address where it returns to. */
#if defined(__x86_64__)
enum { FRAME_WORDS = 8, FRAME_RETURN = 6 };
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch, %function\n"
        "fiber_switch:\n"
        "push %rbp\n"
        "push %rbx\n"
        "push %r12\n"
        "push %r13\n"
        "push %r14\n"
        "push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n"
        "pop %r14\n"
        "pop %r13\n"
        "pop %r12\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size fiber_switch, . - fiber_switch\n");
#elif defined(__aarch64__)
enum { FRAME_WORDS = 20, FRAME_RETURN = 11 };
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch, %function\n"
        "fiber_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp, #0]\n"
        "stp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\n"
        "stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n"
        "stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"
        "ldp x19, x20, [sp, #0]\n"
        "ldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\n"
        "ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\n"
        "ret\n"
        ".size fiber_switch, . - fiber_switch\n");
#else
#error "fiber_switch() is not written for this processor: add it, or build with -DTANIST_TESTS=OFF"
#endif

enum { STACK_BYTES = 256 * 1024, GUARD_BYTES = 64 * 1024 };

struct fiber {
    void *top, *caller; /* Where its stack, and that of fiber_enter(), end while they do not run. */
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
    fiber->top = fiber->memory; /* Memory of others may have been poisoned. */
    fiber->stack = (struct fiber_stack){.bottom = fiber->memory, .size = STACK_BYTES};
    return fiber;
}

/* The first function of a fiber. */
NEVER_RETURNS static void start(void)
{
    stack_enter(&running->stack, &home);
    running->body(running->context);
    stack_leave(&running->stack, &home);
    fiber_switch(&running->top, running->caller);
}

void fiber_begin(struct fiber *fiber, void (*body)(void *context), void *context)
{
    assert(fiber != running);
    fiber->body = body;
    fiber->context = context;
    stack_begin(&fiber->stack, fiber->top);
    uintptr_t *top = (uintptr_t *)(void *)(fiber->memory + STACK_BYTES) - FRAME_WORDS;
    for (size_t i = 0; i < FRAME_WORDS; i++) { top[i] = 0; }
    top[FRAME_RETURN] = (uintptr_t)start;
    fiber->top = top;
}

void fiber_enter(struct fiber *fiber)
{
    assert(running == NULL);
    running = fiber;
    stack_leave(&home, &fiber->stack);
    fiber_switch(&fiber->caller, fiber->top);
    stack_enter(&home, &fiber->stack);
    running = NULL;
}

void fiber_leave(void)
{
    struct fiber *self = running;
    assert(self != NULL);
    stack_leave(&self->stack, &home);
    fiber_switch(&self->top, self->caller);
    stack_enter(&self->stack, &home);
}
