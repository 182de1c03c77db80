/* kernels/cpu.c: matrix products by OpenBLAS, and the choice of loops. The only file that knows
 * BLAS. */
#include "kernels/cpu.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

void cpu_fingerprint(char *text, size_t size)
{
    if (snprintf(text, size, "cpu: %s; kernels for %s", openblas_get_config(),
                 openblas_get_corename()) < 0 &&
        size > 0)
        text[0] = '\0';
}

void cpu_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
                  const float *b, float *out)
{
    assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX);
    if (m == 0 || n == 0) return;
    if (k == 0) {
        memset(out, 0, m * n * sizeof *out);
        return;
    }
    size_t a_stride = transpose_a ? m : k, b_stride = transpose_b ? k : n;
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0F,
                a, (blasint)a_stride, b, (blasint)b_stride, 0.0F, out, (blasint)n);
}

/* One thread a product: the split of a sum over threads would change its bits, and at the sizes of
 * a slice two threads are slower than one. */
static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

const struct kernels *kernels_cpu(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int failed = pthread_once(&once, use_one_thread);
    assert(failed == 0);
#if defined(__x86_64__)
    if (cpu_loops_avx2() != NULL && __builtin_cpu_supports("avx2")) return cpu_loops_avx2();
#endif
    return cpu_loops_baseline();
}
