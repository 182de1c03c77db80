/* kernels/cuda/gpus.h: how many GPUs a process can use, and what it needs on each. */
#ifndef KERNELS_CUDA_GPUS_H
#define KERNELS_CUDA_GPUS_H

enum {
    CUDA_GPUS_MAX = 16,
    /* As much as cuBLAS recommends for any GPU. The choice of its algorithm may depend on this. */
    CUDA_CUBLAS_WORKSPACE_BYTES = 32 << 20,
};

#endif
