/* kernels/cuda/emulation.h: threads, barriers and shuffles work, and an error of each class that is
 * planted in a kernel is found with its place. */
#include "kernels/cuda/emulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cuda/device.h"

enum { THREADS_USED = 96, BLOCKS_USED = 3 };

struct task {
    float *out;
    uint32_t bad; /* The thread that does something wrong; BLOCKS_USED * THREADS_USED: none. */
};

#define SELF (BLOCK * THREADS + THREAD)

/* Each thread stores the number of its neighbour in the block, turned around. */
KERNEL(turn, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    for (uint32_t round = 0; round < 3; round++) {
        SHARED_STORE(numbers, THREAD, (float)(SELF + round));
        BARRIER();
        a.out[SELF] = SHARED_LOAD(numbers, THREADS_USED - 1 - THREAD);
        BARRIER();
    }
}

static const struct task no_thread = {.bad = UINT32_MAX};

static void blocks_share_memory_over_barriers(void **state)
{
    (void)state;
    float out[BLOCKS_USED * THREADS_USED] = {0};
    struct task task = {out, UINT32_MAX};
    for (int reverse = 0; reverse < 2; reverse++) {
        emulation_reverse(reverse == 1);
        LAUNCH(turn, BLOCKS_USED, THREADS_USED, task);
        for (uint32_t i = 0; i < BLOCKS_USED * THREADS_USED; i++) {
            uint32_t block = i / THREADS_USED, thread = i % THREADS_USED;
            assert_int_equal((int)out[i], block * THREADS_USED + THREADS_USED - 1 - thread + 2);
        }
    }
    emulation_reverse(false);
}

/* The sum over each warp, and the value of lane 5. */
KERNEL(shuffles, struct task)
{
    float x = (float)SELF;
    for (uint32_t half = WARP / 2; half >= 1; half /= 2) { x += SHUFFLE_XOR(x, half); }
    const float fifth = SHUFFLE((float)SELF, 5);
    a.out[SELF] = x + 10000 * fifth;
}

static void warps_exchange_values(void **state)
{
    (void)state;
    float out[BLOCKS_USED * THREADS_USED] = {0};
    struct task task = {out, UINT32_MAX};
    LAUNCH(shuffles, BLOCKS_USED, THREADS_USED, task);
    for (uint32_t i = 0; i < BLOCKS_USED * THREADS_USED; i++) {
        uint32_t first = i / WARP * WARP, sum = WARP * first + WARP * (WARP - 1) / 2;
        assert_int_equal((int)out[i], sum + 10000 * (first + 5));
    }
}

/* ------------------------------------------------------ planted errors */

KERNEL(early_end, struct task)
{
    if (SELF == a.bad) { return; }
    BARRIER();
}

KERNEL(two_barriers, struct task)
{
    if (SELF == a.bad) {
        BARRIER();
    } else {
        BARRIER();
    }
}

KERNEL(barrier_for_shuffle, struct task)
{
    if (SELF == a.bad) {
        BARRIER();
    } else {
        (void)SHUFFLE_XOR(1.0F, 1);
    }
}

KERNEL(missed_shuffle, struct task)
{
    if (SELF != a.bad) { (void)SHUFFLE_XOR(1.0F, 1); }
}

KERNEL(wrong_lane, struct task)
{
    (void)SHUFFLE(1.0F, SELF == a.bad ? WARP : 0);
}

KERNEL(read_behind, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    SHARED_STORE(numbers, THREAD, 1.0F);
    BARRIER();
    a.out[SELF] = SHARED_LOAD(numbers, SELF == a.bad ? THREADS_USED : THREAD);
}

KERNEL(write_before, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    SHARED_STORE(numbers, SELF == a.bad ? (size_t)0 - 1 : THREAD, 1.0F);
}

KERNEL(read_unwritten, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    if (SELF != a.bad) { SHARED_STORE(numbers, THREAD, 1.0F); }
    a.out[SELF] = SHARED_LOAD(numbers, THREAD);
}

/* In the block before, the float was written: it is not initialised in this one. */
KERNEL(keep_from_block, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    if (BLOCK == 0) { SHARED_STORE(numbers, THREAD, 1.0F); }
    if (BLOCK == 0 || SELF == a.bad) { a.out[SELF] = SHARED_LOAD(numbers, THREAD); }
}

KERNEL(write_write, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    SHARED_STORE(numbers, SELF == a.bad ? THREAD - 1 : THREAD, 1.0F);
}

