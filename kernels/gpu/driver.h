/*
 * kernels/gpu/driver.h: the port to the driver of GPUs: the functions of the CUDA driver API that
 * Tanist uses, as one table.
 *
 * The adapter (driver.c) fills the table from libcuda.so.1, which is loaded at run time: nothing of
 * CUDA is needed to build Tanist or to start it. Tests use an emulated driver with the same
 * symbols (kernels/cuda/emulated_driver.h). Meanings and arguments are those of the symbols in
 * NVIDIA's "CUDA Driver API"; each function returns a code, of which GPU_SUCCESS is 0.
 *
 * Threads: any; a context is current to the thread that has set it.
 */
#ifndef KERNELS_GPU_DRIVER_H
#define KERNELS_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* An address in the memory of a GPU. */
typedef uint64_t gpu_address;

/* Enumerations of the driver's API, which are ints. */
typedef int gpu_code;
typedef int gpu_attribute;

struct gpu_context;
struct gpu_stream; /* NULL: the stream of the context. */
struct gpu_event;
struct gpu_module;
struct gpu_function;
struct gpu_graph;      /* Kernels and their order. */
struct gpu_graph_exec; /* A graph that can be launched. */
struct gpu_node;       /* A kernel of a graph. */

/* The kernel of a node: CUDA_KERNEL_NODE_PARAMS_v2. */
struct gpu_kernel_node {
    struct gpu_function *function;
    unsigned blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z, shared_bytes;
    void **arguments; /* Copied by the call. */
    void **extra;
    void *kernel, *context; /* NULL: those of the function. */
};

/* Codes of the driver that Tanist distinguishes. */
enum {
    GPU_SUCCESS = 0,
    GPU_INVALID_VALUE = 1,
    GPU_OUT_OF_MEMORY = 2,
    GPU_NOT_INITIALIZED = 3,
    GPU_NO_DEVICE = 100,
    GPU_INVALID_DEVICE = 101,
    GPU_INVALID_IMAGE = 200,
    GPU_INVALID_CONTEXT = 201,
    GPU_NO_CODE_FOR_DEVICE = 209,
    GPU_ECC_UNCORRECTABLE = 214,
    GPU_PEER_UNSUPPORTED = 217,
    GPU_INVALID_HANDLE = 400,
    GPU_NOT_FOUND = 500,
    GPU_NOT_READY = 600,
    GPU_ILLEGAL_ADDRESS = 700,
    GPU_PEER_ENABLED = 704,
    GPU_LAUNCH_FAILED = 719,
    GPU_NOT_SUPPORTED = 801,
    GPU_UNKNOWN = 999,
};

/* Attributes of device_attribute(). */
enum {
    GPU_MULTIPROCESSORS = 16,
    GPU_CAPABILITY_MAJOR = 75,
    GPU_CAPABILITY_MINOR = 76,
};

/* Flags of allocate_pinned(), stream_create() and event_create(). */
enum {
    GPU_PINNED_PORTABLE = 1,     /* For all contexts. */
    GPU_STREAM_NON_BLOCKING = 1, /* Not ordered with the default stream of the context. */
    GPU_EVENT_DISABLE_TIMING = 2,
};

/* The library, as the loader finds it: LD_LIBRARY_PATH, then the system's folders. */
#define GPU_DRIVER_LIBRARY "libcuda.so.1"

/* X(field, symbol in the library, parameters): tests/unit/kernels/gpu/test_driver.c compares them
 * with NVIDIA's cuda.h. */
