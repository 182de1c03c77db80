/* Delivery to the owner: frames in order, and the opening of an accepted connection. */
#include <assert.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/net/transport_address.h"
#include "common/net/transport_private.h"

void connection_notify(struct connection *connection, struct transport_event *event)
{
    assert(connection->id != 0);
    /* The id does not change while an operation is pending. */
    event->conn = (conn_id){connection->id};
    event->accepted = connection->accepted;
    connection->host->config.sink(connection->host->config.sink_ctx, event);
}

bool connection_announce(struct connection *connection)
{
    assert(connection->accepted && connection->pending > 0);
    pthread_mutex_lock(&connection->mutex);
    bool opened = connection->phase == CONNECTION_GREETING;
    bool by_lane = connection->lane.state == CONNECTION_LANE_ACTIVE;
    if (opened) {
        connection->phase = CONNECTION_OPEN;
        connection->announced = true;
    }
    pthread_mutex_unlock(&connection->mutex);
    if (opened) {
        connection_notify(connection,
                          &(struct transport_event){.type = TRANSPORT_OPENED, .by_lane = by_lane});
    }
    return opened;
}

/* Frames of the owner that arrive over the stream while a lane carries them. */
static bool is_beside_lane(struct connection *connection)
{
    pthread_mutex_lock(&connection->mutex);
    bool beside = connection->lane.state != CONNECTION_LANE_NONE;
    pthread_mutex_unlock(&connection->mutex);
    return beside;
}

/* The stream's reader is used by its pending read alone, and events stay in order because the next
 * read starts afterwards. The lane's is used by the one thread that polls. */
enum tn_status connection_deliver(struct connection *connection, struct frame_reader *reader,
                                  struct error *error)
{
    const bool from_lane = reader == &connection->lane.reader;
    bool announced = from_lane || connection->announced; /* Only announce() sets it, here. */
    bool beside_lane = !from_lane && announced && is_beside_lane(connection);
    for (;;) {
        bool complete;
        struct transport_event event = {.type = TRANSPORT_FRAME};
        enum tn_status status =
            frame_reader_next(reader, &complete, &event.header, &event.body, error);
        const bool heartbeat = complete && event.header.type == FRAME_HEARTBEAT;
        if (status == TN_OK && complete && event.header.type == FRAME_LANE) {
            buffer_release(event.body);
            if (from_lane) { return error_set(error, TN_EPROTO, "a lane within a lane"); }
            status = connection_lane_agree(connection, &event.header, error);
            if (status != TN_OK) { return status; }
            announced = connection->announced;
            beside_lane = announced && is_beside_lane(connection);
            continue;
        }
        /* A header that was refused for lack of memory was valid too. */
        bool known = complete || reader->in_body || status == TN_ENOMEM;
        if (!announced && known) { announced = connection_announce(connection); }
        if (status != TN_OK || !complete) { return status; }
        if (beside_lane && !heartbeat) {
            buffer_release(event.body);
            return error_set(error, TN_EPROTO, "a frame arrived beside the lane");
        }
        if (announced && !heartbeat) {
            connection_notify(connection, &event);
        } else {
            buffer_release(event.body);
        }
    }
}

void connection_peer_text(struct connection *connection, char *text, size_t size)
{
    nng_sockaddr address;
    if (nng_stream_get_addr(connection->stream, NNG_OPT_REMADDR, &address) != 0 ||
        !transport_format_address(&address, text, size)) {
        (void)snprintf(text, size, "a peer");
    }
}

void connection_warn(struct connection *connection, const struct error *error)
{
    unsigned left = atomic_load(&connection->host->warnings_left);
    do {
        if (left == 0) { return; }
    } while (!atomic_compare_exchange_weak(&connection->host->warnings_left, &left, left - 1));
    char peer[TRANSPORT_ADDRESS_MAX];
    connection_peer_text(connection, peer, sizeof peer);
    log_warn("connection with %s closed: %s", peer, error->text);
}
