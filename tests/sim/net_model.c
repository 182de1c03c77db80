#include "tests/sim/net_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NET_ENDPOINTS_MAX = 4096, RETRY_US = 20000 };

struct net_frame {
    struct net_frame *next;
    uint64_t due_us;
    bool closes; /* The end of the stream. */
    enum tn_status status;
    struct frame_header header;
    size_t size;
    uint8_t bytes[];
};

/* One end of a connection, and the stream towards it. */
struct net_side {
    struct net_endpoint *endpoint; /* NULL: the dial found nobody. */
    uint64_t id;
    bool told_open, told_closed;
    uint64_t heard_us;
    struct net_frame *head, **tail;
    uint64_t last_us;
    bool pumping;
};

struct net_link {
    struct net_model *net;
    bool established;
    struct net_side sides[2]; /* 0 dialled. */
};

struct net_endpoint {
    struct net_model *net;
    uint32_t host;
    uint64_t number, cluster, sender;
    struct buffer_pool *pool;
    transport_sink sink;
    void *ctx;
    bool dead, frozen;
};

struct net_model {
    struct world *world;
    struct net_config config;
    struct net_link **links; /* By connection: ids 2i+1 (dialler) and 2i+2. */
    size_t link_count, link_capacity;
    size_t first_living; /* All links before it are over. */
    struct net_endpoint *endpoints[NET_ENDPOINTS_MAX];
    size_t endpoint_count;
    bool cut[NET_HOSTS_MAX][NET_HOSTS_MAX];
    net_observer observer;
    void *observer_ctx;
};

static uint64_t latency(struct net_model *net)
{
    if (world_chance(net->world, net->config.slow_per_mille)) {
        return world_below(net->world, net->config.slow_us + 1);
    }
    return world_between(net->world, net->config.latency_us / 2, net->config.latency_us * 2);
}

static struct net_side *other(struct net_link *link, const struct net_side *side)
{
    return &link->sides[side == &link->sides[0]];
}

/* Does what `side`'s peer sends arrive? */
static bool way_is_open(struct net_link *link, const struct net_side *side)
{
    const struct net_endpoint *from = other(link, side)->endpoint, *to = side->endpoint;
    return from == NULL || !link->net->cut[from->host][to->host];
}

/* --------------------------------------------------------------- streams */

static void on_pump(struct world *world, void *target, uint64_t index, uint64_t b, void *data);

static void schedule_pump(struct net_link *link, struct net_side *side, uint64_t at_us)
{
    if (side->pumping || side->endpoint == NULL) return;
    side->pumping = true;
    world_at(link->net->world, at_us, on_pump, link, side == &link->sides[1], 0, NULL);
}

static void append(struct net_link *link, struct net_side *side, struct net_frame *frame)
{
    uint64_t due = link->net->world->now_us + latency(link->net);
    if (due < side->last_us) due = side->last_us;
    side->last_us = frame->due_us = due;
    *side->tail = frame;
    side->tail = &frame->next;
    schedule_pump(link, side, due);
}

static void append_close(struct net_link *link, struct net_side *side, enum tn_status status)
{
    struct net_frame *frame = calloc(1, sizeof *frame);
    assert(frame != NULL);
    frame->closes = true;
    frame->status = status;
    append(link, side, frame);
}

static void tell_open(struct net_link *link, struct net_side *side)
{
    if (side->told_open || side->told_closed || side->endpoint == NULL) return;
    side->told_open = true;
    side->heard_us = link->net->world->now_us;
    struct transport_event event = {
        .type = TRANSPORT_OPENED, .conn = {side->id}, .accepted = side == &link->sides[1]};
    side->endpoint->sink(side->endpoint->ctx, &event);
}

static void tell_closed(struct net_side *side, enum tn_status status)
{
    if (side->told_closed || side->endpoint == NULL) return;
    side->told_closed = true;
    if (side->endpoint->dead) return;
    struct transport_event event = {.type = TRANSPORT_CLOSED, .conn = {side->id}, .status = status};
    side->endpoint->sink(side->endpoint->ctx, &event);
}