KERNEL(write_read, struct task)
{
    SHARED_FLOATS(numbers, THREADS_USED);
    SHARED_STORE(numbers, THREAD, 1.0F);
    if (SELF == a.bad) { a.out[SELF] = SHARED_LOAD(numbers, THREAD - 1); }
}

/* The second write may overtake the reads of the others: the barrier after them is missing. */
KERNEL(read_write, struct task)
{
    SHARED_FLOATS(numbers, 1);
    if (THREAD == 0) { SHARED_STORE(numbers, 0, 1.0F); }
    BARRIER();
    a.out[SELF] = SHARED_LOAD(numbers, 0);
    if (SELF == a.bad) { SHARED_STORE(numbers, 0, 2.0F); }
}

/* `any_order`: the fault is the same if blocks and threads run from the last to the first. */
#define PLANTED(kernel, fault, any_order)                                                          \
    {                                                                                              \
        #kernel, kernel##_thread, fault, any_order                                                 \
    }

static const struct planted {
    const char *name;
    void (*thread)(const void *arguments);
    enum emulation_fault_kind kind;
    bool any_order;
} planted[] = {
    PLANTED(early_end, FAULT_BARRIER, true),
    PLANTED(two_barriers, FAULT_BARRIER, true),
    PLANTED(barrier_for_shuffle, FAULT_SHUFFLE, true),
    PLANTED(missed_shuffle, FAULT_SHUFFLE, true),
    PLANTED(wrong_lane, FAULT_SHUFFLE, true),
    PLANTED(read_behind, FAULT_OUT_OF_RANGE, true),
    PLANTED(write_before, FAULT_OUT_OF_RANGE, true),
    PLANTED(read_unwritten, FAULT_UNINITIALIZED, true),
    PLANTED(keep_from_block, FAULT_UNINITIALIZED, false),
    PLANTED(write_write, FAULT_RACE, true),
    PLANTED(write_read, FAULT_RACE, false),
    PLANTED(read_write, FAULT_RACE, true),
};

/* The bad thread is in block 1. The kernel, the block and a line are in the text. */
static void planted_errors_are_found(void **state)
{
    (void)state;
    float out[BLOCKS_USED * THREADS_USED];
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        for (int reverse = 0; reverse <= (int)planted[i].any_order; reverse++) {
            struct emulation_fault fault;
            struct task task = {out, THREADS_USED + 37};
            emulation_catch(&fault);
            emulation_reverse(reverse == 1);
            emulation_launch(planted[i].name, planted[i].thread, BLOCKS_USED, THREADS_USED, &task);
            if (fault.kind != planted[i].kind) {
                fail_msg("%s: fault %d: %s", planted[i].name, (int)fault.kind, fault.text);
            }
            assert_int_equal(fault.block, 1);
            assert_true(fault.line > 0);
            assert_non_null(strstr(fault.text, planted[i].name));
        }
    }
    emulation_reverse(false);
    emulation_catch(NULL);
}

/* A kernel with a bad thread that does not exist has no fault. */
static void without_its_error_a_kernel_has_no_fault(void **state)
{
    (void)state;
    float out[BLOCKS_USED * THREADS_USED];
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
        struct emulation_fault fault;
        struct task task = {out, no_thread.bad};
        emulation_catch(&fault);
        emulation_launch(planted[i].name, planted[i].thread, BLOCKS_USED, THREADS_USED, &task);
        if (fault.kind != FAULT_NONE) { fail_msg("%s", fault.text); }
    }
    emulation_catch(NULL);
}

/* After a fault, launches do nothing until the next emulation_catch(). */
static void impossible_launches_are_faults(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{0, 32}, {1, 0}, {1, 33}, {1, THREADS_MAX + WARP}};
    float out[BLOCKS_USED * THREADS_USED] = {0};
    struct task task = {out, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct emulation_fault fault;
        emulation_catch(&fault);
        LAUNCH(turn, sizes[i][0], sizes[i][1], task);
        assert_int_equal(fault.kind, FAULT_LAUNCH);
        LAUNCH(turn, 1, THREADS_USED, task);
        assert_true(out[THREADS_USED - 1] == 0.0F);
    }
    emulation_catch(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_share_memory_over_barriers),
        cmocka_unit_test(warps_exchange_values),
        cmocka_unit_test(planted_errors_are_found),
        cmocka_unit_test(without_its_error_a_kernel_has_no_fault),
        cmocka_unit_test(impossible_launches_are_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
