/* The port of a process: dial, send, close. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "group/member_frame.h"
#include "tests/sim/net_model_private.h"

enum {
    /* One connection of this number has no lane: its listener did not answer in time. */
    LINKS_BY_TCP = 4,
};

/* ---------------------------------------------------------------- dialing */

/* Frames sent before OPENED are lost with the connection. */
static void fail_dial(struct net_link *link, enum tn_status status)
{
    struct net_side *accepter = &link->sides[1];
    while (accepter->head != NULL) {
        struct net_frame *next = accepter->head->next;
        free(accepter->head);
        accepter->head = next;
    }
    accepter->tail = &accepter->head;
    net_append_close(link, &link->sides[0], status);
}

static void establish(struct net_link *link, struct net_endpoint *peer)
{
    struct net_side *dialler = &link->sides[0], *accepter = &link->sides[1];
    uint64_t now_us = link->net->world->now_us;
    accepter->endpoint = peer;
    accepter->heard_us = dialler->heard_us = now_us;
    link->established = true;
    if (dialler->endpoint->cluster != peer->cluster) { /* The peer refuses the handshake. */
        accepter->reported_closed = true;
        net_append_close(link, dialler, TN_ECLOSED);
    }
    if (!accepter->reported_closed) { net_loans_join(link); }
    /* A frozen process receives OPENED at its thaw. */
    if (!peer->frozen) { net_report_open(link, accepter); }
    if (!dialler->endpoint->dead && !dialler->endpoint->frozen) { net_report_open(link, dialler); }
    /* The frames sent before OPENED. */
    net_schedule_pump(link, accepter, now_us);
}

static void on_connect(struct world *world, void *target, uint64_t number, uint64_t until_us,
                       void *data)
{
    (void)data;
    struct net_link *link = target;
    struct net_model *net = link->net;
    struct net_endpoint *endpoint = link->sides[0].endpoint;
    if (endpoint->dead || link->sides[0].reported_closed || link->sides[0].closing) { return; }
    struct net_endpoint *peer = number < net->endpoint_count ? net->endpoints[number] : NULL;
    bool blocked = peer != NULL && (peer->silent || net->cut[endpoint->host][peer->host] ||
                                    net->cut[peer->host][endpoint->host]);
    if (number == UINT64_MAX) {
        fail_dial(link, TN_EINVAL);
    } else if (blocked && world->now_us < until_us) {
        world_after(world, 50000, on_connect, link, number, until_us, NULL);
    } else if (blocked) {
        fail_dial(link, TN_ETIMEDOUT);
    } else if (peer == NULL || peer->dead) {
        fail_dial(link, TN_ECONNECT);
    } else {
        establish(link, peer);
    }
}

static conn_id port_dial(void *ctx, const char *address)
{
    struct net_endpoint *endpoint = ctx;
    struct net_model *net = endpoint->net;
    struct net_link *link = calloc(1, sizeof *link);
    assert(link != NULL);
    link->net = net;
    if (net->link_count == net->link_capacity) {
        net->link_capacity = net->link_capacity ? net->link_capacity * 2 : 256;
        net->links = realloc(net->links, net->link_capacity * sizeof *net->links);
        assert(net->links != NULL);
    }
    net->links[net->link_count++] = link;
    link->lane = net->config.lanes && net->link_count % LINKS_BY_TCP != 0;
    for (size_t i = 0; i < 2; i++) {
        link->sides[i].id = 2 * net->link_count - 1 + i;
        link->sides[i].tail = &link->sides[i].head;
        link->sides[i].heard_us = net->world->now_us;
    }
    link->sides[0].endpoint = endpoint;
    uint64_t number = UINT64_MAX;
    if (sscanf(address, "sim://%" SCNu64, &number) != 1) { number = UINT64_MAX; }
    uint64_t until_us = net->world->now_us + net_patience_us(net);
    world_after(net->world, net_latency(net), on_connect, link, number, until_us, NULL);
    return (conn_id){link->sides[0].id};
}

static struct net_link *find_link(struct net_model *net, uint64_t id, struct net_side **side)
{
    if (id == 0 || (id - 1) / 2 >= net->link_count) { return NULL; }
    struct net_link *link = net->links[(id - 1) / 2];
    *side = &link->sides[(id - 1) % 2];
    return link;
}

void net_break_link(struct net_link *link, enum tn_status status)
{
    for (int i = 0; i < 2; i++) {
        if (link->sides[i].endpoint != NULL) { net_append_close(link, &link->sides[i], status); }
    }
}

