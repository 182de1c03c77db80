/* Shared by the tests of the CUDA kernels: an operation of a graph as the backend "portable"
 * computes it. */
#ifndef TESTS_UNIT_KERNELS_CUDA_PORTABLE_CALL_H
#define TESTS_UNIT_KERNELS_CUDA_PORTABLE_CALL_H

#include "graph/ops/ops.h"
#include "graph/portable/backend.h"
#include "tests/unit/kernels/cuda/device.h"

/* An array [rows][columns], or [rows] where columns is 0. */
static inline struct tn_view view_of(const void *data, enum tn_type type, size_t rows,
                                     size_t columns)
{
    struct tn_view view = {.data = (void *)(uintptr_t)data, .type = type};
    view.shape.rank = columns > 0 ? 2 : 1;
    view.shape.dims[0] = (int64_t)rows;
    view.shape.dims[1] = (int64_t)columns;
    return view;
}

static inline struct tn_view floats_view(const float *data, size_t rows, size_t columns)
{
    return view_of(data, TN_FLOAT32, rows, columns);
}

static inline const struct backend *portable_backend(void)
{
    const struct backend *backend = NULL;
    struct error error;
    assert_int_equal(backend_portable(NULL, &backend, &error), TN_OK);
    return backend;
}

/* `call` has inputs and outputs. */
static inline void run_portable(const struct op_type *op, double number, struct kernel_call call)
{
    const struct backend *backend = portable_backend();
    const struct node node = {.op = op, .attributes.numbers = {number}};
    call.node = &node;
    call.kernels = backend->kernels;
    call.workspace = aligned_alloc(64, (backend->needs(&call).workspace / 64 + 1) * 64);
    assert_non_null(call.workspace);
    backend->find(op)(&call);
    free(call.workspace);
}

#endif
