/*
 * kernels/cuda/emulated_cublas.c: the functions of kernels/gpu/cublas.h over the memory of the
 * emulated driver, as libcublas.so.13 beside its libcuda.so.1, so that programs which use cuBLAS
 * run without a GPU. Its bits are not NVIDIA's.
 */
#include "kernels/gpu/cublas.h"

enum { NOT_SUPPORTED = 15, VERSION = 130000 };

/* The symbols of cuBLAS. */
#define X(name, symbol, parameters)                                                                \
    __attribute__((visibility("default"))) int emulated_cublas_##name parameters __asm__(#symbol);
CUBLAS_FUNCTIONS(X)
#undef X

int emulated_cublas_create(struct cublas_handle **handle)
{
    static char only;
    *handle = (struct cublas_handle *)&only;
    return 0;
}

int emulated_cublas_destroy(struct cublas_handle *handle)
{
    (void)handle;
    return 0;
}

int emulated_cublas_version(struct cublas_handle *handle, int *version)
{
    (void)handle;
    *version = VERSION;
    return 0;
}

int emulated_cublas_set_math(struct cublas_handle *handle, cublas_math mode)
{
    (void)handle;
    return mode == CUBLAS_PEDANTIC ? 0 : NOT_SUPPORTED;
}

int emulated_cublas_multiply(struct cublas_handle *handle, cublas_operation a_as,
                             cublas_operation b_as, int m, int n, int k, const float *alpha,
                             const float *a, int a_step, const float *b, int b_step,
                             const float *beta, float *c, int c_step)
{
    (void)handle;
    if (*beta != 0) { return NOT_SUPPORTED; }
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) {
            float sum = 0;
            for (int p = 0; p < k; p++) {
                const int left = a_as == CUBLAS_AS_IS ? p * a_step + i : i * a_step + p;
                const int right = b_as == CUBLAS_AS_IS ? j * b_step + p : p * b_step + j;
                sum += a[left] * b[right];
            }
            c[j * c_step + i] = *alpha * sum;
        }
    }
    return 0;
}
