/*
 * kernels/blas.h: OpenBLAS, loaded at run time. Private to kernels/; blas.c is the only file that
 * knows BLAS.
 *
 * Loading it late has two gains: a process without matrices starts faster and stays small, and the
 * library can be told, before it starts them, to have no threads. Which kernels it takes is its own
 * choice by the processor, or the user's by OPENBLAS_CORETYPE; the fingerprint tells.
 */
#ifndef KERNELS_BLAS_H
#define KERNELS_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

/* Load the library, once. Sets OPENBLAS_NUM_THREADS in this process: call it before there are
 * threads. TN_ENOENT: it is not installed; the text says what to install. */
MUST_CHECK enum tn_status blas_open(struct error *error);

/* As struct kernels' multiply and fingerprint. They load the library if nobody has, and it must be
 * there then. */
void blas_multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a,
                   const float *b, float *out);
void blas_fingerprint(char *text, size_t size);

#endif
