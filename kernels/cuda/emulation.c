/* kernels/cuda/emulation.c: launches, barriers and shuffles; emulation_shared.c has shared memory.
 *
 * A thread runs until it waits or ends. When none can run on, what they wait for is resolved:
 *
 *   all threads of a warp wait in one shuffle   -> they exchange values and run
 *   all threads of the block wait in one barrier -> they run
 *   all have ended                               -> the block is done
 *   otherwise                                    -> a fault
 */
#include "kernels/cuda/emulation.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/device.h"
#include "kernels/cuda/emulation_private.h"
#include "kernels/cuda/fiber.h"

enum thread_state { READY, IN_BARRIER, IN_SHUFFLE, ENDED };

struct thread {
    enum thread_state state;
    int line; /* Where it waits. */
    float given, taken;
    uint32_t lane;
    struct fiber *fiber; /* NULL: not begun. */
};

static struct {
    const char *kernel;
    void (*run)(const void *arguments);
    const void *arguments;
    struct thread threads[THREADS_MAX];
    struct fiber *fibers[THREADS_MAX]; /* One more for each thread that waits. */
    uint32_t fiber_count, begun;       /* Fibers of this block; threads that have begun. */
    bool gave_up, reverse;
    struct emulation_fault *caught;
    uint64_t launches;
} machine;

struct emulation_place emulation_place;

void emulation_catch(struct emulation_fault *fault)
{
    machine.caught = fault;
    machine.gave_up = false;
    if (fault != NULL) { *fault = (struct emulation_fault){.kind = FAULT_NONE}; }
}

void emulation_reverse(bool reverse)
{
    machine.reverse = reverse;
}

uint64_t emulation_launches(void)
{
    return machine.launches;
}

static struct emulation_kernel *kernels;

void emulation_add(struct emulation_kernel *kernel)
{
    kernel->next = kernels;
    kernels = kernel;
}

struct emulation_kernel *emulation_find(const char *name)
{
    struct emulation_kernel *kernel = kernels;
    while (kernel != NULL && strcmp(kernel->name, name) != 0) { kernel = kernel->next; }
    return kernel;
}

static void report(enum emulation_fault_kind kind, int line, uint32_t thread, const char *format,
                   va_list arguments)
{
    struct emulation_fault fault = {
        .kind = kind, .block = emulation_place.block, .thread = thread, .line = line};
    char what[160];
    (void)vsnprintf(what, sizeof what, format, arguments);
    (void)snprintf(fault.text, sizeof fault.text,
                   "kernel %s, line %d, block %" PRIu32 ", thread %" PRIu32 ": %s", machine.kernel,
                   line, emulation_place.block, thread, what);
    if (machine.caught == NULL) {
        (void)fprintf(stderr, "emulation: %s\n", fault.text);
        abort();
    }
    *machine.caught = fault;
    machine.gave_up = true;
}

void emulation_fault(enum emulation_fault_kind kind, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(kind, line, emulation_place.thread, format, arguments);
    va_end(arguments);
    fiber_leave();
    abort(); /* This fiber is never entered again. */
}

/* Report a fault of a thread that does not run. */
static void fault_of(enum emulation_fault_kind kind, uint32_t thread, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report(kind, machine.threads[thread].line, thread, format, arguments);
    va_end(arguments);
}

/* ------------------------------------------------------ threads */

static uint32_t in_order(uint32_t index, uint32_t count)
{
    return machine.reverse ? count - 1 - index : index;
}

/* The body of a fiber: it runs one thread after another, and waits with the one that waits. */
static void run_threads(void *context)
{
    struct fiber *self = context;
    while (machine.begun < emulation_place.threads) {
        uint32_t number = in_order(machine.begun++, emulation_place.threads);
        struct thread *thread = &machine.threads[number];
        thread->fiber = self;
        emulation_place.thread = number;
        machine.run(machine.arguments);
        thread->state = ENDED;
    }
}

static void resume(uint32_t number)
{
    emulation_place.thread = number;
    fiber_enter(machine.threads[number].fiber);
}

/* Called by the running thread. */
static void wait_in(enum thread_state state, int line)
{
    struct thread *thread = &machine.threads[emulation_place.thread];
    thread->state = state;
    thread->line = line;
    fiber_leave();
}

void emulation_barrier(int line)
{
    wait_in(IN_BARRIER, line);
}

float emulation_shuffle(float x, uint32_t lane, int line)
{
    struct thread *thread = &machine.threads[emulation_place.thread];
    if (lane >= WARP) {
        emulation_fault(FAULT_SHUFFLE, line, "a shuffle from lane %" PRIu32 " of %d", lane, WARP);
    }
    thread->given = x;
    thread->lane = lane;
    wait_in(IN_SHUFFLE, line);
    return thread->taken;
}

