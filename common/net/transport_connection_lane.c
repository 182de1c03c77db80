/* The lane of a connection: agreeing on it, sending and receiving (T10). */
#include <assert.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/transport_address.h"
#include "common/net/transport_lanes.h"
#include "common/net/transport_private.h"

enum { READS_PER_POLL = 64 }; /* Then other connections have their turn. */

static void log_refusal(struct connection *connection, const char *reason)
{
    char peer[TRANSPORT_ADDRESS_MAX];
    connection_peer_text(connection, peer, sizeof peer);
    log_info("connection with %s: over TCP, as shared memory is not possible: %s", peer, reason);
}

/* The reader's memory is allocated once for a slot and kept. */
static bool prepare_reader(struct connection *connection)
{
    const struct transport_config *config = &connection->host->config;
    struct connection_lane *lane = &connection->lane;
    if (lane->prepared) { return true; }
    lane->prepared =
        frame_reader_init(&lane->reader, config->pool, config->cluster, config->body_max) == TN_OK;
    return lane->prepared;
}

void connection_lane_reset(struct connection *connection)
{
    struct connection_lane *lane = &connection->lane;
    connection->writer.lane = NULL;
    lane_close(&lane->lane);
    lane->state = CONNECTION_LANE_NONE;
    lane->broken = false;
    atomic_store(&lane->blocked, false);
    if (lane->prepared) { frame_reader_reset(&lane->reader); }
}

void connection_lane_destroy(struct connection *connection)
{
    connection_lane_reset(connection);
    if (connection->lane.prepared) { frame_reader_destroy(&connection->lane.reader); }
    connection->lane.prepared = false;
    frame_writer_destroy(&connection->control);
}

/* From now on frames travel over the lane. With the mutex held. */
static void activate(struct connection *connection)
{
    struct connection_lane *lane = &connection->lane;
    assert(lane->lane.memory != NULL && lane->prepared);
    lane->reader.lane = &lane->lane;
    connection->writer.lane = &lane->lane;
    lane->state = CONNECTION_LANE_ACTIVE;
}

/* -------------------------------------------------------------- agreeing */

bool connection_lane_request(struct connection *connection)
{
    struct lanes *lanes = connection->host->lanes;
    char address[TRANSPORT_ADDRESS_MAX], reason[LANE_REASON_MAX];
    nng_sockaddr peer;
    assert(connection->phase == CONNECTION_DIALING && connection->pending > 0);
    if (lanes == NULL || nng_stream_get_addr(connection->stream, NNG_OPT_REMADDR, &peer) != 0 ||
        !transport_format_address(&peer, address, sizeof address)) {
        return false;
    }
    const uint64_t cluster = connection->host->config.cluster;
    int fd = lane_request(cluster, address, lanes->doorbell.fd, &connection->lane.nonce, reason);
    if (fd < 0) {
        log_refusal(connection, reason);
        return false;
    }
    if (!lanes_add_request(lanes, connection, fd)) {
        log_refusal(connection, "too many connections open at once");
        close(fd);
        return false;
    }
    connection->lane.state = CONNECTION_LANE_REQUESTED;
    return true;
}

/* Over TCP after all. Takes over the held mutex and releases it. */
static void open_without(struct connection *connection, const char *reason)
{
    assert(connection->phase == CONNECTION_DIALING);
    connection_lane_reset(connection);
    log_refusal(connection, reason);
    connection_open(connection);
}

/* `borrows`: this end has dialed and mapped the memory that the peer lends. */
static struct frame_header nonce_frame(const struct lane_nonce *nonce, bool agreed, bool borrows)
{
    return (struct frame_header){
        .type = FRAME_LANE,
        .step = nonce->parts[0],
        .sequence = nonce->parts[1],
        .first = agreed,
        .count = borrows,
    };
}

void connection_lane_answered(struct connection *connection, int fd)
{
    struct connection_lane *lane = &connection->lane;
    char reason[LANE_REASON_MAX] = "out of memory";
    pthread_mutex_lock(&connection->mutex);
    assert(lane->state == CONNECTION_LANE_REQUESTED && connection->pending > 0);
    bool opened = lane_request_answer(fd, &lane->nonce, &lane->lane, reason);
    close(fd);
    if (connection->phase == CONNECTION_CLOSING) {
        connection_end_operation(connection);
        pthread_mutex_unlock(&connection->mutex);
        return;
    }
    if (opened && prepare_reader(connection)) {
        lane->state = CONNECTION_LANE_AGREEING;
        const bool borrows = lane_can_borrow(&lane->lane);
        connection_push_control(connection, nonce_frame(&lane->nonce, false, borrows));
    } else {
        open_without(connection, reason);
        pthread_mutex_lock(&connection->mutex);
    }
    connection_continue_reading(connection);
    pthread_mutex_unlock(&connection->mutex);
}

