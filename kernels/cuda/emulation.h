/*
 * kernels/cuda/emulation.h: kernels of device.h on a CPU. Each thread of a block is a fiber; one
 * runs until it waits or ends. Blocks run one after another.
 *
 * A fault of a kernel is reported with the kernel, the line, the block and the thread:
 *
 *   a barrier, or a shuffle within a warp, that other threads do not reach or leave by another line
 *   a shared access out of range, or a read of shared memory that no thread has written
 *   a race: two threads access a shared float, one of them writes, and no barrier is in between
 *
 * Without emulation_catch() the first fault ends the process with its text on stderr, so that no
 * test passes over one.
 *
 * What a GPU does in parallel happens here in one order. emulation_reverse() turns the order of
 * blocks and threads: a kernel whose result depends on it is wrong.
 *
 * Threads: one at a time, as the state is static. Blocks; allocates at the first launch.
 */
#ifndef KERNELS_CUDA_EMULATION_H
#define KERNELS_CUDA_EMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum emulation_fault_kind {
    FAULT_NONE,
    FAULT_BARRIER,       /* Not all threads of the block reach it. */
    FAULT_SHUFFLE,       /* Not all threads of the warp reach it. */
    FAULT_OUT_OF_RANGE,  /* Shared memory. */
    FAULT_UNINITIALIZED, /* Shared memory. */
    FAULT_RACE,          /* Shared memory. */
    FAULT_LAUNCH,        /* Impossible numbers of blocks or threads. */
};

struct emulation_fault {
    enum emulation_fault_kind kind;
    uint32_t block, thread;
    int line;       /* In the file of the kernel; 0: unknown. */
    char text[256]; /* With all of these. */
};

/* Where the running thread is. */
struct emulation_place {
    uint32_t blocks, block, threads, thread;
};
extern struct emulation_place emulation_place;

/* From now on the first fault is stored in `fault`, and its launch is given up; later launches do
 * nothing until the next call. NULL: faults end the process again. */
void emulation_catch(struct emulation_fault *fault);
/* Whether blocks and threads run from the last to the first. */
void emulation_reverse(bool reverse);
/* The number of launches since the program began. */
uint64_t emulation_launches(void);

/* A kernel that is linked with the program: KERNEL() adds it before main() begins. */
struct emulation_kernel {
    const char *name;
    void (*thread)(const void *arguments);
    size_t bytes; /* The size of its arguments. */
    struct emulation_kernel *next;
};
void emulation_add(struct emulation_kernel *kernel);
/* NULL: there is none of this name. */
struct emulation_kernel *emulation_find(const char *name);

/* For the macros of device.h. */
struct emulation_shared;
struct emulation_shared *emulation_shared(const char *name, size_t count);
float emulation_load(struct emulation_shared *shared, size_t at, int line);
void emulation_store(struct emulation_shared *shared, size_t at, float x, int line);
void emulation_barrier(int line);
float emulation_shuffle(float x, uint32_t lane, int line);
void emulation_launch(const char *kernel, void (*thread)(const void *arguments), size_t blocks,
                      size_t threads, const void *arguments);

#endif
