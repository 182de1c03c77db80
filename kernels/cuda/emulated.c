/* kernels/cuda/emulated.c: the emulation as a library with one device, in this process's memory. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/library.h"

enum { ALIGNMENT = 256 };

/* Filled with NaN, as memory of a device is not zero either. */
static enum tn_status allocate(size_t bytes, void **memory, struct error *error)
{
    const size_t rounded = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    *memory = aligned_alloc(ALIGNMENT, rounded);
    if (*memory == NULL) { return error_set(error, TN_ENOMEM, "out of memory: %zu bytes", bytes); }
    memset(*memory, 0xff, rounded);
    return TN_OK;
}

static enum tn_status copy(void *to, const void *from, size_t bytes, struct error *error)
{
    (void)error;
    memcpy(to, from, bytes);
    return TN_OK;
}

static enum tn_status receive(void *to, uint32_t number, const void *from, size_t bytes,
                              struct error *error)
{
    (void)number;
    return copy(to, from, bytes, error);
}

static enum tn_status clear(void *memory, size_t bytes, struct error *error)
{
    (void)error;
    memset(memory, 0, bytes);
    return TN_OK;
}

static enum tn_status wait(struct error *error)
{
    (void)error;
    return TN_OK;
}

/* ------------------------------------------------------ queues: all work is done at once */

static enum tn_status create_event(struct gpu_event **event, struct error *error)
{
    void *memory = NULL;
    const enum tn_status status = allocate(1, &memory, error);
    *event = memory;
    return status;
}

static void destroy_event(struct gpu_event *event)
{
    free(event);
}

static enum tn_status record(struct gpu_event *event, enum gpu_queue queue, struct error *error)
{
    (void)event;
    (void)queue;
    return wait(error);
}

static enum tn_status follow(enum gpu_queue queue, struct gpu_event *event, struct error *error)
{
    return record(event, queue, error);
}

static enum tn_status await(struct gpu_event *event, struct error *error)
{
    (void)event;
    return wait(error);
}

static const struct gpu_queues queues = {
    .allocate = allocate,
    .release = free,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .send = copy,
    .fetch = copy,
    .receive = receive,
    .record = record,
    .follow = follow,
    .await = await,
};

const struct cuda_library *cuda_emulated(void)
{
    static struct cuda_kernels kernels;
    static const struct cuda_library library = {
        .name = "emulation",
        .kernels = &kernels,
        .allocate = allocate,
        .release = free,
        .upload = copy,
        .download = copy,
        .clear = clear,
        .wait = wait,
        .queues = &queues,
    };
#define X(family) CUDA_FILL(family)(&kernels);
    CUDA_FAMILIES(X)
#undef X
    return &library;
}
