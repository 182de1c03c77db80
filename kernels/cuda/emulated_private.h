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

/* From now on all calls fail with `code`, and the work that is queued is not done. */
int emulated_break(int code);
/* The code with which calls of this thread fail, as all do or those of its context; GPU_SUCCESS:
 * none. */
int emulated_broken(void);
/* Whether the device with this default stream is one that may fail by `broken=`, and has not yet
 * done so. Then: calls for the devices that may fail return `code` from now on. */
bool emulated_may_break(const struct gpu_stream *home);
void emulated_break_device(const struct gpu_stream *home, int code);

/* The stream that a call names: NULL is the default stream of the thread's context. */
struct gpu_stream *emulated_stream_of(struct gpu_stream *stream);
/* Whether this is the default stream of the thread's context. */
bool emulated_is_current(const struct gpu_stream *home);

/* The bytes of the device whose context is the thread's; NULL: they are not within one allocation.
 * Work is queued with the result, as another thread may carry it out. */
uint8_t *emulated_range(gpu_address address, size_t bytes);
/* The bytes of the device with this context. */
uint8_t *emulated_range_of(const struct gpu_context *context, gpu_address address, size_t bytes);
/* Whether these bytes of the host are within one pinned allocation. */
bool emulated_is_pinned(const void *memory, size_t bytes);

/* Between enter and leave: queue a call of a function with a copy of its arguments, for the default
 * stream of the thread's context. */
int emulated_add_call(void (*call)(const void *arguments), const void *arguments, size_t bytes);

/* Between enter and leave: memory of a device, or pinned memory of the host, has become more, or
 * less. */
enum { EMULATED_HOST = EMULATED_DEVICES_MAX };
void emulated_note_memory(int device, int64_t bytes);

/* GPU_ILLEGAL_ADDRESS: a kernel has written outside of an allocation. */
int emulated_check_memory(void);

#endif
