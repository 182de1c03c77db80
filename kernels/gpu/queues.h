/*
 * kernels/gpu/queues.h: asynchronous work of a GPU: three queues (streams of the driver), one for
 * kernels and one for copies in each direction, events that order them, and memory of the host that
 * is copied without the CPU.
 *
 * The work of one queue is done in its order. Only events order the work of different queues:
 * record() marks a place in a queue, follow() lets another queue wait for it, and await() the
 * caller. An event may be recorded again after the calls of follow() and await() for its last
 * record.
 *
 * All functions with a status fail with TN_EDEVICE and the reason: then, or earlier, the device has
 * failed. TN_ENOMEM, too, where something is allocated. await() reports each failure of the work
 * that it waits for.
 *
 * Threads: any; calls of one device exclude each other.
 */
#ifndef KERNELS_GPU_QUEUES_H
#define KERNELS_GPU_QUEUES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum gpu_queue {
    GPU_KERNELS,   /* Kernels, and the functions that wait for their copy. */
    GPU_TO_DEVICE, /* send(). */
    GPU_TO_HOST,   /* fetch(). */
};

struct gpu_event;

struct gpu_queues {
    /* Memory of the host, aligned to 64 bytes; the owner releases it. If it cannot be pinned, it is
     * pageable, which is logged once: copies are then slower, and fetch() waits. */
    enum tn_status (*allocate)(size_t bytes, void **memory, struct error *error);
    void (*release)(void *memory); /* NULL is allowed. */
    enum tn_status (*create_event)(struct gpu_event **event, struct error *error);
    void (*destroy_event)(struct gpu_event *event); /* NULL is allowed. */
    /* Queue a copy. `from` of send() may change when it is done if it is memory of allocate(), and
     * otherwise on return. `to` of fetch() is memory of allocate(). */
    enum tn_status (*send)(void *to, const void *from, size_t bytes, struct error *error);
    enum tn_status (*fetch)(void *to, const void *from, size_t bytes, struct error *error);
    /* Queue a copy from the memory of GPU `number`, which was opened, or of this one, among the
     * kernels. It follows events of that GPU only where follow() lets it. */
    enum tn_status (*receive)(void *to, uint32_t number, const void *from, size_t bytes,
                              struct error *error);
    /* The event is of the same device; follow() takes events of all. */
    enum tn_status (*record)(struct gpu_event *event, enum gpu_queue queue, struct error *error);
    enum tn_status (*follow)(enum gpu_queue queue, struct gpu_event *event, struct error *error);
    enum tn_status (*await)(struct gpu_event *event, struct error *error);
};

#endif
