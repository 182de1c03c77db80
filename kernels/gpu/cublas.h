/*
 * kernels/gpu/cublas.h: the port to cuBLAS: the functions that Tanist uses, as one table, loaded at
 * run time like the driver (driver.h). Its bits depend on its version and on the type of the GPU
 * (cublas_identity.h). kernels/cuda/launch_cublas.c trains with it, and bench/bench_gpu.c compares
 * Tanist's own matrix product with it.
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
typedef int cublas_atomics;
typedef int cublas_property;
typedef int cublas_type;
typedef int cublas_compute;
typedef int cublas_algorithm;
/* Floats from a matrix to the next one. */
typedef long long cublas_stride;

enum {
    CUBLAS_OLDEST = 12, /* The oldest major version that is used. */
    CUBLAS_NO_MEMORY = 3,
    CUBLAS_MAJOR = 0,
    CUBLAS_MINOR = 1,
    CUBLAS_PATCH = 2,
    CUBLAS_NO_ATOMICS = 0,
    CUBLAS_AS_IS = 0,
    CUBLAS_TRANSPOSED = 1,
    /* cublas_math: the one of the type of computation of a call; or, for calls without one, float32
     * throughout: neither TF32 nor emulation by other formats. */
    CUBLAS_AS_CALLED = 0,
    CUBLAS_PEDANTIC = 2,
    CUBLAS_FLOAT = 0, /* cublas_type */
    CUBLAS_BF16 = 14,
    /* cublas_compute: products and sums in float32; the same of float operands that are rounded to
     * TF32. */
    CUBLAS_IN_FLOAT = 68,
    CUBLAS_IN_TF32 = 77,
    CUBLAS_ANY_ALGORITHM = -1, /* cublas_algorithm: the library chooses. */
};

/* X(field, symbol in the library, parameters): tests/unit/kernels/gpu/test_cublas.c compares them
 * with NVIDIA's cublas_v2.h. Matrices are column-major. */
#define CUBLAS_FUNCTIONS(X)                                                                        \
    X(create, cublasCreate_v2, (struct cublas_handle * *handle))                                   \
    X(destroy, cublasDestroy_v2, (struct cublas_handle * handle))                                  \
    X(property, cublasGetProperty, (cublas_property type, int *value))                             \
    X(version, cublasGetVersion_v2, (struct cublas_handle * handle, int *version))                 \
    X(set_math, cublasSetMathMode, (struct cublas_handle * handle, cublas_math mode))              \
    X(set_atomics, cublasSetAtomicsMode, (struct cublas_handle * handle, cublas_atomics mode))     \
    X(set_workspace, cublasSetWorkspace_v2,                                                        \
      (struct cublas_handle * handle, void *workspace, size_t bytes))                              \
    X(multiply, cublasSgemm_v2,                                                                    \
      (struct cublas_handle * handle, cublas_operation a_as, cublas_operation b_as, int m, int n,  \
       int k, const float *alpha, const float *a, int a_step, const float *b, int b_step,          \
       const float *beta, float *c, int c_step))                                                   \
    X(multiply_pairs, cublasSgemmStridedBatched,                                                   \
      (struct cublas_handle * handle, cublas_operation a_as, cublas_operation b_as, int m, int n,  \
       int k, const float *alpha, const float *a, int a_step, cublas_stride a_next,                \
       const float *b, int b_step, cublas_stride b_next, const float *beta, float *c, int c_step,  \
       cublas_stride c_next, int count))                                                           \
    X(multiply_as, cublasGemmEx,                                                                   \
      (struct cublas_handle * handle, cublas_operation a_as, cublas_operation b_as, int m, int n,  \
       int k, const void *alpha, const void *a, cublas_type a_type, int a_step, const void *b,     \
       cublas_type b_type, int b_step, const void *beta, void *c, cublas_type c_type, int c_step,  \
       cublas_compute compute, cublas_algorithm algorithm))                                        \
    X(multiply_pairs_as, cublasGemmStridedBatchedEx,                                               \
      (struct cublas_handle * handle, cublas_operation a_as, cublas_operation b_as, int m, int n,  \
       int k, const void *alpha, const void *a, cublas_type a_type, int a_step,                    \
       cublas_stride a_next, const void *b, cublas_type b_type, int b_step, cublas_stride b_next,  \
       const void *beta, void *c, cublas_type c_type, int c_step, cublas_stride c_next, int count, \
       cublas_compute compute, cublas_algorithm algorithm))

/* The same of functions that return a text, which is static storage. */
#define CUBLAS_TEXTS(X)                                                                            \
    X(code_name, cublasGetStatusName, (cublas_code code))                                          \
    X(code_text, cublasGetStatusString, (cublas_code code))

struct cublas {
#define X(name, symbol, parameters) cublas_code(*name) parameters;
    CUBLAS_FUNCTIONS(X)
#undef X
#define X(name, symbol, parameters) const char *(*name)parameters;
    CUBLAS_TEXTS(X)
#undef X
};

/*
 * Load cuBLAS 13, or else 12, as the system's loader finds it (LD_LIBRARY_PATH). The table is
 * static storage; later calls return the same result.
 *
 *   TN_ENOENT  it is not installed, or is too old; the text has where it was looked for
 */
MUST_CHECK enum tn_status cublas_open(const struct cublas **table, struct error *error);

/* The version of a library, and the file from which it was loaded, which is static storage. */
struct cublas_version {
    int major, minor, patch;
    const char *file;
};

/* The version and file of the library that cublas_open() finds; no GPU is needed. Errors as
 * cublas_open(); also TN_EDEVICE: cuBLAS failed. */
MUST_CHECK enum tn_status cublas_find_version(struct cublas_version *version, struct error *error);

/*
 * The status of a call: TN_OK if `code` is 0, else an error whose text is the formatted one, the
 * name of the code and the library's own text.
 *
 *   TN_ENOMEM   out of memory
 *   TN_EDEVICE  any other code
 */
MUST_CHECK enum tn_status cublas_check(const struct cublas *table, int code, struct error *error,
                                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