static void tell_frame(struct net_link *link, struct net_side *side, const struct net_frame *frame)
{
    struct net_endpoint *endpoint = side->endpoint;
    side->heard_us = link->net->world->now_us;
    if (frame->header.cluster != endpoint->cluster) {
        append_close(link, other(link, side), TN_ECLOSED);
        tell_closed(side, TN_EPROTO);
        return;
    }
    struct net_model *net = link->net;
    if (net->observer != NULL) net->observer(net->observer_ctx, &frame->header, frame->bytes);
    struct transport_event event = {
        .type = TRANSPORT_FRAME, .conn = {side->id}, .header = frame->header};
    if (frame->size > 0) {
        event.body = buffer_acquire(endpoint->pool, frame->size);
        assert(event.body != NULL);
        memcpy(event.body->data, frame->bytes, frame->size);
        event.body->size = frame->size;
    }
    endpoint->sink(endpoint->ctx, &event);
}

static void on_pump(struct world *world, void *target, uint64_t index, uint64_t b, void *data)
{
    (void)b;
    (void)data;
    struct net_link *link = target;
    struct net_side *side = &link->sides[index];
    side->pumping = false;
    while (side->head != NULL) {
        struct net_frame *frame = side->head;
        bool gone = side->endpoint == NULL || side->endpoint->dead || side->told_closed;
        if (!gone) {
            if (frame->due_us > world->now_us) {
                schedule_pump(link, side, frame->due_us);
                return;
            }
            if (side->endpoint->frozen || !way_is_open(link, side)) {
                schedule_pump(link, side, world->now_us + RETRY_US);
                return;
            }
            tell_open(link, side);
        }
        side->head = frame->next;
        if (side->head == NULL) side->tail = &side->head;
        gone = gone || side->endpoint->dead || side->told_closed;
        if (!gone && frame->closes) tell_closed(side, frame->status);
        if (!gone && !frame->closes) tell_frame(link, side, frame);
        free(frame);
    }
}

/* ---------------------------------------------------------------- dialing */

static void on_connect(struct world *world, void *target, uint64_t number, uint64_t b, void *data)
{
    (void)data;
    struct net_link *link = target;
    struct net_model *net = link->net;
    struct net_side *dialler = &link->sides[0], *accepter = &link->sides[1];
    if (dialler->endpoint->dead || dialler->told_closed) return;
    struct net_endpoint *peer = number < net->endpoint_count ? net->endpoints[number] : NULL;
    if (peer == NULL || peer->dead) {
        append_close(link, dialler, TN_ECONNECT);
        return;
    }
    bool blocked = net->cut[dialler->endpoint->host][peer->host] ||
                   net->cut[peer->host][dialler->endpoint->host];
    if (blocked) {
        if (b < 20) {
            world_after(world, 50000, on_connect, link, number, b + 1, NULL);
        } else {
            append_close(link, dialler, TN_ETIMEDOUT);
        }
        return;
    }
    accepter->endpoint = peer;
    accepter->heard_us = dialler->heard_us = world->now_us;
    link->established = true;
    if (!peer->frozen) tell_open(link, accepter); /* A frozen one is told at its thaw. */
    if (!dialler->endpoint->dead && !dialler->endpoint->frozen) tell_open(link, dialler);
    /* What was sent before OPENED. */
    schedule_pump(link, accepter, world->now_us);
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
    for (size_t i = 0; i < 2; i++) {
        link->sides[i].id = 2 * net->link_count - 1 + i;
        link->sides[i].tail = &link->sides[i].head;
        link->sides[i].heard_us = net->world->now_us;
    }
    link->sides[0].endpoint = endpoint;
    uint64_t number = UINT64_MAX;
    if (sscanf(address, "sim://%" SCNu64, &number) != 1) number = UINT64_MAX;
    world_after(net->world, latency(net), on_connect, link, number, 0, NULL);
    return (conn_id){link->sides[0].id};
}

