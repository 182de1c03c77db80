/*
 * kernels/cuda/device.h: the language of kernels: a subset of C17 that is also CUDA C++, and the
 * macros below. nvcc makes code for GPUs of it, the C compiler the emulation (emulation.h), which
 * every machine can test, and with CUDA_ON_GPU the functions that start the code for GPUs
 * (launch.h).
 *
 *     KERNEL(name, struct arguments)     A kernel; its arguments are the struct `a`.
 *     {
 *         EACH_ELEMENT(i, a.count) { a.out[i] = 2 * a.x[i]; }
 *     }
 *     LAUNCH(name, blocks, threads, arguments);
 *
 * Blocks have one dimension and whole warps: `threads` is a multiple of WARP, at most THREADS_MAX.
 * BLOCKS, BLOCK, THREADS and THREAD are the sizes and the indices of a thread.
 *
 * SHARED_FLOATS(name, count) is memory of the block, of which SHARED_LOAD(name, at) and
 * SHARED_STORE(name, at, x) read and write one float. BARRIER() waits for all threads of the block;
 * SHUFFLE_XOR(x, mask) and SHUFFLE(x, lane) return the `x` of another thread of the warp, of which
 * all threads call it at the same place; it does not order their memory, as WARP_FENCE() does
 * between reads and writes of the threads of a warp. These are never called where only some threads
 * come.
 *
 * FMA(a, b, c) is the only fused multiply-add: the source is compiled without contraction, and
 * division and square root are IEEE 754's, so each expression has the bits of the CPU.
 */
#ifndef KERNELS_CUDA_DEVICE_H
#define KERNELS_CUDA_DEVICE_H

#define PORTABLE_ONE
#include "kernels/portable/isa/vector_one.h"

enum { WARP = 32, THREADS_MAX = 1024 };

#define FMA(a, b, c)  vector_fma(a, b, c)
#define DEVICE_INLINE ISA_INLINE

#define EACH_ELEMENT(i, count)                                                                     \
    for (size_t i = (size_t)BLOCK * THREADS + THREAD; i < (count); i += (size_t)BLOCKS * THREADS)

#if defined(__CUDACC__)

#define KERNEL(name, type)                       extern "C" __global__ void name(const type a)
#define BLOCKS                                   gridDim.x
#define BLOCK                                    blockIdx.x
#define THREADS                                  blockDim.x
#define THREAD                                   threadIdx.x
#define SHARED_FLOATS(name, count)               __shared__ float name[count]
#define SHARED_LOAD(name, at)                    name[at]
#define SHARED_STORE(name, at, x)                (void)(name[at] = (x))
#define BARRIER()                                __syncthreads()
#define SHUFFLE_XOR(x, mask)                     __shfl_xor_sync(0xffffffffU, x, mask)
#define SHUFFLE(x, lane)                         __shfl_sync(0xffffffffU, x, lane)
#define WARP_FENCE()                             __syncwarp()
#define LAUNCH(name, blocks, threads, arguments) name<<<blocks, threads>>>(arguments)

#elif defined(CUDA_ON_GPU)

#include "kernels/cuda/launch.h"

#else

#include "kernels/cuda/emulation.h"

#define KERNEL(name, type)                                                                         \
    static void name(const type a);                                                                \
    static void name##_thread(const void *arguments)                                               \
    {                                                                                              \
        name(*(const type *)arguments);                                                            \
    }                                                                                              \
    __attribute__((constructor)) static void name##_add(void)                                      \
    {                                                                                              \
        static struct emulation_kernel kernel = {#name, name##_thread, sizeof(type), NULL};        \
        emulation_add(&kernel);                                                                    \
    }                                                                                              \
    static void name(const type a)
#define BLOCKS                     (emulation_place.blocks)
#define BLOCK                      (emulation_place.block)
#define THREADS                    (emulation_place.threads)
#define THREAD                     (emulation_place.thread)
#define SHARED_FLOATS(name, count) struct emulation_shared *name = emulation_shared(#name, count)
#define SHARED_LOAD(name, at)      emulation_load(name, at, __LINE__)
#define SHARED_STORE(name, at, x)  emulation_store(name, at, x, __LINE__)
#define BARRIER()                  emulation_barrier(__LINE__)
#define SHUFFLE_XOR(x, mask)       emulation_shuffle(x, (THREAD % WARP) ^ (mask), __LINE__)
#define SHUFFLE(x, lane)           emulation_shuffle(x, lane, __LINE__)
#define WARP_FENCE()               (void)SHUFFLE(0.0F, 0)
#define LAUNCH(name, blocks, threads, arguments)                                                   \
    emulation_launch(#name, name##_thread, blocks, threads, &(arguments))

#endif

#endif