/* A peer that dialed us names the lane that it has got at our listener. */
static void accept_lane(struct connection *connection, const struct lane_nonce *nonce, bool borrows)
{
    struct lanes *lanes = connection->host->lanes;
    struct lane lane = {0};
    bool agreed = lanes != NULL && prepare_reader(connection) &&
                  lane_listener_take(&lanes->listener, nonce, &lane);
    pthread_mutex_lock(&connection->mutex);
    if (connection->phase != CONNECTION_GREETING) {
        pthread_mutex_unlock(&connection->mutex);
        lane_close(&lane);
        return;
    }
    if (agreed) {
        lane.lends = borrows && lane.loans != NULL;
        connection->lane.lane = lane;
        connection->lane.reader.unproven = true;
        activate(connection);
    }
    connection_push_control(connection, nonce_frame(nonce, agreed, false));
    pthread_mutex_unlock(&connection->mutex);
    bool opened = connection_announce(connection);
    if (agreed && opened) { lanes_add(lanes, connection); }
}

/* The peer that we dialed knows our nonce, or does not. */
static void conclude_lane(struct connection *connection, bool agreed)
{
    pthread_mutex_lock(&connection->mutex);
    if (connection->phase != CONNECTION_DIALING) {
        pthread_mutex_unlock(&connection->mutex);
    } else if (agreed) {
        activate(connection);
        connection_open(connection);
    } else {
        open_without(connection, "another process answers on this host");
    }
}

enum tn_status connection_lane_agree(struct connection *connection,
                                     const struct frame_header *header, struct error *error)
{
    const struct lane_nonce nonce = {.parts = {header->step, header->sequence}};
    const struct lane_nonce *own = &connection->lane.nonce;
    pthread_mutex_lock(&connection->mutex);
    const enum connection_lane_state state = connection->lane.state;
    const bool greeting = connection->phase == CONNECTION_GREETING;
    pthread_mutex_unlock(&connection->mutex);
    if (connection->accepted && greeting && state == CONNECTION_LANE_NONE) {
        accept_lane(connection, &nonce, header->count == 1);
        return TN_OK;
    }
    if (!connection->accepted && state == CONNECTION_LANE_AGREEING &&
        nonce.parts[0] == own->parts[0] && nonce.parts[1] == own->parts[1]) {
        conclude_lane(connection, header->first == 1);
        return TN_OK;
    }
    return error_set(error, TN_EPROTO, "a lane is offered in the middle of a connection");
}

/* ------------------------------------------------------ sending, receiving */

static const char broken_text[] =
    "the peer wrote positions into the shared memory that cannot be: a defect, or a hostile peer";

void connection_lane_send(struct connection *connection)
{
    struct connection_lane *lane = &connection->lane;
    assert(lane->state == CONNECTION_LANE_ACTIVE);
    if (atomic_load(&lane->blocked) && !ring_ask_for_space(&lane->lane.out)) { return; }
    for (;;) {
        struct iovec pieces[FRAME_WRITER_PIECES];
        const unsigned count = frame_writer_gather(&connection->writer, pieces);
        size_t sent;
        if (count == 0) { break; }
        if (!lane_send(&lane->lane, pieces, count, &sent)) {
            struct error error;
            (void)error_set(&error, TN_EPROTO, "%s", broken_text);
            connection_warn(connection, &error);
            connection_begin_closing(connection, TN_EPROTO);
            break;
        }
        frame_writer_sent(&connection->writer, sent);
        if (sent > 0) { lane->idle_ticks = 0; }
        if (sent == 0 && !ring_ask_for_space(&lane->lane.out)) {
            if (!atomic_load(&lane->blocked)) { lane->idle_ticks = 0; }
            atomic_store(&lane->blocked, true);
            return;
        }
    }
    atomic_store(&lane->blocked, false);
}

static bool is_behind(const struct connection *connection)
{
    const struct transport_config *config = &connection->host->config;
    return config->is_behind != NULL && config->is_behind(config->sink_ctx);
}

/* Deliver the frames that have arrived. */
static enum tn_status receive(struct connection *connection, size_t behind_max, bool *done,
                              struct error *error)
{
    struct connection_lane *lane = &connection->lane;
    size_t sum = 0;
    for (unsigned i = 0; i < READS_PER_POLL && ring_has_bytes(&lane->lane.in); i++) {
        if (sum >= behind_max && is_behind(connection)) { return TN_OK; }
        struct iovec places[FRAME_READER_SPACES];
        const unsigned count = frame_reader_space(&lane->reader, places);
        size_t received;
        *done = true;
        if (!lane_receive(&lane->lane, places, count, &received)) {
            return error_set(error, TN_EPROTO, "%s", broken_text);
        }
        /* The worker has returned the last values before it pushed: they are free for the next
         * update, which begins once this frame is delivered. */
        lane_collect_loans(&lane->lane);
        frame_reader_received(&lane->reader, received);
        sum += received;
        enum tn_status status = connection_deliver(connection, &lane->reader, error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

bool connection_poll(struct connection *connection, size_t behind_max)
{
    struct connection_lane *lane = &connection->lane;
    bool done = false;
    if (lane->broken) { return false; }
    struct error error;
    enum tn_status status = receive(connection, behind_max, &done, &error);
    if (status != TN_OK) {
        lane->broken = true;
        connection_warn(connection, &error);
        pthread_mutex_lock(&connection->mutex);
        connection_begin_closing(connection, status);
        pthread_mutex_unlock(&connection->mutex);
        return true;
    }
    if (atomic_load(&lane->blocked)) {
        pthread_mutex_lock(&connection->mutex);
        if (connection->phase == CONNECTION_OPEN) { connection_lane_send(connection); }
        pthread_mutex_unlock(&connection->mutex);
        done = done || !atomic_load(&lane->blocked);
    }
    return done;
}
