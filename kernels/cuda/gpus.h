/* kernels/cuda/gpus.h: how many GPUs a process can use. */
#ifndef KERNELS_CUDA_GPUS_H
#define KERNELS_CUDA_GPUS_H

enum { CUDA_GPUS_MAX = 16 };

#endif
