/*
 * graph/core/backend.h: where a program runs: a kernel for each operation.
 *
 * Threads: a backend has no state; any thread may use it. No kernel allocates or blocks. One whose
 * data are in the process's memory cannot fail; those of a device fail at the next copy or wait.
 */
#ifndef GRAPH_CORE_BACKEND_H
#define GRAPH_CORE_BACKEND_H

#include "common/base/error.h"
#include "graph/core/node.h"
#include "kernels/gpu/graphs.h"
#include "kernels/gpu/queues.h"

/* Everything that a kernel may depend on. Shapes have no TN_BATCH. Unless the operation's traits
 * allow it, no output overlaps an input. */
struct kernel_call {
    const struct node *node;
    struct tn_view in[OP_INPUTS_MAX], out[OP_OUTPUTS_MAX];
    uint64_t seed, step, first_example; /* For random operations (rule A11). */
    uint32_t examples;                  /* In this slice. */
    float scale;                        /* The factor of the gradient: 1 / batch. */
    const void *kernels;                /* The kernels of the backend. */
    uint32_t slices;                    /* Whose sums are added over their tree; 0 or 1: one. */
    uint32_t steady;                    /* Bit i: input i is a variable, equal in many runs. */
    void *workspace;                    /* As large as needed, aligned to 64. */
    const void *packed;                 /* As pack() wrote it. NULL: `packed` is 0 in the needs. */
};

/* The memory that a kernel needs beside inputs and outputs, in bytes. */
struct kernel_needs {
    uint64_t workspace; /* During the call, also that of pack(). */
    uint64_t packed;    /* For another form of a steady input, which is kept between runs. */
};

typedef void (*kernel_function)(const struct kernel_call *call);

/* The memory of a backend whose kernels read and write that of a device. Memory begins at a
 * multiple of 256 bytes and is released by its owner. Functions fail with TN_ENOMEM (allocate), or
 * with TN_EDEVICE and the reason: then, or earlier, the device has failed, also in a kernel. */
struct backend_device {
    /* Whether the kernel found for this operation takes these types and shapes. Where it does not,
     * or there is none, the operation runs on the CPU by backend `host`. */
    bool (*fits)(const struct kernel_call *call);
    const struct backend *host; /* NULL: there is no device, and no other member is valid. */
    /* Called before all others, and before kernels, by a thread that may have used another device.
     * NULL: there is one only. */
    void (*select)(uint32_t number);
    uint32_t number; /* The number of this device. */
    enum tn_status (*allocate)(size_t bytes, void **memory, struct error *error);
    void (*release)(void *memory); /* NULL is allowed. */
    enum tn_status (*upload)(void *to, const void *from, size_t bytes, struct error *error);
    enum tn_status (*download)(void *to, const void *from, size_t bytes, struct error *error);
    enum tn_status (*clear)(void *memory, size_t bytes, struct error *error); /* Zeros. */
    enum tn_status (*wait)(struct error *error);
    /* A kernel: add `count` floats. */
    void (*add)(size_t count, const float *from, float *into);
    const struct gpu_queues *queues; /* Copies while kernels run. */
    /* Kernels that are started together. NULL: each is started alone. */
    const struct gpu_graph_functions *graphs;
};

struct backend {
    const char *name;
    bool wide;           /* Floats are doubles in memory. */
    bool joins;          /* Sums over examples by op_matmul and op_sum obey `slices` of a call. */
    const void *kernels; /* Passed to each call. */
    /* The kernel for this operation. NULL: this backend has none. */
    kernel_function (*find)(const struct op_type *op);
    /* From node, shapes, types, kernels, `steady` and `slices`, which may be 0 or 1 in the call of
     * the kernel; no data. NULL: no kernel needs anything. */
    struct kernel_needs (*needs)(const struct kernel_call *call);
    /* Write the packed form of a steady input. It is called before the kernel whenever the
     * variables have changed. */
    void (*pack)(const struct kernel_call *call, void *packed);
    struct backend_device device;
};

static inline bool backend_has_device(const struct backend *backend)
{
    return backend->device.host != NULL;
}

/* Element `at` of a view of integers. */
static inline int64_t integer_at(const struct tn_view *view, int64_t at)
{
    switch (view->type) {
    case TN_INT32: return ((const int32_t *)view->data)[at];
    case TN_INT64: return ((const int64_t *)view->data)[at];
    case TN_UINT8: return ((const uint8_t *)view->data)[at];
    case TN_FLOAT32: break;
    }
    assert(false && "an integer type");
    return 0;
}

#endif
