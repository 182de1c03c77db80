/* kernels/cuda/emulated_private.h: what the files of the emulated driver share. */
#ifndef KERNELS_CUDA_EMULATED_PRIVATE_H
#define KERNELS_CUDA_EMULATED_PRIVATE_H

#include "kernels/cuda/emulated_driver.h"
#include "kernels/cuda/emulated_queue.h"

enum emulated_need { NEEDS_NOTHING, NEEDS_CONTEXT };

/* Each call enters, does its work if the code is GPU_SUCCESS, and leaves with its code. */
int emulated_enter(enum emulated_need need);
int emulated_leave(int code);

/* The number behind `key`, such as "seed=", in the text of TANIST_EMULATED_GPU, which may be NULL;
 * `otherwise` without this key. */
unsigned long long emulated_setting(const char *settings, const char *key,
                                    unsigned long long otherwise);

/* From now on all calls fail with `code`. */
int emulated_break(int code);
/* This code; GPU_SUCCESS: none. */
int emulated_broken(void);

/* The stream that a call names: NULL is the default stream of the thread's context. */
struct gpu_stream *emulated_stream_of(struct gpu_stream *stream);

/* The bytes of a device; NULL: they are not within one allocation. */
uint8_t *emulated_range(gpu_address address, size_t bytes);
/* Whether these bytes of the host are within one pinned allocation. */
bool emulated_is_pinned(const void *memory, size_t bytes);

/* GPU_ILLEGAL_ADDRESS: a kernel has written outside of an allocation. */
int emulated_check_memory(void);

#endif
