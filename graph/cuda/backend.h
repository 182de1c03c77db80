/*
 * graph/cuda/backend.h: the backend "cuda": the kernels of kernels/cuda/ on a GPU, with the bits of
 * "portable". Every operation of Tanist has one; those of users (tn_custom()) run on the CPU
 * (graph/device_memory.h), so that every graph runs.
 */
#ifndef GRAPH_CUDA_BACKEND_H
#define GRAPH_CUDA_BACKEND_H

#include "graph/core/backend.h"
#include "kernels/cuda/gpus.h"
#include "kernels/cuda/kernels.h"

struct cuda_library;

/* Whether `name` is `kernels`, such as "cuda", which is the first GPU, or `kernels` followed by
 * ":N" with N below CUDA_GPUS_MAX. */
bool backend_cuda_parse(const char *name, const char *kernels, uint32_t *gpu);

/* Opens GPU `gpu`, below CUDA_GPUS_MAX, whose backend belongs to one thread at a time. Errors as
 * cuda_library_open(). */
MUST_CHECK enum tn_status backend_cuda(uint32_t gpu, const struct backend **out,
                                       struct error *error);

/* The backend "cublas", "cublas-tf32" or "cublas-bf16": the same with products by cuBLAS. A row of
 * a product may have other bits if there are more rows, so slices are never computed together.
 * Errors as cuda_library_open_cublas().
 */
MUST_CHECK enum tn_status backend_cublas(uint32_t gpu, enum cuda_precision precision,
                                         const struct backend **out, struct error *error);

/* Whether `name` is one of these four backends, of any GPU; and the backend of such a name. */
bool backend_cuda_knows(const char *name);
MUST_CHECK enum tn_status backend_cuda_named(const char *name, const struct backend **out,
                                             struct error *error);

/* The backend of such a name without a GPU, for plans: programs that begin with it have the size of
 * those on a GPU, and cannot run. */
MUST_CHECK enum tn_status backend_cuda_planned(const char *name, const struct backend **out,
                                               struct error *error);

/* "cuda" over any library, which is valid as long as the backend is; for tests. */
MUST_CHECK enum tn_status backend_cuda_over(const struct cuda_library *library,
                                            struct backend *backend, struct error *error);

#endif
