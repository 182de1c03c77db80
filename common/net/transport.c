/*
 * The port over nng's byte streams: slots, accepting, and the maintenance thread.
 *
 * The maintenance thread is the only thread of this module. It counts the ticks of heartbeats and
 * time limits, and it releases closed connections: it alone delivers CLOSED and frees streams. All
 * else runs on nng's threads (one poller for the process, two task threads per core) and on the
 * callers' threads.
 */
#include "common/net/transport.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <nng/nng.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/net/transport_address.h"
#include "common/net/transport_connection.h"
#include "common/net/transport_lanes.h"
#include "common/net/transport_streams.h"

enum {
    SLOT_BITS = 9,
    SLOT_NONE = 1 << (SLOT_BITS - 1), /* In the id of a dial that found no free slot. */
    INSTANCE_SHIFT = 40,              /* Serial numbers of one transport; 2^40 last for years. */
    WARNINGS_PER_TICK = 4,
};
_Static_assert((int)TRANSPORT_CONNECTIONS_MAX <= (int)SLOT_NONE, "slots fit into an id");

struct transport {
    struct connection_host host; /* First, so that `on_closed` can convert it. */
    struct connection *slots;    /* TRANSPORT_CONNECTIONS_MAX. */
    nng_stream_listener *listener;
    nng_aio *accept_aio;
    char address[TRANSPORT_ADDRESS_MAX];
    pthread_t maintenance;
    pthread_mutex_t mutex; /* Guards the members below; taken after a connection's, never before. */
    pthread_cond_t changed;
    struct connection *free;
    struct connection *closed;
    unsigned in_use; /* Slots. */
    uint64_t serial;
    uint64_t refused; /* Dials that found no slot have the numbers refused_reported + 1 to */
    uint64_t refused_reported; /* `refused`; the maintenance thread delivers their CLOSED. */
    bool stopping;
    unsigned ticks;    /* The maintenance thread's. */
    bool accept_later; /* Accepting failed, for example for lack of descriptors. */
};

static uint64_t make_id(uint64_t serial, uint32_t slot)
{
    assert(slot <= (uint32_t)SLOT_NONE);
    return serial << SLOT_BITS | slot;
}

static void wake_maintenance(struct transport *transport)
{
    pthread_cond_signal(&transport->changed);
    if (transport->host.lanes != NULL) { lanes_wake(transport->host.lanes); }
}

/* ----------------------------------------------------------------- slots */

/* A free connection and an id for it; NULL: all are in use, or we are stopping. */
static struct connection *take_slot(struct transport *transport, uint64_t *id)
{
    pthread_mutex_lock(&transport->mutex);
    struct connection *connection = transport->stopping ? NULL : transport->free;
    if (connection != NULL) {
        transport->free = connection->next;
        transport->in_use++;
        *id = make_id(++transport->serial, connection->slot);
    }
    pthread_mutex_unlock(&transport->mutex);
    return connection;
}

static void return_slot(struct transport *transport, struct connection *connection)
{
    pthread_mutex_lock(&transport->mutex);
    assert(transport->in_use > 0);
    connection->next = transport->free;
    transport->free = connection;
    transport->in_use--;
    pthread_mutex_unlock(&transport->mutex);
}

static void on_closed(struct connection_host *host, struct connection *connection)
{
    struct transport *transport = (struct transport *)(void *)host;
    assert(connection >= transport->slots);
    assert(connection < transport->slots + TRANSPORT_CONNECTIONS_MAX);
    pthread_mutex_lock(&transport->mutex);
    connection->next = transport->closed;
    transport->closed = connection;
    wake_maintenance(transport);
    pthread_mutex_unlock(&transport->mutex);
}

/* ------------------------------------------------------------- accepting */

/* With the mutex held. */
static void accept_next(struct transport *transport)
{
    assert(transport->listener != NULL);
    transport->accept_later = false;
    if (!transport->stopping) {
        nng_stream_listener_accept(transport->listener, transport->accept_aio);
    }
}

static void accept_stream(struct transport *transport, nng_stream *stream)
{
    assert(stream != NULL);
    uint64_t id;
    struct connection *connection = take_slot(transport, &id);
    if (connection == NULL) {
        nng_stream_free(stream); /* No operation was started on it. */
    } else if (connection_accept(connection, id, stream) != TN_OK) {
        nng_stream_free(stream);
        return_slot(transport, connection);
    } else {
        connection_bound_unknown(transport->slots, TRANSPORT_CONNECTIONS_MAX, connection);
    }
}