#define GPU_DRIVER_FUNCTIONS(X)                                                                    \
    X(init, cuInit, (unsigned flags))                                                              \
    X(driver_version, cuDriverGetVersion, (int *version)) /* 13010: 13.1 */                        \
    X(device_count, cuDeviceGetCount, (int *count))                                                \
    X(device_get, cuDeviceGet, (int *device, int index))                                           \
    X(device_name, cuDeviceGetName, (char *name, int size, int device))                            \
    X(device_attribute, cuDeviceGetAttribute, (int *value, gpu_attribute attribute, int device))   \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, int device))                            \
    X(device_can_access, cuDeviceCanAccessPeer, (int *can, int device, int peer))                  \
    X(context_retain, cuDevicePrimaryCtxRetain, (struct gpu_context * *context, int device))       \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                                 \
    X(context_set, cuCtxSetCurrent, (struct gpu_context * context))                                \
    X(context_wait, cuCtxSynchronize, (void))                                                      \
    X(context_enable_peer, cuCtxEnablePeerAccess, (struct gpu_context * peer, unsigned flags))     \
    X(memory_info, cuMemGetInfo_v2, (size_t * unused, size_t * total))                             \
    X(allocate, cuMemAlloc_v2, (gpu_address * memory, size_t bytes))                               \
    X(release, cuMemFree_v2, (gpu_address memory))                                                 \
    X(allocate_pinned, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))              \
    X(release_pinned, cuMemFreeHost, (void *memory))                                               \
    X(upload, cuMemcpyHtoDAsync_v2,                                                                \
      (gpu_address to, const void *from, size_t bytes, struct gpu_stream *stream))                 \
    X(download, cuMemcpyDtoHAsync_v2,                                                              \
      (void *to, gpu_address from, size_t bytes, struct gpu_stream *stream))                       \
    X(copy, cuMemcpyDtoDAsync_v2,                                                                  \
      (gpu_address to, gpu_address from, size_t bytes, struct gpu_stream * stream))                \
    X(copy_peer, cuMemcpyPeerAsync,                                                                \
      (gpu_address to, struct gpu_context * to_context, gpu_address from,                          \
       struct gpu_context * from_context, size_t bytes, struct gpu_stream * stream))               \
    X(fill, cuMemsetD8Async,                                                                       \
      (gpu_address memory, unsigned char value, size_t bytes, struct gpu_stream *stream))          \
    X(stream_create, cuStreamCreate, (struct gpu_stream * *stream, unsigned flags))                \
    X(stream_destroy, cuStreamDestroy_v2, (struct gpu_stream * stream))                            \
    X(stream_wait, cuStreamSynchronize, (struct gpu_stream * stream))                              \
    X(stream_wait_event, cuStreamWaitEvent,                                                        \
      (struct gpu_stream * stream, struct gpu_event * event, unsigned flags))                      \
    X(event_create, cuEventCreate, (struct gpu_event * *event, unsigned flags))                    \
    X(event_destroy, cuEventDestroy_v2, (struct gpu_event * event))                                \
    X(event_record, cuEventRecord, (struct gpu_event * event, struct gpu_stream * stream))         \
    X(event_wait, cuEventSynchronize, (struct gpu_event * event))                                  \
    X(event_elapsed, cuEventElapsedTime,                                                           \
      (float *milliseconds, struct gpu_event *begin, struct gpu_event *end))                       \
    X(module_load, cuModuleLoadData, (struct gpu_module * *module, const void *image))             \
    X(module_unload, cuModuleUnload, (struct gpu_module * module))                                 \
    X(module_function, cuModuleGetFunction,                                                        \
      (struct gpu_function * *function, struct gpu_module * module, const char *name))             \
    X(launch, cuLaunchKernel,                                                                      \
      (struct gpu_function * function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,    \
       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,          \
       struct gpu_stream *stream, void **arguments, void **extra))                                 \
    X(error_name, cuGetErrorName, (gpu_code code, const char **name))                              \
    X(error_text, cuGetErrorString, (gpu_code code, const char **text))

/* Functions of CUDA 12.0 and above, which an older driver lacks. The members are then all NULL. */
#define GPU_DRIVER_GRAPHS(X)                                                                       \
    X(graph_create, cuGraphCreate, (struct gpu_graph * *graph, unsigned flags))                    \
    X(graph_destroy, cuGraphDestroy, (struct gpu_graph * graph))                                   \
    X(graph_add_kernel, cuGraphAddKernelNode_v2,                                                   \
      (struct gpu_node * *node, struct gpu_graph * graph, struct gpu_node *const *behind,          \
       size_t behind_count, const struct gpu_kernel_node *kernel))                                 \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                              \
      (struct gpu_graph_exec * *exec, struct gpu_graph * graph, unsigned long long flags))         \
    X(graph_set_kernel, cuGraphExecKernelNodeSetParams_v2,                                         \
      (struct gpu_graph_exec * exec, struct gpu_node * node,                                       \
       const struct gpu_kernel_node *kernel))                                                      \
    X(graph_launch, cuGraphLaunch, (struct gpu_graph_exec * exec, struct gpu_stream * stream))     \
    X(graph_exec_destroy, cuGraphExecDestroy, (struct gpu_graph_exec * exec))

struct gpu_driver {
#define X(name, symbol, parameters) gpu_code(*name) parameters;
    GPU_DRIVER_FUNCTIONS(X)
    GPU_DRIVER_GRAPHS(X)
#undef X
};

/* Whether the driver has the functions of GPU_DRIVER_GRAPHS. */
static inline bool gpu_driver_has_graphs(const struct gpu_driver *driver)
{
    return driver->graph_launch != NULL;
}

/*
 * Load the driver's library and initialise it; later calls return the same result. The table is
 * static storage and stays valid.
 *
 *   TN_ENOENT     the library does not exist, or the driver finds no GPU (CUDA_VISIBLE_DEVICES may
 *                 hide them): this machine has none, and `error` has the reason
 *   TN_EINTERNAL  the library lacks a function or cannot be initialised; `error` has its text
 */
MUST_CHECK enum tn_status gpu_driver_open(const struct gpu_driver **driver, struct error *error);

/*
 * The status of a call: TN_OK if `code` is GPU_SUCCESS, else an error whose text is the formatted
 * one, the name of the code and the driver's own text.
 *
 *   TN_ENOMEM     out of the GPU's memory
 *   TN_ENOENT     the driver finds no GPU
 *   TN_EINTERNAL  any other code; after most of them the context cannot be used again
 */
MUST_CHECK enum tn_status gpu_check(const struct gpu_driver *driver, int code, struct error *error,
                                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
