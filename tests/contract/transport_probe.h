/*
 * A transport with a sink that checks the order of events against the contract, and lets a test
 * wait for a condition with a deadline. Bodies have a pattern made of the frame's sequence number,
 * so that each can be checked where it arrives.
 */
#ifndef TESTS_CONTRACT_TRANSPORT_PROBE_H
#define TESTS_CONTRACT_TRANSPORT_PROBE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/condition.h"
#include "common/net/transport.h"

enum { PROBE_CONNECTIONS = 2048, PROBE_DEADLINE_S = 60, PROBE_CLUSTER = 77 };

struct seen {
    uint64_t conn;
    bool accepted;
    bool by_lane;
    unsigned opened;
    unsigned closed;
    uint64_t frames;
    uint64_t last_sequence;
    uint64_t have; /* Bytes of the last body. */
    enum tn_status status;
};

struct probe {
    struct transport *transport;
    struct transport_port port;
    struct buffer_pool *pool;
    bool echo;
    _Atomic bool behind;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct seen seen[PROBE_CONNECTIONS];
    unsigned seen_count;
    unsigned opened;
    unsigned closed;
    uint64_t frames; /* First chunks. */
    uint64_t body_bytes;
    unsigned violations; /* Violations of the contract. */
    char address[TRANSPORT_ADDRESS_MAX];
};

static inline uint64_t pattern(uint64_t sequence, size_t index)
{
    return (sequence + 1) * UINT64_C(0x9e3779b97f4a7c15) + index;
}

static inline void fill_pattern(struct buffer *body, uint64_t sequence)
{
    uint64_t *words = body->data;
    for (size_t i = 0; i < body->size / 8; i++) { words[i] = pattern(sequence, i); }
}

static inline bool has_pattern(const struct buffer *body, uint64_t sequence, uint64_t offset)
{
    const uint64_t *words = body->data;
    for (size_t i = 0; i < body->size / 8; i++) {
        if (words[i] != pattern(sequence, offset / 8 + i)) { return false; }
    }
    return true;
}

/* A chunk follows the one before it, and a body the one before it. */
static inline bool is_in_order(struct seen *seen, const struct frame_header *header)
{
    bool begins = header->offset == 0;
    if (begins) { seen->have = 0; }
    bool follows = header->sequence == seen->last_sequence + begins && header->offset == seen->have;
    seen->last_sequence = header->sequence;
    seen->have += header->body_bytes;
    return follows;
}

static inline struct seen *seen_of(struct probe *probe, conn_id conn)
{
    for (unsigned i = probe->seen_count; i-- > 0;) {
        if (probe->seen[i].conn == conn.v) { return &probe->seen[i]; }
    }
    if (probe->seen_count == PROBE_CONNECTIONS) { abort(); }
    struct seen *seen = &probe->seen[probe->seen_count++];
    *seen = (struct seen){.conn = conn.v};
    return seen;
}

static inline enum tn_status closed_because(struct probe *probe, conn_id conn)
{
    pthread_mutex_lock(&probe->mutex);
    enum tn_status status = seen_of(probe, conn)->status;
    pthread_mutex_unlock(&probe->mutex);
    return status;
}

/* OPENED once and first; then FRAMEs; CLOSED once and last. A failed dial gives only CLOSED. */
static inline bool event_is_valid(struct probe *probe, struct seen *seen,
                                  const struct transport_event *event)
{
    if (seen->closed > 0) { return false; }
    switch (event->type) {
    case TRANSPORT_OPENED:
        seen->opened++;
        seen->accepted = event->accepted;
        seen->by_lane = event->by_lane;
        probe->opened++;
        return seen->opened == 1 && seen->frames == 0;
    case TRANSPORT_FRAME:
        if (event->body != NULL &&
            !has_pattern(event->body, event->header.sequence, event->header.offset)) {
            return false;
        }
        if (!is_in_order(seen, &event->header)) { return false; }
        if (event->header.body_bytes != (event->body == NULL ? 0 : event->body->size)) {
            return false;
        }
        seen->frames++;
        probe->frames += event->header.offset == 0;
        probe->body_bytes += event->header.body_bytes;
        return seen->opened == 1 && event->header.cluster == PROBE_CLUSTER;
    case TRANSPORT_CLOSED:
        seen->closed++;
        seen->status = event->status;
        probe->closed++;
        return seen->opened == 1 || !event->accepted;
    }
    return false;
}

