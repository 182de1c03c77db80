#include "common/net/transport_connection.h"

#include <assert.h>
#include <string.h>

#include "common/net/transport_address.h"
#include "common/net/transport_lanes.h"
#include "common/net/transport_private.h"
#include "common/net/transport_streams.h"

_Static_assert((int)FRAME_WRITER_FRAMES_MAX == (int)TRANSPORT_QUEUE_MAX,
               "both bounds are the same queue's");

static void on_read(void *arg);
static void on_write(void *arg);

void connection_init(struct connection *connection, struct connection_host *host, uint32_t slot)
{
    assert(connection->phase == CONNECTION_FREE && connection->id == 0);
    assert(host->on_closed != NULL);
    connection->host = host;
    connection->slot = slot;
    pthread_mutex_init(&connection->mutex, NULL);
}

static void release_slot(struct connection *connection)
{
    nng_aio_free(connection->read_aio);
    nng_aio_free(connection->write_aio);
    nng_aio_free(connection->now_aio);
    connection->read_aio = NULL;
    connection->write_aio = NULL;
    connection->now_aio = NULL;
    frame_reader_destroy(&connection->reader);
    frame_writer_destroy(&connection->writer);
    connection_lane_destroy(connection);
    connection->prepared = false;
}

void connection_destroy(struct connection *connection)
{
    assert(connection->phase == CONNECTION_FREE);
    if (connection->prepared) { release_slot(connection); }
    pthread_mutex_destroy(&connection->mutex);
}

/* The memory of a slot is allocated once and kept: later connections allocate nothing. */
static enum tn_status prepare_slot(struct connection *connection)
{
    assert(connection->phase == CONNECTION_FREE);
    if (connection->prepared) { return TN_OK; }
    const struct transport_config *config = &connection->host->config;
    if (nng_aio_alloc(&connection->read_aio, on_read, connection) != 0 ||
        nng_aio_alloc(&connection->write_aio, on_write, connection) != 0 ||
        nng_aio_alloc(&connection->now_aio, NULL, NULL) != 0 ||
        frame_reader_init(&connection->reader, config->pool, config->cluster, config->body_max) !=
            TN_OK) {
        release_slot(connection);
        return TN_ENOMEM;
    }
    connection->prepared = true;
    return TN_OK;
}

/* ---- The functions up to the callbacks are called with the mutex held. ---- */

void connection_begin_closing(struct connection *connection, enum tn_status reason)
{
    if (connection->phase == CONNECTION_CLOSING || connection->phase == CONNECTION_FREE) { return; }
    connection->phase = CONNECTION_CLOSING;
    connection->reason = reason;
    streams_forget(connection);
    frame_writer_drop_waiting(&connection->writer);
    if (connection->stream != NULL) {
        nng_stream_close(connection->stream);
    } else if (connection->dialer != NULL) {
        nng_stream_dialer_close(connection->dialer);
    }
    if (connection->pending == 0) { connection->host->on_closed(connection->host, connection); }
}

void connection_end_operation(struct connection *connection)
{
    assert(connection->pending > 0);
    connection->pending--;
    if (connection->pending == 0 && connection->phase == CONNECTION_CLOSING) {
        connection->host->on_closed(connection->host, connection);
    }
}

static enum tn_status status_of_stream(int result)
{
    return result == NNG_ENOMEM ? TN_ENOMEM : TN_ECLOSED;
}

static void set_pieces(nng_aio *aio, const struct iovec *pieces, unsigned count)
{
    assert(count > 0 && count <= FRAME_WRITER_PIECES);
    nng_iov places[FRAME_WRITER_PIECES];
    for (unsigned i = 0; i < count; i++) {
        places[i] = (nng_iov){.iov_buf = pieces[i].iov_base, .iov_len = pieces[i].iov_len};
    }
    int result = nng_aio_set_iov(aio, count, places);
    assert(result == 0);
}

/*
 * End the operation just started on `now_aio`: it is done, or NNG_EAGAIN if it would have to wait.
 * An aio without a callback completes on the thread that ends it, which saves nng's hand-over to
 * another thread (5 to 20 us and two context switches each). A byte count of zero without an error
 * means that the operation waits for the poller; cancelling it is safe here, as the stream is not
 * freed while our mutex is held.
 */
static int finish_now(struct connection *connection)
{
    nng_aio *aio = connection->now_aio;
    if (nng_aio_count(aio) == 0 && nng_aio_result(aio) == 0) { nng_aio_abort(aio, NNG_EAGAIN); }
    nng_aio_wait(aio);
    return nng_aio_result(aio);
}

