/*
 * kernels/cuda/module_file.h: the file of the kernels for GPUs, which nvcc made (module.cu).
 *
 * Threads: any. Blocks on the disk.
 */
#ifndef KERNELS_CUDA_MODULE_FILE_H
#define KERNELS_CUDA_MODULE_FILE_H

#include <stddef.h>

#include "common/base/error.h"

/*
 * Read the file that TANIST_CUDA_MODULE names, or else tanist-cuda.fatbin in the folder of the
 * program, in the library folder where it is installed, or where libtanist is. The caller frees
 * `*image`, which is NULL after a failure. `path` has room for PATH_MAX bytes.
 *
 *   TN_ENOENT  there is none; the text has the remedy
 *   TN_EINVAL  it is larger than a module can be
 *   TN_EIO     it cannot be read
 */
MUST_CHECK enum tn_status module_file_read(char **image, char *path, struct error *error);

#endif
