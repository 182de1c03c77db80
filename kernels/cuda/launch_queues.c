/* kernels/cuda/launch_queues.c: the queues of the GPU of this process (kernels/gpu/queues.h). */
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "kernels/cuda/launch_private.h"

enum { HEADER_BYTES = 64 };

/* Before the memory that allocate() returns. */
struct header {
    bool is_pinned;
};

enum tn_status launch_open_streams(const struct gpu_driver *driver, struct launch_streams *streams,
                                   struct error *error)
{
    enum tn_status status =
        launch_check(driver->stream_create(&streams->to_device, GPU_STREAM_NON_BLOCKING), error,
                     "cuStreamCreate");
    if (status != TN_OK) { return status; }
    return launch_check(driver->stream_create(&streams->to_host, GPU_STREAM_NON_BLOCKING), error,
                        "cuStreamCreate");
}

static struct gpu_stream *stream_of(enum gpu_queue queue)
{
    switch (queue) {
    case GPU_TO_DEVICE: return launch_streams()->to_device;
    case GPU_TO_HOST: return launch_streams()->to_host;
    case GPU_KERNELS: break;
    }
    return NULL;
}

/* ------------------------------------------------------ memory */

static void *allocate_pageable(size_t bytes, const struct error *reason)
{
    static atomic_flag was_logged = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&was_logged)) {
        log_warn("memory of the host cannot be pinned for the GPU, so copies wait for each other: "
                 "%s",
                 reason->text);
    }
    return aligned_alloc(HEADER_BYTES, (bytes + HEADER_BYTES - 1) / HEADER_BYTES * HEADER_BYTES);
}

/* Without pinned memory a GPU works as well; not after it has failed. */
static enum tn_status allocate(size_t bytes, void **memory, struct error *error)
{
    struct error text = {.status = TN_OK}, reason = {.status = TN_OK};
    void *all = NULL;
    *memory = NULL;
    enum tn_status status = launch_begin(&text);
    bool is_pinned = false;
    if (status == TN_OK) {
        const int code =
            launch_driver()->allocate_pinned(&all, bytes + HEADER_BYTES, GPU_PINNED_PORTABLE);
        is_pinned = launch_check(code, &reason, "cuMemHostAlloc") == TN_OK;
        if (!is_pinned) { all = allocate_pageable(bytes + HEADER_BYTES, &reason); }
        if (all == NULL) {
            status = error_set(&text, TN_ENOMEM, "out of memory: %zu bytes of the host", bytes);
        }
    }
    if (status == TN_OK) {
        ((struct header *)all)->is_pinned = is_pinned;
        *memory = (uint8_t *)all + HEADER_BYTES;
    }
    return launch_end(status, &text, error);
}

/* After a failure of the GPU, pinned memory is released by the end of this process. */
static void release(void *memory)
{
    struct error text = {.status = TN_OK};
    if (memory == NULL) { return; }
    struct header *header = (struct header *)(void *)((uint8_t *)memory - HEADER_BYTES);
    enum tn_status status = launch_begin(&text);
    if (!header->is_pinned) {
        free(header);
    } else if (status == TN_OK) {
        status = launch_check(launch_driver()->release_pinned(header), &text, "cuMemFreeHost");
    }
    (void)launch_end(status, &text, NULL);
}

/* ------------------------------------------------------ events and copies */

static enum tn_status create_event(struct gpu_event **event, struct error *error)
{
    struct error text = {.status = TN_OK};
    *event = NULL;
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK) {
        status = launch_check(launch_driver()->event_create(event, GPU_EVENT_DISABLE_TIMING), &text,
                              "cuEventCreate");
    }
    return launch_end(status, &text, error);
}

/* Allowed for a device that has failed. */
static void destroy_event(struct gpu_event *event)
{
    struct error text = {.status = TN_OK};
    if (event == NULL) { return; }
    enum tn_status status = launch_begin(&text);
    const int code = launch_driver()->event_destroy(event);
    if (status == TN_OK) { status = launch_check(code, &text, "cuEventDestroy"); }
    (void)launch_end(status, &text, NULL);
}

static gpu_address address_of(const void *memory)
{
    return (gpu_address)(uintptr_t)memory;
}

static enum tn_status send(void *to, const void *from, size_t bytes, struct error *error)
{
    struct error text = {.status = TN_OK};
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK && bytes > 0) {
        const int code =
            launch_driver()->upload(address_of(to), from, bytes, launch_streams()->to_device);
        status = launch_check(code, &text, "cuMemcpyHtoDAsync");
    }
    return launch_end(status, &text, error);
}

static enum tn_status fetch(void *to, const void *from, size_t bytes, struct error *error)
{
    struct error text = {.status = TN_OK};
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK && bytes > 0) {
        const int code =
            launch_driver()->download(to, address_of(from), bytes, launch_streams()->to_host);
        status = launch_check(code, &text, "cuMemcpyDtoHAsync");
    }
    return launch_end(status, &text, error);
}

static enum tn_status receive(void *to, uint32_t number, const void *from, size_t bytes,
                              struct error *error)
{
    struct error text = {.status = TN_OK};
    assert(bytes > 0);
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK && number == launch_number()) {
        const int code = launch_driver()->copy(address_of(to), address_of(from), bytes, NULL);
        status = launch_check(code, &text, "cuMemcpyDtoDAsync");
    } else if (status == TN_OK) {
        struct gpu_context *own, *peer;
        launch_connect(number, &own, &peer);
        const int code =
            launch_driver()->copy_peer(address_of(to), own, address_of(from), peer, bytes, NULL);
        status = launch_check(code, &text, "cuMemcpyPeerAsync");
    }
    return launch_end(status, &text, error);
}

static enum tn_status record(struct gpu_event *event, enum gpu_queue queue, struct error *error)
{
    struct error text = {.status = TN_OK};
    assert(event != NULL);
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK) {
        status = launch_check(launch_driver()->event_record(event, stream_of(queue)), &text,
                              "cuEventRecord");
    }
    return launch_end(status, &text, error);
}

static enum tn_status follow(enum gpu_queue queue, struct gpu_event *event, struct error *error)
{
    struct error text = {.status = TN_OK};
    assert(event != NULL);
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK) {
        status = launch_check(launch_driver()->stream_wait_event(stream_of(queue), event, 0), &text,
                              "cuStreamWaitEvent");
    }
    return launch_end(status, &text, error);
}

static enum tn_status await(struct gpu_event *event, struct error *error)
{
    struct error text = {.status = TN_OK};
    assert(event != NULL);
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK) {
        status = launch_check(launch_driver()->event_wait(event), &text,
                              "waiting for the kernels and copies");
    }
    return launch_end(status, &text, error);
}

const struct gpu_queues launch_queues = {
    .allocate = allocate,
    .release = release,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .send = send,
    .fetch = fetch,
    .receive = receive,
    .record = record,
    .follow = follow,
    .await = await,
};