static void on_accept(void *arg)
{
    struct transport *transport = arg;
    int result = nng_aio_result(transport->accept_aio);
    if (result == 0) { accept_stream(transport, nng_aio_get_output(transport->accept_aio, 0)); }
    pthread_mutex_lock(&transport->mutex);
    if (result == 0) {
        accept_next(transport);
    } else {
        transport->accept_later = true; /* At the next tick; at once would spin. */
    }
    pthread_mutex_unlock(&transport->mutex);
}

/* ----------------------------------------------------------- maintenance */

static void shut_all(struct transport *transport)
{
    for (unsigned i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        connection_shut(&transport->slots[i]);
    }
}

static void tick(struct transport *transport)
{
    atomic_store(&transport->host.warnings_left, WARNINGS_PER_TICK);
    streams_tick(transport->host.streams, transport->slots);
    for (unsigned i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        connection_tick(&transport->slots[i]);
    }
    pthread_mutex_lock(&transport->mutex);
    if (transport->accept_later) { accept_next(transport); }
    bool stopping = transport->stopping;
    pthread_mutex_unlock(&transport->mutex);
    /* A peer that died at the wrong moment has not rung the doorbell. Others would close the
     * connection if nothing was read for some intervals (T4), however busy the owner is. */
    const size_t behind_max = ++transport->ticks % TICKS_PER_INTERVAL == 0 ? LANE_RING_BYTES : 0;
    if (transport->host.lanes != NULL) { (void)lanes_poll(transport->host.lanes, behind_max); }
    /* A dial may have taken its slot before we closed all, and have started after. */
    if (stopping) { shut_all(transport); }
}

static void reap_all(struct transport *transport, struct connection *closed)
{
    while (closed != NULL) {
        struct connection *next = closed->next;
        connection_reap(closed);
        return_slot(transport, closed);
        closed = next;
    }
}

static void report_refused(struct transport *transport, uint64_t serial)
{
    assert(serial > 0);
    struct transport_event event = {
        .type = TRANSPORT_CLOSED,
        .conn = {make_id(serial, SLOT_NONE)},
        .status = TN_ENOMEM,
    };
    transport->host.config.sink(transport->host.config.sink_ctx, &event);
}

/* One piece of work, or a wait for work. With the mutex held before and after. */
static void maintain(struct transport *transport, uint64_t *tick_at_ms)
{
    uint64_t tick_ms = transport->host.config.heartbeat_ms / TICKS_PER_INTERVAL;
    struct connection *closed = transport->closed;
    uint64_t now_ms = clock_monotonic_ms();
    if (closed != NULL) {
        transport->closed = NULL;
        pthread_mutex_unlock(&transport->mutex);
        reap_all(transport, closed);
    } else if (transport->refused_reported < transport->refused) {
        uint64_t serial = ++transport->refused_reported;
        pthread_mutex_unlock(&transport->mutex);
        report_refused(transport, serial);
    } else if (now_ms >= *tick_at_ms) {
        *tick_at_ms = now_ms + (tick_ms > 0 ? tick_ms : 1);
        pthread_mutex_unlock(&transport->mutex);
        tick(transport);
    } else if (transport->host.lanes != NULL) {
        pthread_mutex_unlock(&transport->mutex);
        lanes_wait(transport->host.lanes, *tick_at_ms);
    } else {
        (void)condition_wait_until(&transport->changed, &transport->mutex, *tick_at_ms);
        return;
    }
    pthread_mutex_lock(&transport->mutex);
}

static void *run_maintenance(void *arg)
{
    struct transport *transport = arg;
    uint64_t tick_at_ms = 0;
    pthread_mutex_lock(&transport->mutex);
    while (!transport->stopping || transport->in_use > 0 ||
           transport->refused_reported < transport->refused) {
        maintain(transport, &tick_at_ms);
    }
    pthread_mutex_unlock(&transport->mutex);
    return NULL;
}

/* ------------------------------------------------------- open and close */