/* The caller's count in `pending` passes to the read. */
void connection_continue_reading(struct connection *connection)
{
    assert(connection->pending > 0);
    if (connection->phase == CONNECTION_CLOSING || streams_rest(connection)) {
        connection_end_operation(connection);
        return;
    }
    struct iovec places[FRAME_READER_SPACES];
    set_pieces(connection->read_aio, places, frame_reader_space(&connection->reader, places));
    nng_stream_recv(connection->stream, connection->read_aio);
}

bool connection_read_now(struct connection *connection)
{
    if (connection->phase == CONNECTION_CLOSING) { return false; }
    struct iovec places[FRAME_READER_SPACES];
    set_pieces(connection->now_aio, places, frame_reader_space(&connection->reader, places));
    nng_stream_recv(connection->stream, connection->now_aio);
    int result = finish_now(connection);
    if (result != 0 && result != NNG_EAGAIN) {
        connection_begin_closing(connection, status_of_stream(result));
    }
    if (result != 0) { return false; }
    frame_reader_received(&connection->reader, nng_aio_count(connection->now_aio));
    connection->silent_ticks = 0;
    return true;
}

/* Beside a lane the stream carries only what keeps the connection. */
static struct frame_writer *stream_writer(struct connection *connection)
{
    const bool beside_lane = connection->lane.state != CONNECTION_LANE_NONE;
    return beside_lane ? &connection->control : &connection->writer;
}

/* The caller's count in `pending` passes to the write. */
static void continue_writing(struct connection *connection)
{
    assert(connection->pending > 0);
    struct iovec pieces[FRAME_WRITER_PIECES];
    connection->sending = stream_writer(connection);
    unsigned count = frame_writer_gather(connection->sending, pieces);
    connection->writing = count > 0;
    if (count == 0) {
        connection_end_operation(connection);
        return;
    }
    set_pieces(connection->write_aio, pieces, count);
    nng_stream_send(connection->stream, connection->write_aio);
}

/* Most frames are sent at once on the caller's thread; only the rest is left to nng's threads. */
static void start_writing(struct connection *connection)
{
    if (connection->writing || connection->stream == NULL) { return; }
    assert(connection->phase != CONNECTION_CLOSING);
    struct iovec pieces[FRAME_WRITER_PIECES];
    struct frame_writer *writer = stream_writer(connection);
    unsigned count = frame_writer_gather(writer, pieces);
    if (count == 0) { return; }
    connection->idle_ticks = 0;
    set_pieces(connection->now_aio, pieces, count);
    nng_stream_send(connection->stream, connection->now_aio);
    int result = finish_now(connection);
    if (result == 0) {
        frame_writer_sent(writer, nng_aio_count(connection->now_aio));
    } else if (result != NNG_EAGAIN) {
        connection_begin_closing(connection, status_of_stream(result));
        return;
    }
    if (frame_writer_empty(writer)) { return; }
    connection->pending++;
    continue_writing(connection);
}

static void push(struct connection *connection, const struct frame_header *header,
                 struct buffer *body)
{
    assert(connection->phase != CONNECTION_FREE && connection->phase != CONNECTION_CLOSING);
    enum tn_status status = frame_writer_push(&connection->writer, header, body);
    if (status != TN_OK) {
        buffer_release(body);
        connection_begin_closing(connection, status);
    } else if (connection->lane.state == CONNECTION_LANE_ACTIVE) {
        connection_lane_send(connection);
    } else {
        start_writing(connection);
    }
}

void connection_push_control(struct connection *connection, struct frame_header header)
{
    const struct transport_config *config = &connection->host->config;
    header.cluster = config->cluster;
    header.sender = config->sender;
    enum tn_status status = frame_writer_push(stream_writer(connection), &header, NULL);
    if (status != TN_OK) {
        connection_begin_closing(connection, status);
        return;
    }
    start_writing(connection);
}

static void push_heartbeat(struct connection *connection)
{
    connection_push_control(connection, (struct frame_header){.type = FRAME_HEARTBEAT});
}

/* ------------------------------------------------------------ callbacks */

/* The dial has ended. Takes over the held mutex and releases it. */
static void end_dial(struct connection *connection, int result)
{
    assert(connection->dialing && connection->stream == NULL);
    connection->dialing = false;
    if (result == 0) { connection->stream = nng_aio_get_output(connection->read_aio, 0); }
    if (connection->phase == CONNECTION_CLOSING && connection->stream != NULL) {
        /* Closed at the moment at which the dial succeeded. */
        nng_stream_close(connection->stream);
    }
    if (result != 0) {
        connection_begin_closing(connection, transport_explain_dial(result, connection->numeric));
    }
    if (connection->phase == CONNECTION_CLOSING) {
        connection_end_operation(connection);
        pthread_mutex_unlock(&connection->mutex);
        return;
    }
    connection->silent_ticks = 0;
    if (connection_lane_request(connection)) { /* connection_lane_answered() continues. */
        pthread_mutex_unlock(&connection->mutex);
        return;
    }
    connection_open(connection);
    pthread_mutex_lock(&connection->mutex);
    connection_continue_reading(connection);
    pthread_mutex_unlock(&connection->mutex);
}

