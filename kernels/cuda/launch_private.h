/* kernels/cuda/launch_private.h: what the files of the GPU's library share. */
#ifndef KERNELS_CUDA_LAUNCH_PRIVATE_H
#define KERNELS_CUDA_LAUNCH_PRIVATE_H

#include "kernels/gpu/driver.h"
#include "kernels/gpu/graphs.h"
#include "kernels/gpu/queues.h"

/* The streams of copies. Kernels are in the default stream, with which these have no order. */
struct launch_streams {
    struct gpu_stream *to_device, *to_host;
};

/* A kernel with its only argument, a struct. */
struct launch_kernel {
    const char *name;
    struct gpu_function *function;
    unsigned blocks, threads;
    void *arguments;
    size_t bytes;
};

/* Lock the GPU, make its context the thread's, and start the kernels that are held back;
 * launch_end() unlocks it and returns the status, also if this fails. A failure of the GPU is kept,
 * and `text` has the reason. */
MUST_CHECK enum tn_status launch_begin(struct error *text);
enum tn_status launch_end(enum tn_status status, const struct error *text, struct error *error);

/* Between them: */
const struct gpu_driver *launch_driver(void);
uint32_t launch_number(void); /* The GPU that the thread has selected. */
struct launch_streams *launch_streams(void);
/* The contexts of this GPU and of GPU `number`, between which copies go directly from now on if the
 * driver can do that, and otherwise through memory of the host. */
void launch_connect(uint32_t number, struct gpu_context **own, struct gpu_context **peer);
/* A code of the driver as the status of `what`. */
MUST_CHECK enum tn_status launch_check(int code, struct error *text, const char *what);

/* The kernel as the driver takes it; `arguments` points to its arguments. */
static inline struct gpu_kernel_node launch_node(const struct launch_kernel *kernel,
                                                 void **arguments)
{
    return (struct gpu_kernel_node){.function = kernel->function,
                                    .blocks_x = kernel->blocks,
                                    .blocks_y = 1,
                                    .blocks_z = 1,
                                    .threads_x = kernel->threads,
                                    .threads_y = 1,
                                    .threads_z = 1,
                                    .arguments = arguments};
}
/* Start a kernel in the default stream. */
MUST_CHECK enum tn_status launch_start(const struct launch_kernel *kernel, struct error *text);
/* Copy the kernel, to start it later. False: kernels of this thread are not held back, or there is
 * no memory. */
MUST_CHECK bool launch_hold(const struct launch_kernel *kernel);
/* Start the kernels of this thread that are held back, if there are any. */
MUST_CHECK enum tn_status launch_held(struct error *text);

/* Make the streams. The GPU is locked, or not yet shared. */
MUST_CHECK enum tn_status launch_open_streams(const struct gpu_driver *driver,
                                              struct launch_streams *streams, struct error *error);
extern const struct gpu_queues launch_queues;
extern const struct gpu_graph_functions launch_graphs;

#endif