static enum tn_status start_listening(struct transport *transport, struct error *error)
{
    const char *address = transport->host.config.listen;
    if (address == NULL) { return TN_OK; }
    enum tn_status status = transport_check_address(address, error);
    if (status != TN_OK) { return error_context(error, "listen"); }
    if (transport->host.config.dial_only) {
        (void)snprintf(transport->address, sizeof transport->address, "%s", address);
        return TN_OK;
    }
    int result = nng_aio_alloc(&transport->accept_aio, on_accept, transport);
    if (result == 0) { result = nng_stream_listener_alloc(&transport->listener, address); }
    if (result == 0) {
        /* An ipc:// listener has neither option and needs none. */
        (void)nng_stream_listener_set_bool(transport->listener, NNG_OPT_TCP_NODELAY, true);
        (void)nng_stream_listener_set_bool(transport->listener, NNG_OPT_TCP_KEEPALIVE, true);
        result = nng_stream_listener_listen(transport->listener);
    }
    if (result != 0) { return transport_explain_listen(result, address, error); }
    transport_bound_address(transport->listener, address, transport->address,
                            sizeof transport->address);
    return TN_OK;
}

/* Without lanes everything goes over TCP. */
static void start_lanes(struct transport *transport)
{
    const struct transport_config *config = &transport->host.config;
    const bool reachable = transport->listener != NULL;
    char reason[LANE_REASON_MAX] = "";
    if (!config->lanes) { return; }
    const char *address = NULL;
    if (reachable && strncmp(transport->address, "tcp://", 6) == 0) {
        address = transport->address + 6;
    }
    transport->host.lanes = lanes_open(config, address, reason);
    if (transport->host.lanes == NULL) {
        log_info("connections use TCP, as shared memory is not possible: %s", reason);
    }
}

static enum tn_status start_maintenance(struct transport *transport, struct error *error)
{
    condition_init(&transport->changed);
    int failed = pthread_create(&transport->maintenance, NULL, run_maintenance, transport);
    if (failed == 0) { return TN_OK; }
    pthread_cond_destroy(&transport->changed);
    return error_set(error, TN_ENOMEM, "transport: cannot start a thread: %s", strerror(failed));
}

static void release(struct transport *transport)
{
    nng_stream_listener_free(transport->listener);
    nng_aio_free(transport->accept_aio);
    for (unsigned i = 0; transport->slots != NULL && i < TRANSPORT_CONNECTIONS_MAX; i++) {
        connection_destroy(&transport->slots[i]);
    }
    free(transport->slots);
    streams_close(transport->host.streams);
    lanes_close(transport->host.lanes);
    pthread_mutex_destroy(&transport->mutex);
    free(transport);
}

static struct transport *allocate(const struct transport_config *config)
{
    static atomic_uint instances; /* Keeps the ids of all transports of a process distinct. */
    struct transport *transport = calloc(1, sizeof *transport);
    if (transport == NULL) { return NULL; }
    transport->host.config = *config;
    transport->host.on_closed = on_closed;
    transport->serial = (uint64_t)atomic_fetch_add(&instances, 1) << INSTANCE_SHIFT;
    transport->refused = transport->serial;
    transport->refused_reported = transport->serial;
    pthread_mutex_init(&transport->mutex, NULL);
    transport->slots = calloc(TRANSPORT_CONNECTIONS_MAX, sizeof *transport->slots);
    if (transport->slots == NULL) {
        release(transport);
        return NULL;
    }
    for (uint32_t i = TRANSPORT_CONNECTIONS_MAX; i-- > 0;) {
        connection_init(&transport->slots[i], &transport->host, i);
        transport->slots[i].next = transport->free;
        transport->free = &transport->slots[i];
    }
    return transport;
}

/* nng initialises itself at its first call and checks for that without a lock: two threads that
 * open their first transports at once would race. */
static void set_up_library(void)
{
    nng_aio *aio;
    if (nng_aio_alloc(&aio, NULL, NULL) == 0) { nng_aio_free(aio); }
}

enum tn_status transport_open(const struct transport_config *config, struct transport **out,
                              struct error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    assert(config->pool != NULL && config->sink != NULL);
    *out = NULL;
    (void)pthread_once(&once, set_up_library);
    if (config->heartbeat_ms == 0 || config->body_max > WIRE_CHUNK_BYTES) {
        return error_set(error, TN_EINVAL,
                         "transport: heartbeat_ms is %" PRIu32 " and body_max %" PRIu32
                         ": give at least 1, and at most %d",
                         config->heartbeat_ms, config->body_max, WIRE_CHUNK_BYTES);
    }
    struct transport *transport = allocate(config);
    if (transport == NULL) { return error_set(error, TN_ENOMEM, "transport: out of memory"); }
    enum tn_status status = start_listening(transport, error);
    if (status == TN_OK) {
        start_lanes(transport);
        if (config->owner_polls) { transport->host.streams = streams_open(transport->host.lanes); }
        status = start_maintenance(transport, error);
    }
    if (status != TN_OK) {
        release(transport);
        return status;
    }
    transport->host.config.listen = NULL; /* It was borrowed for the call. */
    pthread_mutex_lock(&transport->mutex);
    if (transport->listener != NULL) { accept_next(transport); }
    pthread_mutex_unlock(&transport->mutex);
    *out = transport;
    return TN_OK;
}

