/*
 * common/net/transport_private.h: what the parts of a connection share: its stream
 * (transport_connection.c), its lane (transport_connection_lane.c), and what it delivers
 * (transport_delivery.c). Private to them.
 */
#ifndef COMMON_NET_TRANSPORT_PRIVATE_H
#define COMMON_NET_TRANSPORT_PRIVATE_H

#include "common/net/transport_connection.h"

/* ---- transport_connection.c, with the mutex held */

void connection_begin_closing(struct connection *connection, enum tn_status reason);
/* One of `pending` has ended. */
void connection_end_operation(struct connection *connection);
/* The caller's count in `pending` passes to the read. */
void connection_continue_reading(struct connection *connection);
/* Read bytes that have arrived already. False: there are none, or the connection is closed. */
bool connection_read_now(struct connection *connection);
/* Send a header over the stream. */
void connection_push_control(struct connection *connection, struct frame_header header);
/* The dialed connection is OPEN; deliver that. Releases the mutex. */
void connection_open(struct connection *connection);

/* ---- transport_delivery.c, without the mutex */

void connection_notify(struct connection *connection, struct transport_event *event);
/* The peer that dialed us has identified itself: deliver OPENED, unless it has been closed. */
bool connection_announce(struct connection *connection);
/* Deliver the complete frames of a reader. */
MUST_CHECK enum tn_status connection_deliver(struct connection *connection,
                                             struct frame_reader *reader, struct error *error);
/* Log why we close; a port scanner must not flood the log. */
void connection_warn(struct connection *connection, const struct error *error);
/* The peer's address, or "a peer". */
void connection_peer_text(struct connection *connection, char *text, size_t size);

/* ---- transport_connection_lane.c */

/* The stream is connected: ask the peer's listener. True: connection_lane_answered() follows. With
 * the mutex held. */
bool connection_lane_request(struct connection *connection);
/* A frame LANE has arrived over the stream: the peer's nonce, or its answer to the one
 * of this end. Without the
 * mutex. TN_EPROTO: it is not due. */
MUST_CHECK enum tn_status connection_lane_agree(struct connection *connection,
                                                const struct frame_header *header,
                                                struct error *error);
/* Send the waiting frames as far as there is space. With the mutex held. */
void connection_lane_send(struct connection *connection);
void connection_lane_reset(struct connection *connection);
void connection_lane_destroy(struct connection *connection);

#endif
