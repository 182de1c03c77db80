/*
 * graph/device_staging.h: the values on their way to a device. They are copied to pinned memory,
 * chunk by chunk, and from there to the device while the next chunk is copied. The driver would do
 * the same with pageable memory, but may wait for the copies before it. The values are not pinned
 * where they are: their pages are replaced from step to step (worker/value_array.h), and a device
 * would read the former ones.
 *
 * Errors of all functions: TN_EDEVICE: the device has failed; the text has the reason.
 *
 * Threads: as the program. Private to graph/.
 */
#ifndef GRAPH_DEVICE_STAGING_H
#define GRAPH_DEVICE_STAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/gpu/queues.h"

/* As many chunks as a program has parts of values, so a small one never waits. */
enum { STAGING_CHUNKS = 16, STAGING_CHUNK_BYTES = 1 << 20 };

struct device_staging {
    const struct gpu_queues *queues;
    uint8_t *memory; /* NULL: closed. */
    size_t chunk_bytes;
    uint32_t next; /* The chunk that is used next. */
    struct {
        bool is_used; /* In this run. */
        struct gpu_event *copied;
    } chunks[STAGING_CHUNKS];
};

/* The bytes of pinned memory for values of `bytes` in all. */
uint64_t device_staging_bytes(uint64_t bytes);

/* For values of `bytes` in all. TN_ENOMEM, too. */
MUST_CHECK enum tn_status device_staging_open(struct device_staging *staging,
                                              const struct gpu_queues *queues, size_t bytes,
                                              struct error *error);
void device_staging_close(struct device_staging *staging); /* Allowed after a failure to open. */

/* A run begins: all copies of the run before are done. */
void device_staging_begin(struct device_staging *staging);
/* Queue the copy of `bytes` to the device. Blocks until all but the last chunks are copied;
 * `from` may change when it returns. */
MUST_CHECK enum tn_status device_staging_send(struct device_staging *staging, uint8_t *to,
                                              const uint8_t *from, size_t bytes,
                                              struct error *error);

#endif