void transport_close(struct transport *transport)
{
    if (transport == NULL) { return; }
    pthread_mutex_lock(&transport->mutex);
    transport->stopping = true;
    wake_maintenance(transport);
    pthread_mutex_unlock(&transport->mutex);
    /* From here on no slot is taken and no accept starts. */
    if (transport->listener != NULL) {
        nng_stream_listener_close(transport->listener);
        nng_aio_wait(transport->accept_aio);
    }
    shut_all(transport);
    pthread_join(transport->maintenance, NULL);
    pthread_cond_destroy(&transport->changed);
    release(transport);
}

bool transport_poll(struct transport *transport)
{
    const bool done = transport->host.lanes != NULL && lanes_poll(transport->host.lanes, SIZE_MAX);
    return streams_poll(transport->host.streams) || done;
}

bool transport_polls_memory(struct transport *transport)
{
    return transport->host.lanes != NULL && lanes_are_polled(transport->host.lanes) &&
           !streams_rest_now(transport->host.streams);
}

void transport_prepare_sleep(struct transport *transport)
{
    streams_prepare_sleep(transport->host.streams, transport->slots);
}

struct doorbell *transport_doorbell(struct transport *transport)
{
    if (transport->host.lanes != NULL) { return &transport->host.lanes->doorbell; }
    return transport->host.streams == NULL ? NULL : &transport->host.streams->own;
}

void transport_address(const struct transport *transport, char *text, size_t size)
{
    (void)snprintf(text, size, "%s", transport->address);
}

/* ------------------------------------------------------------------ port */

static conn_id number_refused_dial(struct transport *transport)
{
    assert(transport->refused_reported <= transport->refused);
    pthread_mutex_lock(&transport->mutex);
    uint64_t id = make_id(++transport->refused, SLOT_NONE);
    wake_maintenance(transport);
    pthread_mutex_unlock(&transport->mutex);
    return (conn_id){id};
}

static conn_id port_dial(void *ctx, const char *address)
{
    struct transport *transport = ctx;
    const char *checked = transport_check_address(address, NULL) == TN_OK ? address : NULL;
    uint64_t id;
    struct connection *connection = take_slot(transport, &id);
    if (connection == NULL) { return number_refused_dial(transport); }
    if (connection_dial(connection, id, checked) != TN_OK) {
        return_slot(transport, connection);
        return number_refused_dial(transport);
    }
    return (conn_id){id};
}

static struct connection *slot_of(struct transport *transport, conn_id conn)
{
    uint64_t slot = conn.v & ((UINT64_C(1) << SLOT_BITS) - 1);
    if (conn.v == 0 || slot >= TRANSPORT_CONNECTIONS_MAX) { return NULL; }
    return &transport->slots[slot];
}

static void port_send(void *ctx, conn_id conn, const struct frame_header *header,
                      struct buffer *body)
{
    struct transport *transport = ctx;
    struct connection *connection = slot_of(transport, conn);
    struct frame_header filled = *header;
    assert(header != NULL);
    filled.cluster = transport->host.config.cluster;
    filled.sender = transport->host.config.sender;
    if (connection == NULL) {
        buffer_release(body);
    } else {
        connection_send(connection, conn.v, &filled, body);
    }
}

static struct buffer *port_reserve(void *ctx, conn_id conn, uint32_t line, size_t bytes)
{
    struct connection *connection = slot_of(ctx, conn);
    return connection != NULL ? connection_reserve(connection, conn.v, line, bytes) : NULL;
}

static void port_close(void *ctx, conn_id conn)
{
    struct transport *transport = ctx;
    struct connection *connection = slot_of(transport, conn);
    if (connection != NULL) { connection_close(connection, conn.v); }
}

struct transport_port transport_port_of(struct transport *transport)
{
    assert(transport != NULL);
    return (struct transport_port){
        .ctx = transport,
        .dial = port_dial,
        .send = port_send,
        .reserve = port_reserve,
        .close = port_close,
        .chunk_bytes = WIRE_CHUNK_BYTES,
    };
}
