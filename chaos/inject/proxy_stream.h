/*
 * chaos/inject/proxy_stream.h: one direction of a connection through a proxy: queues bytes until
 * they are due, and repeats some frames. Pure but for its memory: time and bytes are arguments.
 * Private to chaos/inject/proxy.c.
 *
 * Threads: one. Blocking: never.
 */
#ifndef CHAOS_INJECT_PROXY_STREAM_H
#define CHAOS_INJECT_PROXY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/random.h"
#include "common/net/wire.h"

enum {
    STREAM_QUEUE_BYTES = 8 * 1024 * 1024, /* The caller stops reading then. */
};

struct stream_chunk {
    struct stream_chunk *next;
    uint64_t due_ms;
    size_t at, size; /* Bytes [at, size) are not sent yet. */
    uint8_t bytes[];
};

struct stream {
    uint32_t delay_ms, duplicate_percent; /* As in struct proxy_config. */
    struct random random;
    struct stream_chunk *first, *last; /* Owned. */
    size_t queued;                     /* Bytes. */
    uint64_t last_due_ms;
    bool raw;                 /* No frames are repeated, or the bytes are not frames. */
    uint64_t frames, doubled; /* Complete frames so far; those that were repeated. */
    size_t frame_have;        /* Bytes so far of the frame that is being collected, */
    size_t frame_size;        /* and its size; 0: the header is not complete. */
    uint8_t *frame;           /* Owned. */
    size_t frame_room;
};

void stream_init(struct stream *stream, uint32_t delay_ms, uint32_t duplicate_percent,
                 uint64_t seed);
void stream_free(struct stream *stream);

/* Add received bytes. False: out of memory. */
bool stream_put(struct stream *stream, const uint8_t *bytes, size_t size, uint64_t now_ms);
/* The sender has ended the stream: an incomplete frame is queued, too. False: out of memory. */
bool stream_end(struct stream *stream, uint64_t now_ms);

/* The bytes that are due, and their number; 0: none are. */
size_t stream_due(const struct stream *stream, uint64_t now_ms, const uint8_t **bytes);
/* Remove the first `size` bytes, which were sent. */
void stream_remove(struct stream *stream, size_t size);
/* When the next bytes are due; UINT64_MAX: the queue is empty. */
uint64_t stream_deadline_ms(const struct stream *stream);

#endif