/* Bytes [from, from + size) of the body as a frame. False: the connection breaks instead. */
static bool send_chunk(struct net_link *link, struct net_side *side,
                       const struct frame_header *header, struct buffer *body, size_t from,
                       size_t size)
{
    const struct net_endpoint *endpoint = side->endpoint;
    struct net_model *net = link->net;
    if (link->established && world_chance(net->world, net->config.break_per_mille)) {
        net_break_link(link, TN_ECLOSED);
        return false;
    }
    struct net_frame *frame = calloc(1, sizeof *frame + size);
    assert(frame != NULL);
    frame->header = *header;
    frame->header.cluster = endpoint->cluster;
    frame->header.sender = endpoint->sender;
    frame->header.offset += from;
    frame->header.body_bytes = (uint32_t)size;
    frame->size = size;
    if (size > 0) { memcpy(frame->bytes, (const uint8_t *)body->data + from, size); }
    if (size > 0) { frame->slot = net_slots_lend(link, body); }
    if (size > 0) { frame->loan = net_loans_lend(link, side, header, body, from, size); }
    if (size > 0 && frame->slot == NULL && frame->loan == 0) {
        frame->slot = net_slots_put(link, header, frame->bytes, size);
    }
    net_append(link, net_other(link, side), frame);
    return true;
}

/* Other bodies than tensors fit into any frame. */
static size_t chunk_bytes(const struct net_model *net, const struct frame_header *header)
{
    const bool in_group = header->type == FRAME_GROUP && (header->epoch == MEMBER_FRAME_TENSOR ||
                                                          header->epoch == MEMBER_FRAME_RESULT ||
                                                          header->epoch == MEMBER_FRAME_GRADIENT);
    const bool tensor = header->type == FRAME_PUSH || header->type == FRAME_VALUES ||
                        header->type == FRAME_VALUES_GROWING || header->type == FRAME_SUM ||
                        in_group;
    return tensor && net->config.chunk_bytes != 0 ? net->config.chunk_bytes : WIRE_CHUNK_BYTES;
}

static void port_send(void *ctx, conn_id conn, const struct frame_header *header,
                      struct buffer *body)
{
    struct net_endpoint *endpoint = ctx;
    struct net_side *side = NULL;
    struct net_link *link = find_link(endpoint->net, conn.v, &side);
    assert(!endpoint->dead);
    bool open = link != NULL && !endpoint->muted && !side->reported_closed && !side->closing;
    const size_t size = body != NULL ? body->size : 0, most = chunk_bytes(endpoint->net, header);
    const size_t chunks = size == 0 ? 1 : (size - 1) / most + 1;
    net_slots_read_through(endpoint->net, body);
    for (size_t i = 0; i < chunks && open; i++) {
        const size_t from = (wire_is_last_first(header->type) ? chunks - 1 - i : i) * most;
        open = send_chunk(link, side, header, body, from, size_min(size - from, most));
    }
    buffer_release(body);
}

static struct buffer *port_reserve(void *ctx, conn_id conn, uint32_t line, size_t bytes)
{
    struct net_endpoint *endpoint = ctx;
    struct net_side *side;
    struct net_link *link = find_link(endpoint->net, conn.v, &side);
    (void)line; /* Each is the first one of a page. */
    if (link == NULL || side->reported_closed || side->closing) { return NULL; }
    return net_slots_reserve(link, bytes);
}

static void port_close(void *ctx, conn_id conn)
{
    struct net_endpoint *endpoint = ctx;
    struct net_side *side;
    struct net_link *link = find_link(endpoint->net, conn.v, &side);
    if (link == NULL || endpoint->muted || side->reported_closed || side->closing) { return; }
    side->closing = true;
    net_append_close(link, side, TN_OK);
    if (net_other(link, side)->endpoint != NULL) {
        net_append_close(link, net_other(link, side), TN_ECLOSED);
    }
}

void net_endpoint_mute(struct net_endpoint *endpoint)
{
    endpoint->muted = true;
}

struct transport_port net_endpoint_port(struct net_endpoint *endpoint)
{
    const uint32_t chunk = endpoint->net->config.chunk_bytes;
    return (struct transport_port){
        .ctx = endpoint,
        .dial = port_dial,
        .send = port_send,
        .reserve = port_reserve,
        .close = port_close,
        .chunk_bytes = chunk > 0 ? chunk : WIRE_CHUNK_BYTES,
    };
}

void net_endpoint_address(const struct net_endpoint *endpoint, char *text, size_t size)
{
    (void)snprintf(text, size, "sim://%" PRIu64, endpoint->number);
}
