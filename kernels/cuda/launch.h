/*
 * kernels/cuda/launch.h: the third build of the kernels' files, for the program: KERNEL() is only
 * a name here, and LAUNCH() starts the kernel of that name in the module which nvcc has made of the
 * same files (module.cu), through the driver. Part of device.h.
 */
#ifndef KERNELS_CUDA_LAUNCH_H
#define KERNELS_CUDA_LAUNCH_H

#include <stddef.h>

#include "kernels/cuda/gpus.h"

struct gpu_function;

struct cuda_entry {
    const char *name;
    struct gpu_function *functions[CUDA_GPUS_MAX]; /* By GPU. NULL: not yet looked up. */
};

/* On the GPU that the thread has selected. `arguments` is the struct of the kernel, of `bytes`, as
 * the C compiler and nvcc lay it out alike; it is copied. The kernel may be held back, to be
 * started together with others (kernels/gpu/graphs.h). A failure is kept for the next copy or
 * wait. */
void cuda_launch(struct cuda_entry *entry, size_t blocks, size_t threads, const void *arguments,
                 size_t bytes);

/* The bodies of kernels are compiled, but never run. */
#define KERNEL(name, type)                                                                         \
    static struct cuda_entry name##_entry = {#name, {NULL}};                                       \
    __attribute__((unused)) static void name(const type a)
#define BLOCKS                     1U
#define BLOCK                      0U
#define THREADS                    1U
#define THREAD                     0U
#define SHARED_FLOATS(name, count) float name[count]
#define SHARED_LOAD(name, at)      name[at]
#define SHARED_STORE(name, at, x)  (void)(name[at] = (x))
#define BARRIER()                  ((void)0)
#define SHUFFLE_XOR(x, mask)       (x)
#define SHUFFLE(x, lane)           (x)
#define WARP_FENCE()               ((void)0)
#define LAUNCH(name, blocks, threads, arguments)                                                   \
    cuda_launch(&name##_entry, blocks, threads, &(arguments), sizeof(arguments))

/* The emulation has functions of these names, too. */
#define product_run            product_run_on_gpu
#define softmax_run            softmax_run_on_gpu
#define softmax_run_gradient   softmax_run_gradient_on_gpu
#define attention_run          attention_run_on_gpu
#define attention_run_gradient attention_run_gradient_on_gpu

#endif
