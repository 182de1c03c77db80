#include "kernels/blas.h"

#include <assert.h>
#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/library_function.h"
#include "kernels/kernels.h"
#include "kernels/overlap.h"

static struct {
    pthread_once_t once;
    bool loaded;
    char problem[256]; /* Why it could not be loaded. */
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(openblas_get_config) *get_config;
    __typeof__(openblas_get_corename) *get_corename;
} blas = {.once = PTHREAD_ONCE_INIT};

static void load(void)
{
    /* Otherwise the library starts one thread per processor when it is loaded. */
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
    __typeof__(openblas_set_num_threads) *set_num_threads;
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL); /* Never closed. */
    blas.loaded = library != NULL && library_function(library, "cblas_sgemm", &blas.sgemm) &&
                  library_function(library, "openblas_get_config", &blas.get_config) &&
                  library_function(library, "openblas_get_corename", &blas.get_corename) &&
                  library_function(library, "openblas_set_num_threads", &set_num_threads);
    if (blas.loaded) {
        /* One thread per product: dividing a sum among threads would change its bits, and for a
         * matrix of the size of a slice two threads are slower than one. */
        set_num_threads(1);
        return;
    }
    const char *reason = dlerror();
    if (snprintf(blas.problem, sizeof blas.problem, "%s", reason != NULL ? reason : "unknown") <
        0) {
        blas.problem[0] = '\0';
    }
}

enum tn_status blas_open(struct error *error)
{
    int failed = pthread_once(&blas.once, load);
    assert(failed == 0);
    if (blas.loaded) { return TN_OK; }
    return error_set(error, TN_ENOENT,
                     "kernels 'cpu': OpenBLAS cannot be loaded (%s): install Debian's libopenblas0",
                     blas.problem);
}

static void need_blas(void)
{
    struct error error;
    enum tn_status status = blas_open(&error);
    assert(status == TN_OK); /* The program did not check with kernels_open(). */
}

void blas_fingerprint(char *text, size_t size)
{
    need_blas();
    if (snprintf(text, size, "cpu: %s" KERNELS_FOR "%s", blas.get_config(), blas.get_corename()) <
            0 &&
        size > 0) {
        text[0] = '\0';
    }
}

void blas_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float *out)
{
    need_blas();
    assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX);
    assert(are_disjoint(out, m * n, a, m * k));
    assert(are_disjoint(out, m * n, b, k * n));
    if (m == 0 || n == 0) { return; }
    if (k == 0) {
        memset(out, 0, m * n * sizeof *out);
        return;
    }
    size_t a_stride = transpose_a ? m : k, b_stride = transpose_b ? k : n;
    blas.sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
               transpose_b ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, 1.0F, a,
               (blasint)a_stride, b, (blasint)b_stride, 0.0F, out, (blasint)n);
}
