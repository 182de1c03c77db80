/*
 * kernels/blas.h: OpenBLAS, loaded at run time. Private to kernels/; blas.c is the only file that
 * uses BLAS.
 *
 * Loading it late has two advantages: a process without matrices starts faster and stays small, and
 * the library can be configured to start no threads. It selects its kernels by the processor, or by
 * OPENBLAS_CORETYPE; the fingerprint contains the result.
 */
#ifndef KERNELS_BLAS_H
#define KERNELS_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* Load the library unless it is loaded. Sets OPENBLAS_NUM_THREADS in this process: call it before
 * there are threads. TN_ENOENT: it is not installed; the error names the package. */
MUST_CHECK enum tn_status blas_open(struct error *error);

/* `multiply` and `fingerprint` of struct kernels. They load the library if necessary, and abort the
 * program if it is not installed. */
void blas_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float *out);
void blas_fingerprint(char *text, size_t size);

#endif
