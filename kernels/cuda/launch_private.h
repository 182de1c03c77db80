/* kernels/cuda/launch_private.h: what the files of the GPU's library share. */
#ifndef KERNELS_CUDA_LAUNCH_PRIVATE_H
#define KERNELS_CUDA_LAUNCH_PRIVATE_H

#include "kernels/gpu/driver.h"
#include "kernels/gpu/queues.h"

/* The streams of copies. Kernels are in the default stream, with which these have no order. */
struct launch_streams {
    struct gpu_stream *to_device, *to_host;
};

/* Lock the GPU and make its context the thread's; launch_end() unlocks it and returns the status,
 * also if this fails. A failure of the GPU is kept, and `text` has the reason. */
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

/* Make the streams. The GPU is locked, or not yet shared. */
MUST_CHECK enum tn_status launch_open_streams(const struct gpu_driver *driver,
                                              struct launch_streams *streams, struct error *error);
extern const struct gpu_queues launch_queues;

#endif
