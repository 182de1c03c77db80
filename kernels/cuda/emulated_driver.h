/*
 * kernels/cuda/emulated_driver.h: a driver of emulated GPUs for tests, behind the symbols of
 * kernels/gpu/driver.h. Tests link it, or load it as libcuda.so.1 (tests/CMakeLists.txt), so that
 * the program itself runs on it.
 *
 * A device's memory is malloc's; copies that leave an allocation are refused, and kernels that
 * write next to one are found at the next wait. Kernels are those of kernels/cuda, in emulation;
 * each module has all of them. Work is done when it is ordered: orders between streams are not
 * tested. Time is counted in launches of 1 us.
 *
 * TANIST_EMULATED_GPU, read by cuInit, changes the machine: "devices=2,memory=1048576". Also:
 *
 *   init=CODE             cuInit fails
 *   calls=N,error=CODE    all calls behind the first N fail with CODE, as after a sticky error
 *   context=CODE          no context can be made
 *
 * While the file exists that TANIST_EMULATED_GPU_GONE names, the GPUs have disappeared: cuInit
 * finds none, and other calls fail with GPU_UNKNOWN from then on.
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
#undef X

/* The same as a table. Static storage. */
const struct gpu_driver *emulated_driver(void);

#endif
