/*
 * kernels/gpu/cublas.h: the port to cuBLAS: the functions that Tanist uses, as one table, loaded at
 * run time like the driver (driver.h). Training does not use cuBLAS: its bits depend on the GPU and
 * on its version. bench/bench_gpu.c compares Tanist's own matrix product with it.
 *
 * Meanings and arguments are those of NVIDIA's "cuBLAS"; each function returns a code, of which 0
 * is success. Calls use the context that is current to the thread, and its default stream.
 *
 * Threads: any, with a handle each. Blocks: cublas_open(), for up to seconds.
 */
#ifndef KERNELS_GPU_CUBLAS_H
#define KERNELS_GPU_CUBLAS_H

#include <stddef.h>

#include "common/base/error.h"

struct cublas_handle;

/* Enumerations of cuBLAS, which are ints. */
typedef int cublas_code;
typedef int cublas_operation;
typedef int cublas_math;

enum {
    CUBLAS_AS_IS = 0,
    CUBLAS_TRANSPOSED = 1,
    CUBLAS_PEDANTIC = 2, /* float32 throughout: neither TF32 nor emulation by other formats. */
};

/* X(field, symbol in the library, parameters): tests/unit/kernels/gpu/test_cublas.c compares them
 * with NVIDIA's cublas_v2.h. Matrices are column-major. */
#define CUBLAS_FUNCTIONS(X)                                                                        \
    X(create, cublasCreate_v2, (struct cublas_handle * *handle))                                   \
    X(destroy, cublasDestroy_v2, (struct cublas_handle * handle))                                  \
    X(version, cublasGetVersion_v2, (struct cublas_handle * handle, int *version))                 \
    X(set_math, cublasSetMathMode, (struct cublas_handle * handle, cublas_math mode))              \
    X(multiply, cublasSgemm_v2,                                                                    \
      (struct cublas_handle * handle, cublas_operation a_as, cublas_operation b_as, int m, int n,  \
       int k, const float *alpha, const float *a, int a_step, const float *b, int b_step,          \
       const float *beta, float *c, int c_step))

struct cublas {
#define X(name, symbol, parameters) cublas_code(*name) parameters;
    CUBLAS_FUNCTIONS(X)
#undef X
};

/*
 * Load cuBLAS 13, or else 12, as the system's loader finds it (LD_LIBRARY_PATH). The table is
 * static storage. One thread at a time.
 *
 *   TN_ENOENT     it is not installed; the text has the loader's reason
 *   TN_EINTERNAL  the library lacks a function; the text names it
 */
MUST_CHECK enum tn_status cublas_open(const struct cublas **table, struct error *error);

#endif
