/* kernels/cuda/emulated_private.h: what the files of the emulated driver share. */
#ifndef KERNELS_CUDA_EMULATED_PRIVATE_H
#define KERNELS_CUDA_EMULATED_PRIVATE_H

#include <stdbool.h>

enum emulated_need { NEEDS_NOTHING, NEEDS_CONTEXT };

/* Each call enters, does its work if the code is GPU_SUCCESS, and leaves with its code. */
int emulated_enter(enum emulated_need need);
int emulated_leave(int code);

/* From now on all calls fail with `code`. */
int emulated_break(int code);

/* GPU_ILLEGAL_ADDRESS: a kernel has written outside of an allocation. */
int emulated_check_memory(void);

#endif
