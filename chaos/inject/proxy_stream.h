/*
 * chaos/inject/proxy_stream.h: one direction of a connection through a proxy: bytes that came in,
 * until they are due to go out, late, or frames among them twice. Pure but for its memory: time and
 * bytes are given. Private to chaos/inject/proxy.c.
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
    STREAM_QUEUE_BYTES = 8 * 1024 * 1024,  /* More is not taken in. */
    STREAM_FRAME_BYTES = 16 * 1024 * 1024, /* Larger frames pass by, once. */
};

struct stream_chunk {
    struct stream_chunk *next;
    uint64_t due_ms;
    size_t at, size; /* Bytes [at, size) are still to go. */
    uint8_t bytes[];
};

struct stream {
    uint32_t delay_ms, duplicate_percent; /* As in struct proxy_config. */
    struct random random;
    struct stream_chunk *first, *last; /* Owned. */
    size_t queued;                     /* Bytes. */
    uint64_t last_due_ms;
    /* Of frames, when some are to come twice: */
    bool raw;                 /* It holds no frames of ours: nothing comes twice. */
    uint64_t frames, doubled; /* Whole ones so far; those of them that went twice. */
    size_t passing;           /* Bytes of a large frame that pass as they come. */
    size_t frame_have;        /* Of the frame that is being gathered; */
    size_t frame_size;        /* its size, 0: its header is not whole. */
    uint8_t *frame;           /* Owned. */
    size_t frame_room;
};

void stream_init(struct stream *stream, uint32_t delay_ms, uint32_t duplicate_percent,
                 uint64_t seed);
void stream_free(struct stream *stream);

/* Bytes came. False: out of memory. */
bool stream_put(struct stream *stream, const uint8_t *bytes, size_t size, uint64_t now_ms);
/* There will be no more: what was gathered of a frame goes, too. False: out of memory. */
bool stream_end(struct stream *stream, uint64_t now_ms);

/* What is due: its size, 0: nothing. */
size_t stream_due(const struct stream *stream, uint64_t now_ms, const uint8_t **bytes);
/* So much of it went. */
void stream_gone(struct stream *stream, size_t size);
/* When something is due; UINT64_MAX: there is nothing. */
uint64_t stream_deadline_ms(const struct stream *stream);

#endif