static struct net_link *find_link(struct net_model *net, uint64_t id, struct net_side **side)
{
    if (id == 0 || (id - 1) / 2 >= net->link_count) return NULL;
    struct net_link *link = net->links[(id - 1) / 2];
    *side = &link->sides[(id - 1) % 2];
    return link;
}

static bool is_over(const struct net_link *link)
{
    for (int i = 0; i < 2; i++) {
        const struct net_side *side = &link->sides[i];
        bool gone = side->endpoint == NULL || side->endpoint->dead || side->told_closed;
        if (!gone || side->head != NULL) return false;
    }
    return true;
}

static void break_link(struct net_link *link, enum tn_status status)
{
    for (int i = 0; i < 2; i++) {
        if (link->sides[i].endpoint != NULL) append_close(link, &link->sides[i], status);
    }
}

static void port_send(void *ctx, conn_id conn, const struct frame_header *header,
                      struct buffer *body)
{
    struct net_endpoint *endpoint = ctx;
    struct net_side *side;
    struct net_link *link = find_link(endpoint->net, conn.v, &side);
    assert(!endpoint->dead && !endpoint->frozen);
    if (link == NULL || side->told_closed) {
        buffer_release(body);
        return;
    }
    size_t size = body != NULL ? body->size : 0;
    struct net_frame *frame = calloc(1, sizeof *frame + size);
    assert(frame != NULL);
    frame->header = *header;
    frame->header.cluster = endpoint->cluster;
    frame->header.sender = endpoint->sender;
    frame->header.body_bytes = (uint32_t)size;
    frame->size = size;
    if (size > 0) memcpy(frame->bytes, body->data, size);
    buffer_release(body);
    if (link->established &&
        world_chance(endpoint->net->world, endpoint->net->config.break_per_mille)) {
        free(frame);
        break_link(link, TN_ECLOSED);
        return;
    }
    append(link, other(link, side), frame);
}

static void port_close(void *ctx, conn_id conn)
{
    struct net_endpoint *endpoint = ctx;
    struct net_side *side;
    struct net_link *link = find_link(endpoint->net, conn.v, &side);
    if (link == NULL || side->told_closed) return;
    append_close(link, side, TN_ECLOSED);
    if (other(link, side)->endpoint != NULL) append_close(link, other(link, side), TN_ECLOSED);
}

/* ---------------------------------------------------------- silent peers */

static void on_sweep(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)data;
    struct net_model *net = target;
    uint64_t patience = (uint64_t)net->config.heartbeat_ms * 4000;
    while (net->first_living < net->link_count && is_over(net->links[net->first_living])) {
        net->first_living++;
    }
    for (size_t l = net->first_living; l < net->link_count; l++) {
        struct net_link *link = net->links[l];
        if (!link->established || is_over(link)) continue;
        for (int i = 0; i < 2; i++) {
            struct net_side *side = &link->sides[i], *peer = other(link, side);
            if (side->told_closed || side->endpoint->dead || side->endpoint->frozen) continue;
            bool beats = !peer->endpoint->dead && !peer->endpoint->frozen && !peer->told_closed &&
                         way_is_open(link, side);
            if (beats) side->heard_us = world->now_us;
            if (world->now_us - side->heard_us > patience) tell_closed(side, TN_ETIMEDOUT);
        }
    }
    world_after(world, (uint64_t)net->config.heartbeat_ms * 500, on_sweep, net, a, b, NULL);
}

/* ----------------------------------------------------------- life cycle */

struct net_model *net_model_create(struct world *world, const struct net_config *config)
{
    struct net_model *net = calloc(1, sizeof *net);
    assert(net != NULL);
    net->world = world;
    net->config = *config;
    world_after(world, 1000, on_sweep, net, 0, 0, NULL);
    return net;
}

