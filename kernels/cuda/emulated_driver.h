/*
 * kernels/cuda/emulated_driver.h: a driver of emulated GPUs for tests, behind the symbols of
 * kernels/gpu/driver.h. Tests link it, or load it as libcuda.so.1 (tests/CMakeLists.txt), so that
 * the program itself runs on it.
 *
 * A device's memory is malloc's; copies that leave an allocation are refused, and kernels that
 * write next to one are found at the next wait. Kernels are those of kernels/cuda, in emulation;
 * each module has all of them. Time is counted in launches of 1 us.
 *
 * Work is queued for its stream and done when a call waits for it, and then only as much as this
 * call needs. A copy fills its target with 0xff when it may begin, and writes it when it is done.
 * So without a wait for an event, a kernel, a copy or the host finds wrong bits. As with CUDA,
 * copies read pinned memory of the host when they are done, and pageable memory before the call
 * returns; one to pageable memory is done when the call returns. Memory is released behind all
 * work of the context. What no event orders has one of these orders, which may change at any time:
 *
 *   order=late            the default: nothing before it must be done
 *   order=copies          copies as early as possible, kernels as late as possible
 *   order=kernels         kernels as early as possible, copies as late as possible
 *   order=random,seed=N   any order
 *
 * TANIST_EMULATED_GPU, read by cuInit, changes the machine: "devices=2,memory=1048576". Also:
 *
 *   init=CODE             cuInit fails
 *   calls=N,error=CODE    all calls behind the first N fail with CODE, as after a sticky error
 *   operations=N,error=CODE   calls succeed, but all work behind the first N operations fails, as
 *                         the next wait reports, and is not done
 *   context=CODE          no context can be made
 *   pinned=CODE           no memory can be pinned
 *   broken=K              with error: only device K fails, and only its calls or operations count
 *   small=K,limit=BYTES   the memory of device K
 *   peers=0               no device can access the memory of another; copies work all the same
 *   peer_copy=CODE        copies between devices fail, and all later calls
 *   graphs=CODE           no graph can be instantiated
 *
 * While the file exists that TANIST_EMULATED_GPU_GONE names, the GPUs have disappeared: cuInit
 * finds none, and other calls fail with GPU_UNKNOWN from then on.
 *
 *   other=K               device K has another number of multiprocessors
 *
 * TANIST_EMULATED_GPU_PEAKS names a file, to which each process adds a line when it ends: the most
 * bytes that were allocated at the same time on each of the EMULATED_DEVICES_MAX devices, and
 * pinned on the host.
 *
 * Devices are those that CUDA_VISIBLE_DEVICES lists by number.
 *
 * Threads: any; calls exclude each other.
 */
#ifndef KERNELS_CUDA_EMULATED_DRIVER_H
#define KERNELS_CUDA_EMULATED_DRIVER_H

#include "kernels/gpu/driver.h"

enum {
    EMULATED_DEVICES_MAX = 8,
    EMULATED_MAJOR = 9,
    EMULATED_MINOR = 0,
    EMULATED_DRIVER = 13000,
};

/* An image of a module begins with this, or as nvcc's fatbin does. */
#define EMULATED_IMAGE "tanist: emulated kernels"

/* The symbols of the driver. */
#define X(name, symbol, parameters)                                                                \
    __attribute__((visibility("default"))) int emulated_##name parameters __asm__(#symbol);
GPU_DRIVER_FUNCTIONS(X)
GPU_DRIVER_GRAPHS(X)
#undef X

/* The number of calls for graphs since the program began, and of graphs that are not destroyed. */
struct emulated_graph_counts {
    uint64_t made, launched, changed; /* Executable graphs; their launches; kernels changed. */
    uint64_t graphs, execs;
};
__attribute__((visibility("default"))) struct emulated_graph_counts emulated_graph_counts(void);

/* The emulated functions as a table. Static storage. */
const struct gpu_driver *emulated_driver(void);

#endif