/* ------------------------------------------------------ rounds */

/* Every thread that can runs on. */
static void run_ready(void)
{
    const uint32_t begun = machine.begun;
    for (uint32_t i = 0; i < begun && !machine.gave_up; i++) {
        uint32_t number = in_order(i, emulation_place.threads);
        if (machine.threads[number].state == READY) { resume(number); }
    }
    while (machine.begun < emulation_place.threads && !machine.gave_up) {
        struct fiber **fiber = &machine.fibers[machine.fiber_count++];
        if (*fiber == NULL) { *fiber = fiber_create(); }
        fiber_begin(*fiber, run_threads, *fiber);
        fiber_enter(*fiber);
    }
}

/* The first of `count` threads from `first` in another state, or at another line, than `like`. */
static bool find_other(uint32_t first, uint32_t count, uint32_t like, uint32_t *other)
{
    for (*other = first; *other < first + count; (*other)++) {
        const struct thread *a = &machine.threads[like], *b = &machine.threads[*other];
        if (a->state != b->state || a->line != b->line) { return true; }
    }
    return false;
}

static const char *doing(uint32_t thread)
{
    static const char *const names[] = {[READY] = "runs",
                                        [IN_BARRIER] = "waits in a barrier at line",
                                        [IN_SHUFFLE] = "waits in a shuffle at line",
                                        [ENDED] = "has ended after line"};
    return names[machine.threads[thread].state];
}

/* Let a warp whose threads are all in one shuffle exchange their values. */
static void resolve_shuffle(uint32_t first)
{
    for (uint32_t i = first; i < first + WARP; i++) {
        machine.threads[i].taken = machine.threads[first + machine.threads[i].lane].given;
        machine.threads[i].state = READY;
    }
}

/* Whether a thread can continue after a shuffle, or a fault was found. */
static bool resolve_shuffles(void)
{
    bool resolved = false;
    for (uint32_t first = 0; first < emulation_place.threads; first += WARP) {
        uint32_t at = first, other;
        while (at < first + WARP && machine.threads[at].state != IN_SHUFFLE) { at++; }
        if (at == first + WARP) { continue; }
        resolved = true;
        if (!find_other(first, WARP, at, &other)) {
            resolve_shuffle(first);
            continue;
        }
        fault_of(FAULT_SHUFFLE, at,
                 "thread %" PRIu32 " of its warp is not in this shuffle: it %s %d", other,
                 doing(other), machine.threads[other].line);
        return true;
    }
    return resolved;
}

/* Whether the block can continue after a barrier, or a fault was found. False: all threads have
 * ended. */
static bool resolve_barrier(void)
{
    uint32_t at = 0, other;
    while (at < emulation_place.threads && machine.threads[at].state == ENDED) { at++; }
    if (at == emulation_place.threads) { return false; }
    if (find_other(0, emulation_place.threads, at, &other)) {
        fault_of(FAULT_BARRIER, at, "thread %" PRIu32 " does not reach this barrier: it %s %d",
                 other, doing(other), machine.threads[other].line);
        return true;
    }
    for (uint32_t i = 0; i < emulation_place.threads; i++) { machine.threads[i].state = READY; }
    emulation_next_phase();
    return true;
}

static void run_block(void)
{
    machine.begun = 0;
    machine.fiber_count = 0;
    memset(machine.threads, 0, emulation_place.threads * sizeof machine.threads[0]);
    emulation_clear_shared();
    do {
        run_ready();
    } while (!machine.gave_up && (resolve_shuffles() || resolve_barrier()));
}

void emulation_launch(const char *kernel, void (*thread)(const void *arguments), size_t blocks,
                      size_t threads, const void *arguments)
{
    assert(kernel != NULL);
    assert(thread != NULL);
    if (machine.gave_up) { return; }
    machine.kernel = kernel;
    machine.run = thread;
    machine.arguments = arguments;
    machine.launches++;
    emulation_place =
        (struct emulation_place){.blocks = (uint32_t)blocks, .threads = (uint32_t)threads};
    if (blocks == 0 || blocks > INT32_MAX || threads == 0 || threads > THREADS_MAX ||
        threads % WARP != 0) {
        fault_of(FAULT_LAUNCH, 0,
                 "%zu blocks of %zu threads: give 1 to %d blocks, and a multiple of %d threads, at "
                 "most %d",
                 blocks, threads, INT32_MAX, WARP, THREADS_MAX);
        return;
    }
    for (size_t i = 0; i < blocks && !machine.gave_up; i++) {
        emulation_place.block = in_order((uint32_t)i, (uint32_t)blocks);
        run_block();
    }
}
