/*
 * kernels/gpu/cublas_identity.h: what the bits of cuBLAS depend on. By its documentation they are
 * the same in each run of one version on GPUs of the same architecture with the same number of
 * multiprocessors, if a stream has a workspace of its own.
 *
 * Threads: any; the context that is current to the thread is replaced by none. Blocks for up to
 * seconds.
 */
#ifndef KERNELS_GPU_CUBLAS_IDENTITY_H
#define KERNELS_GPU_CUBLAS_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* The beginning and the end of an identity. */
#define CUBLAS_IDENTITY     "cuBLAS "
#define CUBLAS_IDENTITY_END " multiprocessors"

/*
 * "cuBLAS 13.1.0, capability 9.0, 132 multiprocessors" for `count` GPUs from number `first` on, of
 * those that the driver shows, beginning with the first after the last. `size` is at least 96.
 *
 *   TN_ENOENT   no driver, no GPU or no cuBLAS
 *   TN_EINVAL   the GPUs are not of one type
 *   TN_EDEVICE  the driver failed
 */
MUST_CHECK enum tn_status cublas_identity(uint32_t first, uint32_t count, char *text, size_t size,
                                          struct error *error);

#endif
