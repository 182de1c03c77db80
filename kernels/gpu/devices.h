/*
 * kernels/gpu/devices.h: the GPUs of this machine.
 *
 * Threads: any; the context that is current to the thread is replaced by none.
 */
#ifndef KERNELS_GPU_DEVICES_H
#define KERNELS_GPU_DEVICES_H

#include <stdbool.h>

#include "kernels/gpu/driver.h"

enum { GPU_DEVICES_MAX = 64, GPU_NAME_MAX = 96 };

struct gpu_device {
    char name[GPU_NAME_MAX];
    uint32_t major, minor; /* Compute capability. */
    uint32_t multiprocessors;
    uint64_t memory_bytes;
    uint64_t free_bytes;
    char problem[ERROR_TEXT_MAX]; /* Why it cannot be used, and free_bytes is 0; "": it can. */
};

struct gpu_devices {
    uint32_t driver_major, driver_minor; /* The newest CUDA that the driver supports. */
    uint32_t count;
    struct gpu_device list[GPU_DEVICES_MAX]; /* In the driver's order: that of "/gpu:N". */
};

/*
 * Describe all GPUs that the driver shows, at most GPU_DEVICES_MAX; CUDA_VISIBLE_DEVICES chooses
 * them. To learn how much memory is free, each one is opened for a moment, which takes some hundred
 * MiB of its memory; one that cannot be opened has a `problem`. Blocks for up to seconds.
 *
 *   TN_EINTERNAL  the driver failed
 */
MUST_CHECK enum tn_status gpu_devices_list(const struct gpu_driver *driver,
                                           struct gpu_devices *devices, struct error *error);

/* How many GPUs the driver shows; it is loaded if that is not done. Errors as gpu_driver_open(). */
MUST_CHECK enum tn_status gpu_devices_count(uint32_t *count, struct error *error);

#endif
