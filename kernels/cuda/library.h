/*
 * kernels/cuda/library.h: kernels with the memory of their device, as tables of functions, so that
 * what uses the emulation can use a library for GPUs.
 *
 * This header is C and CUDA C++. Functions that can fail return false and write a text of at most
 * CUDA_TEXT_MAX bytes: what failed, on what, and the runtime's reason.
 *
 * Threads: one at a time.
 */
#ifndef KERNELS_CUDA_LIBRARY_H
#define KERNELS_CUDA_LIBRARY_H

#include "kernels/cuda/kernels.h"

/* Raised by every change of these tables or of the arguments of a kernel. */
enum { CUDA_LIBRARY_VERSION = 1, CUDA_TEXT_MAX = 256, CUDA_NAME_MAX = 96 };

struct cuda_device_facts {
    char name[CUDA_NAME_MAX];
    uint32_t major, minor; /* Compute capability. */
    uint32_t multiprocessors;
    uint64_t memory_bytes;
};

struct cuda_library {
    uint32_t version; /* CUDA_LIBRARY_VERSION */
    const char *name; /* "emulation", or "CUDA" and the version of its runtime. */
    const struct cuda_kernels *kernels;

    /* The number of devices, which may be 0; with CUDA those that CUDA_VISIBLE_DEVICES leaves. */
    bool (*count)(uint32_t *devices, char *text);
    bool (*describe)(uint32_t device, struct cuda_device_facts *facts, char *text);
    /* All other calls use this device from now on; at first device 0. */
    bool (*select)(uint32_t device, char *text);

    /* Memory of the device, aligned to 256 bytes; false: out of memory. The owner releases it. */
    bool (*allocate)(size_t bytes, void **memory, char *text);
    void (*release)(void *memory);
    /* Copies, and a wait for all kernels and copies. False: a kernel failed, or the device has. */
    bool (*upload)(void *to, const void *from, size_t bytes, char *text);
    bool (*download)(void *to, const void *from, size_t bytes, char *text);
    bool (*wait)(char *text);
};

/* The emulation; only tests link it. */
const struct cuda_library *cuda_emulated(void);

#endif