void connection_open(struct connection *connection)
{
    assert(connection->phase == CONNECTION_DIALING && connection->stream != NULL);
    const bool by_lane = connection->lane.state == CONNECTION_LANE_ACTIVE;
    connection->phase = CONNECTION_OPEN;
    if (by_lane) {
        connection_lane_send(connection);
    } else {
        /* The peer identifies us by our first valid header: send one at once. */
        if (frame_writer_empty(&connection->writer)) { push_heartbeat(connection); }
        if (connection->phase == CONNECTION_OPEN) { start_writing(connection); }
    }
    pthread_mutex_unlock(&connection->mutex);
    connection_notify(connection,
                      &(struct transport_event){.type = TRANSPORT_OPENED, .by_lane = by_lane});
    if (by_lane) { lanes_add(connection->host->lanes, connection); }
}

/* Deliver what arrived and continue reading. Takes over the held mutex and releases it. */
static void end_read(struct connection *connection)
{
    assert(connection->pending > 0);
    enum tn_status status;
    do {
        pthread_mutex_unlock(&connection->mutex);
        struct error error;
        status = connection_deliver(connection, &connection->reader, &error);
        if (status != TN_OK) { connection_warn(connection, &error); }
        pthread_mutex_lock(&connection->mutex);
        if (status != TN_OK) { connection_begin_closing(connection, status); }
    } while (status == TN_OK && connection->reader.in_body && connection_read_now(connection));
    connection_continue_reading(connection);
    pthread_mutex_unlock(&connection->mutex);
}

static void on_read(void *arg)
{
    struct connection *connection = arg;
    pthread_mutex_lock(&connection->mutex);
    int result = nng_aio_result(connection->read_aio);
    if (connection->dialing) {
        end_dial(connection, result);
        return;
    }
    if (result == 0 && connection->phase != CONNECTION_CLOSING) {
        connection->silent_ticks = 0;
        frame_reader_received(&connection->reader, nng_aio_count(connection->read_aio));
        end_read(connection);
        return;
    }
    if (connection->lane.state == CONNECTION_LANE_ACTIVE) {
        /* Frames that the peer published before it closed are delivered, as on a stream. */
        pthread_mutex_unlock(&connection->mutex);
        (void)lanes_poll(connection->host->lanes, SIZE_MAX);
        pthread_mutex_lock(&connection->mutex);
    }
    connection_begin_closing(connection, status_of_stream(result));
    connection_end_operation(connection);
    pthread_mutex_unlock(&connection->mutex);
}

static void on_write(void *arg)
{
    struct connection *connection = arg;
    pthread_mutex_lock(&connection->mutex);
    int result = nng_aio_result(connection->write_aio);
    if (result != 0) { connection_begin_closing(connection, status_of_stream(result)); }
    if (connection->phase == CONNECTION_CLOSING) {
        connection->writing = false;
        connection_end_operation(connection);
    } else {
        frame_writer_sent(connection->sending, nng_aio_count(connection->write_aio));
        connection->idle_ticks = 0;
        continue_writing(connection);
    }
    pthread_mutex_unlock(&connection->mutex);
}

/* ------------------------------------------------- called by transport.c */

static void assign_slot(struct connection *connection, uint64_t id, enum connection_phase phase)
{
    assert(connection->phase == CONNECTION_FREE && connection->pending == 0);
    assert(id != 0);
    connection->id = id;
    connection->phase = phase;
    connection->accepted = phase == CONNECTION_GREETING;
    connection->reader.unproven = connection->accepted;
    connection->announced = phase == CONNECTION_DIALING;
    connection->silent_ticks = 0;
    connection->idle_ticks = 0;
    connection->greeting_ticks = 0;
}

enum tn_status connection_dial(struct connection *connection, uint64_t id, const char *address)
{
    enum tn_status status = prepare_slot(connection);
    if (status != TN_OK) { return status; }
    pthread_mutex_lock(&connection->mutex);
    assign_slot(connection, id, CONNECTION_DIALING);
    connection->numeric = transport_host_is_number(address);
    const int result = transport_create_dialer(address, &connection->dialer);
    if (result == 0) {
        connection->dialing = true;
        connection->pending = 1;
        nng_stream_dialer_dial(connection->dialer, connection->read_aio);
    } else {
        connection_begin_closing(connection, result == NNG_ENOMEM ? TN_ENOMEM : TN_EINVAL);
    }
    pthread_mutex_unlock(&connection->mutex);
    return TN_OK;
}

