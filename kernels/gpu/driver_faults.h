/*
 * kernels/gpu/driver_faults.h: faults of GPUs for `tanist chaos`, injected between Tanist and the
 * driver, so that they are the same with NVIDIA's driver and with an emulated one.
 *
 * Threads: any.
 */
#ifndef KERNELS_GPU_DRIVER_FAULTS_H
#define KERNELS_GPU_DRIVER_FAULTS_H

#include "kernels/gpu/driver.h"

/*
 * Replace functions of the table by ones that call those which it has, pass the failpoints that
 * begin with "gpu.", and fail while `gpu_full` or `gpu_lost` of the process's struct fault_slot is
 * set. An injected error of a copy, a kernel, a graph or a wait is sticky: these calls, and
 * allocations, return it from then on, for all GPUs of the process. In a build without failpoints
 * nothing is replaced. Call it before the table is shared; another call forgets the error.
 */
void gpu_driver_add_faults(struct gpu_driver *driver);

#endif