static inline void probe_sink(void *ctx, const struct transport_event *event)
{
    struct probe *probe = ctx;
    pthread_mutex_lock(&probe->mutex);
    if (!event_is_valid(probe, seen_of(probe, event->conn), event)) { probe->violations++; }
    bool echo = probe->echo;
    pthread_cond_broadcast(&probe->changed);
    pthread_mutex_unlock(&probe->mutex);
    if (event->type != TRANSPORT_FRAME) { return; }
    if (echo) {
        probe->port.send(probe->port.ctx, event->conn, &event->header, event->body);
    } else {
        buffer_release(event->body);
    }
}

static inline bool probe_is_behind(void *ctx)
{
    struct probe *probe = ctx;
    return atomic_load(&probe->behind);
}

/* Wait until `condition` holds; it is evaluated with the probe's mutex held. */
#define WAIT_UNTIL(probe, condition)                                                               \
    do {                                                                                           \
        bool held_ = true;                                                                         \
        uint64_t until_ms_ = clock_monotonic_ms() + PROBE_DEADLINE_S * 1000;                       \
        pthread_mutex_lock(&(probe)->mutex);                                                       \
        while (held_ && !(condition)) {                                                            \
            held_ = condition_wait_until(&(probe)->changed, &(probe)->mutex, until_ms_);           \
        }                                                                                          \
        held_ = (condition);                                                                       \
        pthread_mutex_unlock(&(probe)->mutex);                                                     \
        if (!held_) fail_msg("not true within %d s: %s", PROBE_DEADLINE_S, #condition);            \
    } while (0)

/* `condition` holds already; events may still arrive. */
#define ASSERT_HOLDS(probe, condition)                                                             \
    do {                                                                                           \
        pthread_mutex_lock(&(probe)->mutex);                                                       \
        const bool holds_ = (condition);                                                           \
        pthread_mutex_unlock(&(probe)->mutex);                                                     \
        if (!holds_) fail_msg("not true: %s", #condition);                                         \
    } while (0)

static bool probe_lanes; /* Whether probes that are opened from now on offer lanes. */

struct probe_options {
    const char *listen; /* NULL: dial only. */
    uint32_t heartbeat_ms;
    uint32_t body_max;
    size_t pool_limit_bytes;
    const struct loan_memory *loans;
    bool echo;
    bool owner_polls;
};

static inline struct probe *probe_open(struct probe_options options)
{
    struct probe *probe = calloc(1, sizeof *probe);
    assert_non_null(probe);
    pthread_mutex_init(&probe->mutex, NULL);
    condition_init(&probe->changed);
    probe->pool = buffer_pool_create(options.pool_limit_bytes);
    probe->echo = options.echo;
    struct transport_config config = {
        .listen = options.listen,
        .cluster = PROBE_CLUSTER,
        .sender = 1 + (uint64_t)rand(),
        .body_max = options.body_max > 0 ? options.body_max : WIRE_CHUNK_BYTES,
        .heartbeat_ms = options.heartbeat_ms > 0 ? options.heartbeat_ms : 2000,
        .pool = probe->pool,
        .lanes = probe_lanes,
        .loans = options.loans,
        .owner_polls = options.owner_polls,
        .sink = probe_sink,
        .sink_ctx = probe,
        .is_behind = probe_is_behind,
    };
    struct error error = {0};
    /* `port` is set before the first event, as no peer knows the address yet. */
    enum tn_status status = transport_open(&config, &probe->transport, &error);
    if (status != TN_OK) { fail_msg("%s", error.text); }
    probe->port = transport_port_of(probe->transport);
    transport_address(probe->transport, probe->address, sizeof probe->address);
    return probe;
}

/* Every connection that opened has closed, the contract was not violated, and all buffers were
 * released (the pool asserts that). */
static inline void probe_close(struct probe *probe)
{
    transport_close(probe->transport);
    assert_int_equal(probe->violations, 0);
    for (unsigned i = 0; i < probe->seen_count; i++) { assert_int_equal(probe->seen[i].closed, 1); }
    buffer_pool_destroy(probe->pool);
    pthread_cond_destroy(&probe->changed);
    pthread_mutex_destroy(&probe->mutex);
    free(probe);
}

static inline conn_id probe_dial(struct probe *probe, const char *address)
{
    return probe->port.dial(probe->port.ctx, address);
}

static inline void probe_send(struct probe *probe, conn_id conn, uint64_t sequence,
                              size_t body_bytes)
{
    struct buffer *body = NULL;
    if (body_bytes > 0) {
        body = buffer_acquire(probe->pool, body_bytes);
        assert_non_null(body);
        fill_pattern(body, sequence);
    }
    struct frame_header header = {.type = FRAME_VALUES, .sequence = sequence};
    probe->port.send(probe->port.ctx, conn, &header, body);
}

#endif