enum tn_status connection_accept(struct connection *connection, uint64_t id, nng_stream *stream)
{
    assert(stream != NULL);
    enum tn_status status = prepare_slot(connection);
    if (status != TN_OK) { return status; }
    pthread_mutex_lock(&connection->mutex);
    assign_slot(connection, id, CONNECTION_GREETING);
    connection->stream = stream;
    connection->peer = transport_hash_peer(stream);
    connection->pending = 1;
    connection_continue_reading(connection);
    pthread_mutex_unlock(&connection->mutex);
    return TN_OK;
}

bool connection_is_unknown(struct connection *connection, uint64_t *id, uint64_t *peer)
{
    pthread_mutex_lock(&connection->mutex);
    bool unknown = connection->phase == CONNECTION_GREETING;
    *id = connection->id;
    *peer = connection->peer;
    pthread_mutex_unlock(&connection->mutex);
    return unknown;
}

void connection_send(struct connection *connection, uint64_t id, const struct frame_header *header,
                     struct buffer *body)
{
    assert(header != NULL);
    pthread_mutex_lock(&connection->mutex);
    bool open = connection->id == id && connection->phase != CONNECTION_CLOSING;
    if (open) { push(connection, header, body); }
    pthread_mutex_unlock(&connection->mutex);
    if (!open) { buffer_release(body); }
}

struct buffer *connection_reserve(struct connection *connection, uint64_t id, uint32_t line,
                                  size_t bytes)
{
    struct buffer *place = NULL;
    pthread_mutex_lock(&connection->mutex);
    if (connection->id == id && connection->phase == CONNECTION_OPEN &&
        connection->lane.state == CONNECTION_LANE_ACTIVE) {
        place = lane_reserve_body(&connection->lane.lane, line, bytes);
    }
    pthread_mutex_unlock(&connection->mutex);
    return place;
}

void connection_close(struct connection *connection, uint64_t id)
{
    pthread_mutex_lock(&connection->mutex);
    if (connection->id == id) { connection_begin_closing(connection, TN_OK); }
    pthread_mutex_unlock(&connection->mutex);
}

void connection_shut(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);
    connection_begin_closing(connection, TN_OK);
    pthread_mutex_unlock(&connection->mutex);
}

/* At least 1, however long a tick is. One more passes before these, as the first may follow at
 * once. */
static unsigned greeting_ticks_max(const struct connection_host *host)
{
    const unsigned heartbeat_ms = host->config.heartbeat_ms;
    return (TRANSPORT_GREETING_MS * TICKS_PER_INTERVAL + heartbeat_ms - 1) / heartbeat_ms;
}

void connection_tick(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);
    bool open = connection->phase == CONNECTION_OPEN;
    if (open || connection->phase == CONNECTION_DIALING ||
        connection->phase == CONNECTION_GREETING) {
        connection->silent_ticks++;
        connection->idle_ticks++;
        bool stuck = connection->writing && connection->idle_ticks >= TICKS_SILENT_MAX;
        if (connection->lane.blocked && ++connection->lane.idle_ticks >= TICKS_SILENT_MAX) {
            stuck = true;
        }
        bool unknown = connection->phase == CONNECTION_GREETING;
        if (unknown) { connection->greeting_ticks++; }
        bool late = unknown && connection->greeting_ticks > greeting_ticks_max(connection->host);
        if (late || stuck || connection->silent_ticks >= TICKS_SILENT_MAX) {
            connection_begin_closing(connection, TN_ETIMEDOUT);
        } else if (open && !connection->writing && connection->idle_ticks >= TICKS_IDLE_MAX) {
            push_heartbeat(connection);
        }
    }
    pthread_mutex_unlock(&connection->mutex);
}

void connection_reap(struct connection *connection)
{
    /* The callback that called end_operation() last may not have returned yet. */
    nng_aio_wait(connection->read_aio);
    nng_aio_wait(connection->write_aio);
    lanes_remove(connection->host->lanes, connection);
    pthread_mutex_lock(&connection->mutex);
    assert(connection->phase == CONNECTION_CLOSING && connection->pending == 0);
    bool announced = connection->announced;
    frame_reader_reset(&connection->reader);
    frame_writer_clear(&connection->writer);
    frame_writer_clear(&connection->control);
    pthread_mutex_unlock(&connection->mutex);

    if (announced) {
        connection_notify(connection, &(struct transport_event){.type = TRANSPORT_CLOSED,
                                                                .status = connection->reason});
    }
    nng_stream_free(connection->stream);
    nng_stream_dialer_free(connection->dialer);

    pthread_mutex_lock(&connection->mutex);
    connection_lane_reset(connection);
    connection->stream = NULL;
    connection->dialer = NULL;
    connection->id = 0;
    connection->phase = CONNECTION_FREE;
    connection->writing = false;
    pthread_mutex_unlock(&connection->mutex);
}
