/*
 * kernels/cuda/library.h: kernels with the memory of their device, as one table of functions. The
 * emulation has one, and the GPUs of this process share one, so that what uses one can use the
 * other. Calls are for the GPU that the calling thread has selected.
 *
 * A kernel that fails, or cannot be started, is reported by the next copy or wait: TN_EDEVICE. The
 * device then stays unusable: the process ends, and another one may begin.
 *
 * Threads: any; calls of kernels, copies and waits of one GPU exclude each other, those of several
 * do not.
 */
#ifndef KERNELS_CUDA_LIBRARY_H
#define KERNELS_CUDA_LIBRARY_H

#include "common/base/error.h"
#include "kernels/cuda/gpus.h"
#include "kernels/cuda/kernels.h"
#include "kernels/gpu/graphs.h"
#include "kernels/gpu/queues.h"

struct cuda_library {
    const char *name; /* "emulation", "cuda" or "cublas". */
    const struct cuda_kernels *kernels;

    /* Later calls of this thread are for GPU `number`, which was opened. NULL: there is one. */
    void (*select)(uint32_t number);

    /* Memory of the device, aligned to 256 bytes, at least 1 byte; the owner releases it.
     * TN_ENOMEM: out of the device's memory; the text has the bytes that are free. */
    enum tn_status (*allocate)(size_t bytes, void **memory, struct error *error);
    void (*release)(void *memory); /* NULL is allowed. */
    /* Copies behind all earlier kernels; when they return, `from` may change and `to` is
     * complete. */
    enum tn_status (*upload)(void *to, const void *from, size_t bytes, struct error *error);
    enum tn_status (*download)(void *to, const void *from, size_t bytes, struct error *error);
    /* Zeros. */
    enum tn_status (*clear)(void *memory, size_t bytes, struct error *error);
    /* Until all kernels are done. */
    enum tn_status (*wait)(struct error *error);
    /* Copies while kernels run. The functions above are in the queue of kernels. */
    const struct gpu_queues *queues;
    /* Kernels that are started together. NULL: each is started alone. */
    const struct gpu_graph_functions *graphs;
};

/*
 * The kernels on GPU `number`, below CUDA_GPUS_MAX, of those that the driver shows
 * (CUDA_VISIBLE_DEVICES chooses), which is selected for this thread. Loads the driver and the
 * module of the kernels, which TANIST_CUDA_MODULE names, or which is beside the program or where it
 * is installed. Later calls return the same result. Blocks for up to seconds.
 *
 *   TN_ENOENT   no driver, no such GPU or no module; the text names it and the remedy
 *   TN_EDEVICE  the driver or the GPU failed, or the module has no code for it
 *   TN_ENOMEM   the GPU has no memory for the module
 */
MUST_CHECK enum tn_status cuda_library_open(uint32_t number, const struct cuda_library **out,
                                            struct error *error);

/*
 * The same with matrix products by cuBLAS, whose operands are rounded to `precision`: of matrices,
 * of attention, and of convolutions with windows of one pixel. Products of a shape and alignment
 * have the same bits on all GPUs of a type (kernels/gpu/cublas_identity.h), and other bits than in
 * another shape. Kernels are not started as graphs: products would cut them into one to three. Each
 * GPU has a handle and a workspace, which this allocates. Errors as above; also:
 *
 *   TN_ENOENT   no cuBLAS, or NVIDIA_TF32_OVERRIDE switches TF32 off
 *   TN_ENOMEM   the GPU has no memory for the workspace
 *   TN_EDEVICE  cuBLAS failed
 */
MUST_CHECK enum tn_status cuda_library_open_cublas(uint32_t number, enum cuda_precision precision,
                                                   const struct cuda_library **out,
                                                   struct error *error);

/* The emulation; only tests link it. */
const struct cuda_library *cuda_emulated(void);

#endif
