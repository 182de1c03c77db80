/*
 * tests/unit/roles/world_network.h: the model of the network: connections that keep the order of
 * their frames, and chunks of a few bytes.
 */
#ifndef TESTS_UNIT_ROLES_WORLD_NETWORK_H
#define TESTS_UNIT_ROLES_WORLD_NETWORK_H

#include <string.h>

#include "common/base/minmax.h"
#include "tests/unit/roles/world_state.h"

static inline struct packet *world_net(struct world *w, enum transport_event_type type, uint64_t id,
                                       uint32_t end)
{
    struct packet *packet = world_packet(w, PACKET_TRANSPORT, w->connections[id].ends[end], id);
    packet->transport.type = type;
    packet->transport.conn.v = id;
    packet->transport.accepted = end == 1;
    packet->transport.status = TN_ECLOSED;
    return packet;
}

static inline conn_id world_dial(void *ctx, const char *address)
{
    struct world_node *node = ctx;
    struct world *w = node->world;
    uint64_t id = ++w->next_conn;
    assert(id < CONNECTIONS_MAX);
    uint32_t to = (uint32_t)strtoul(address + strlen("node:"), NULL, 10);
    w->connections[id].ends[0] = node->index;
    w->connections[id].ends[1] = to;
    w->connections[id].open = w->nodes[to].session != 0;
    if (w->connections[id].open) {
        world_net(w, TRANSPORT_OPENED, id, 0);
        world_net(w, TRANSPORT_OPENED, id, 1);
    } else {
        world_net(w, TRANSPORT_CLOSED, id, 0)->transport.status = TN_ECONNECT;
    }
    return (conn_id){id};
}

static inline void world_send(void *ctx, conn_id conn, const struct frame_header *header,
                              struct buffer *body)
{
    struct world_node *node = ctx;
    struct world *w = node->world;
    assert(conn.v != 0);
    uint32_t end = w->connections[conn.v].ends[0] == node->index ? 1 : 0;
    /* Other bodies than tensors fit into any frame. */
    const bool tensor = header->type == FRAME_PUSH || header->type == FRAME_VALUES ||
                        header->type == FRAME_VALUES_GROWING;
    const size_t size = body != NULL ? body->size : 0, most = tensor ? WORLD_CHUNK_BYTES : SIZE_MAX;
    const size_t chunks = size > 0 ? (size - 1) / most + 1 : 1;
    for (size_t i = 0; i < chunks && w->connections[conn.v].open; i++) {
        const size_t from = (wire_is_last_first(header->type) ? chunks - 1 - i : i) * most;
        const size_t chunk = size_min(size - from, most);
        struct transport_event *event = &world_net(w, TRANSPORT_FRAME, conn.v, end)->transport;
        event->header = *header;
        event->header.sender = node->session;
        event->header.offset += from;
        event->header.body_bytes = (uint32_t)chunk;
        event->body = chunk > 0 ? buffer_acquire(w->pool, chunk) : NULL;
        if (chunk > 0) { memcpy(event->body->data, (const char *)body->data + from, chunk); }
    }
    buffer_release(body);
}

static inline void world_close_connection(struct world *w, uint64_t id)
{
    if (!w->connections[id].open) { return; }
    w->connections[id].open = false;
    world_net(w, TRANSPORT_CLOSED, id, 0);
    world_net(w, TRANSPORT_CLOSED, id, 1);
}

static inline void world_close(void *ctx, conn_id conn)
{
    world_close_connection(((struct world_node *)ctx)->world, conn.v);
}

#endif
