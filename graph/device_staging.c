#include "graph/device_staging.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

uint64_t device_staging_bytes(uint64_t bytes)
{
    return STAGING_CHUNKS * u64_min(bytes, STAGING_CHUNK_BYTES);
}

enum tn_status device_staging_open(struct device_staging *staging, const struct gpu_queues *queues,
                                   size_t bytes, struct error *error)
{
    void *memory = NULL;
    assert(queues != NULL);
    *staging = (struct device_staging){.queues = queues,
                                       .chunk_bytes = size_min(bytes, STAGING_CHUNK_BYTES)};
    if (bytes == 0) { return TN_OK; }
    enum tn_status status = queues->allocate(STAGING_CHUNKS * staging->chunk_bytes, &memory, error);
    staging->memory = memory;
    for (uint32_t i = 0; i < STAGING_CHUNKS && status == TN_OK; i++) {
        status = queues->create_event(&staging->chunks[i].copied, error);
    }
    return status;
}

void device_staging_close(struct device_staging *staging)
{
    if (staging->memory == NULL) { return; }
    for (uint32_t i = 0; i < STAGING_CHUNKS; i++) {
        staging->queues->destroy_event(staging->chunks[i].copied);
    }
    staging->queues->release(staging->memory);
    staging->memory = NULL;
}

void device_staging_begin(struct device_staging *staging)
{
    for (uint32_t i = 0; i < STAGING_CHUNKS; i++) { staging->chunks[i].is_used = false; }
}

/* At most a chunk. */
static enum tn_status send_chunk(struct device_staging *staging, uint8_t *to, const uint8_t *from,
                                 size_t bytes, struct error *error)
{
    const struct gpu_queues *queues = staging->queues;
    const uint32_t number = staging->next;
    uint8_t *chunk = staging->memory + number * staging->chunk_bytes;
    struct gpu_event *copied = staging->chunks[number].copied;
    enum tn_status status = TN_OK;
    if (staging->chunks[number].is_used) { status = queues->await(copied, error); }
    if (status != TN_OK) { return status; }
    staging->next = (number + 1) % STAGING_CHUNKS;
    staging->chunks[number].is_used = true;
    memcpy(chunk, from, bytes);
    status = queues->send(to, chunk, bytes, error);
    return status == TN_OK ? queues->record(copied, GPU_TO_DEVICE, error) : status;
}

enum tn_status device_staging_send(struct device_staging *staging, uint8_t *to, const uint8_t *from,
                                   size_t bytes, struct error *error)
{
    enum tn_status status = TN_OK;
    assert(staging->memory != NULL || bytes == 0);
    for (size_t done = 0; done < bytes && status == TN_OK; done += staging->chunk_bytes) {
        const size_t count = size_min(bytes - done, staging->chunk_bytes);
        status = send_chunk(staging, to + done, from + done, count, error);
    }
    return status;
}