void net_model_free(struct net_model *net)
{
    if (net == NULL) return;
    for (size_t l = 0; l < net->link_count; l++) {
        for (int i = 0; i < 2; i++) {
            struct net_side *side = &net->links[l]->sides[i];
            while (side->head != NULL) {
                struct net_frame *next = side->head->next;
                free(side->head);
                side->head = next;
            }
        }
        free(net->links[l]);
    }
    free(net->links);
    for (size_t i = 0; i < net->endpoint_count; i++) free(net->endpoints[i]);
    free(net);
}

void net_model_observe(struct net_model *net, net_observer observer, void *ctx)
{
    net->observer = observer;
    net->observer_ctx = ctx;
}

void net_model_heal(struct net_model *net)
{
    net->config.slow_per_mille = net->config.break_per_mille = 0;
    memset(net->cut, 0, sizeof net->cut);
}

void net_model_cut(struct net_model *net, uint32_t from, uint32_t to, bool cut)
{
    assert(from < NET_HOSTS_MAX && to < NET_HOSTS_MAX);
    net->cut[from][to] = cut;
}

struct net_endpoint *net_endpoint_open(struct net_model *net, uint32_t host, uint64_t cluster,
                                       uint64_t sender, struct buffer_pool *pool,
                                       transport_sink sink, void *ctx)
{
    assert(net->endpoint_count < NET_ENDPOINTS_MAX && host < NET_HOSTS_MAX);
    struct net_endpoint *endpoint = calloc(1, sizeof *endpoint);
    assert(endpoint != NULL);
    *endpoint = (struct net_endpoint){.net = net,
                                      .host = host,
                                      .number = net->endpoint_count,
                                      .cluster = cluster,
                                      .sender = sender,
                                      .pool = pool,
                                      .sink = sink,
                                      .ctx = ctx};
    net->endpoints[net->endpoint_count++] = endpoint;
    return endpoint;
}

struct transport_port net_endpoint_port(struct net_endpoint *endpoint)
{
    return (struct transport_port){
        .ctx = endpoint, .dial = port_dial, .send = port_send, .close = port_close};
}

void net_endpoint_address(const struct net_endpoint *endpoint, char *text, size_t size)
{
    (void)snprintf(text, size, "sim://%" PRIu64, endpoint->number);
}

static void for_each_side(struct net_endpoint *endpoint,
                          void (*visit)(struct net_link *link, struct net_side *side))
{
    struct net_model *net = endpoint->net;
    for (size_t l = net->first_living; l < net->link_count; l++) {
        for (int i = 0; i < 2; i++) {
            struct net_side *side = &net->links[l]->sides[i];
            if (side->endpoint == endpoint) visit(net->links[l], side);
        }
    }
}

static void close_peer(struct net_link *link, struct net_side *side)
{
    struct net_side *peer = other(link, side);
    if (peer->endpoint != NULL && !peer->told_closed) append_close(link, peer, TN_ECLOSED);
}

static void reset_link(struct net_link *link, struct net_side *side)
{
    (void)side;
    if (link->established) break_link(link, TN_ECLOSED);
}

static void open_late(struct net_link *link, struct net_side *side)
{
    if (link->established) tell_open(link, side);
}

void net_endpoint_kill(struct net_endpoint *endpoint, bool silently)
{
    if (endpoint->dead) return;
    endpoint->dead = true;
    if (!silently) for_each_side(endpoint, close_peer);
}

void net_endpoint_freeze(struct net_endpoint *endpoint, bool frozen)
{
    if (endpoint->dead || endpoint->frozen == frozen) return;
    endpoint->frozen = frozen;
    if (!frozen) for_each_side(endpoint, open_late);
}

void net_endpoint_reset(struct net_endpoint *endpoint)
{
    if (!endpoint->dead) for_each_side(endpoint, reset_link);
}
