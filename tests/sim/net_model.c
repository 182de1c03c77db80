/* The streams of the network, and silent peers. net_port.c dials, sends and closes. */
#include "tests/sim/net_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/net_model_private.h"

uint64_t net_latency(struct net_model *net)
{
    if (world_chance(net->world, net->config.slow_per_mille)) {
        return world_below(net->world, net->config.slow_us + 1);
    }
    return world_between(net->world, net->config.latency_us / 2, net->config.latency_us * 2);
}

uint64_t net_patience_us(const struct net_model *net)
{
    return (uint64_t)net->config.heartbeat_ms * 4000;
}

struct net_side *net_other(struct net_link *link, const struct net_side *side)
{
    return &link->sides[side == &link->sides[0]];
}

/* Whether frames of the peer reach `side`. */
static bool way_is_open(struct net_link *link, const struct net_side *side)
{
    const struct net_endpoint *from = net_other(link, side)->endpoint, *to = side->endpoint;
    return from == NULL || !link->net->cut[from->host][to->host];
}

/* Whether the sender was stopped before it sent the frame. What a dead process had sent arrives. */
static bool is_held(struct net_link *link, const struct net_side *side,
                    const struct net_frame *frame)
{
    const struct net_endpoint *from = net_other(link, side)->endpoint;
    return from != NULL && !from->dead && from->stopped && frame->leaves_us > from->stopped_us;
}

/* --------------------------------------------------------------- streams */

static void on_pump(struct world *world, void *target, uint64_t index, uint64_t b, void *data);

void net_schedule_pump(struct net_link *link, struct net_side *side, uint64_t at_us)
{
    assert(at_us >= link->net->world->now_us);
    if (side->pumping || side->endpoint == NULL) { return; }
    side->pumping = true;
    world_at(link->net->world, at_us, on_pump, link, side == &link->sides[1], 0, NULL);
}

void net_append(struct net_link *link, struct net_side *side, struct net_frame *frame)
{
    assert(frame->next == NULL);
    const struct net_endpoint *sender = net_other(link, side)->endpoint;
    frame->leaves_us = link->net->world->now_us + (sender != NULL ? sender->delay_us : 0);
    uint64_t due = frame->leaves_us + net_latency(link->net);
    if (due < side->last_us) { due = side->last_us; }
    side->last_us = frame->due_us = due;
    *side->tail = frame;
    side->tail = &frame->next;
    net_schedule_pump(link, side, due);
}

void net_append_close(struct net_link *link, struct net_side *side, enum tn_status status)
{
    struct net_frame *frame = calloc(1, sizeof *frame);
    assert(frame != NULL);
    frame->closes = true;
    frame->status = status;
    net_append(link, side, frame);
}

void net_report_open(struct net_link *link, struct net_side *side)
{
    if (side->reported_open || side->reported_closed || side->endpoint == NULL) { return; }
    side->reported_open = true;
    side->heard_us = link->net->world->now_us;
    struct transport_event event = {
        .type = TRANSPORT_OPENED,
        .conn = {side->id},
        .accepted = side == &link->sides[1],
        .by_lane = link->lane,
    };
    side->endpoint->sink(side->endpoint->ctx, &event);
}

static void report_closed(struct net_link *link, struct net_side *side, enum tn_status status)
{
    if (side->reported_closed || side->endpoint == NULL) { return; }
    side->reported_closed = true;
    if (side->endpoint->dead) { return; }
    if (side == &link->sides[1]) { net_loans_leave(link); }
    struct transport_event event = {.type = TRANSPORT_CLOSED, .conn = {side->id}, .status = status};
    side->endpoint->sink(side->endpoint->ctx, &event);
}

/* Closes `side`, and sends the end of the stream to its peer. */
static void close_both(struct net_link *link, struct net_side *side, enum tn_status why)
{
    struct net_side *peer = net_other(link, side);
    if (peer->endpoint != NULL && !peer->reported_closed) {
        net_append_close(link, peer, TN_ECLOSED);
    }
    report_closed(link, side, why);
}

static void deliver_frame(struct net_link *link, struct net_side *side,
                          const struct net_frame *frame)
{
    assert(side->endpoint != NULL);
    assert(!side->endpoint->dead);
    struct net_endpoint *endpoint = side->endpoint;
    side->heard_us = link->net->world->now_us;
    if (frame->header.cluster != endpoint->cluster) {
        close_both(link, side, TN_EPROTO);
        return;
    }
    struct net_model *net = link->net;
    /* Frames of a connection that the receiver has closed have no effect. */
    if (net->observer != NULL && !side->closing) {
        net->observer(net->observer_ctx, endpoint->ctx, &frame->header, frame->bytes);
    }
    struct transport_event event = {
        .type = TRANSPORT_FRAME, .conn = {side->id}, .header = frame->header};
    if (side == &link->sides[1]) { net_loans_collect(link); }
    if (frame->loan != 0) {
        event.body = net_loans_take(link, frame->loan, frame->header.offset, frame->size);
    } else if (frame->slot != NULL) {
        event.body = net_slots_take(frame->slot, frame->size);
    } else if (frame->size > 0) {
        event.body = buffer_acquire(endpoint->pool, frame->size);
        if (event.body == NULL) {
            close_both(link, side, TN_ENOMEM);
            return;
        }
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
        bool ended = side->endpoint == NULL || side->endpoint->dead || side->reported_closed;
        if (!ended) {
            if (frame->due_us > world->now_us) {
                net_schedule_pump(link, side, frame->due_us);
                return;
            }
            if (side->endpoint->frozen || !way_is_open(link, side) || is_held(link, side, frame)) {
                net_schedule_pump(link, side, world->now_us + RETRY_US);
                return;
            }
            net_report_open(link, side);
            if (side->endpoint->frozen) { /* It computes in answer. */
                net_schedule_pump(link, side, world->now_us + RETRY_US);
                return;
            }
        }
        side->head = frame->next;
        if (side->head == NULL) { side->tail = &side->head; }
        ended = ended || side->endpoint->dead || side->reported_closed;
        if (!ended && frame->closes) { report_closed(link, side, frame->status); }
        if (!ended && !frame->closes) { deliver_frame(link, side, frame); }
        free(frame);
    }
}

/* ---------------------------------------------------------- silent peers */

static bool is_over(const struct net_link *link)
{
    for (int i = 0; i < 2; i++) {
        const struct net_side *side = &link->sides[i];
        bool ended = side->endpoint == NULL || side->endpoint->dead || side->reported_closed;
        if (!ended || side->head != NULL) { return false; }
    }
    return true;
}

static void on_sweep(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)data;
    struct net_model *net = target;
    while (net->first_open < net->link_count && is_over(net->links[net->first_open])) {
        net->first_open++;
    }
    for (size_t l = net->first_open; l < net->link_count; l++) {
        struct net_link *link = net->links[l];
        if (!link->established || is_over(link)) { continue; }
        for (int i = 0; i < 2; i++) {
            struct net_side *side = &link->sides[i], *peer = net_other(link, side);
            if (side->reported_closed || side->endpoint->dead || side->endpoint->frozen) {
                continue;
            }
            bool alive = !peer->endpoint->dead && !peer->endpoint->frozen &&
                         !peer->reported_closed && way_is_open(link, side);
            if (alive) { side->heard_us = world->now_us; }
            if (world->now_us - side->heard_us > net_patience_us(net)) {
                close_both(link, side, TN_ETIMEDOUT);
            }
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
    net->loans_random.state = world->seed ^ 0x72656164696e6700u;
    world_after(world, 1000, on_sweep, net, 0, 0, NULL);
    return net;
}

void net_model_free(struct net_model *net)
{
    if (net == NULL) { return; }
    for (size_t l = 0; l < net->link_count; l++) {
        for (int i = 0; i < 2; i++) {
            struct net_side *side = &net->links[l]->sides[i];
            while (side->head != NULL) {
                struct net_frame *next = side->head->next;
                free(side->head);
                side->head = next;
            }
        }
        net_loans_free(net->links[l]);
        free(net->links[l]);
    }
    free(net->links);
    net_slots_free(net);
    for (size_t i = 0; i < net->endpoint_count; i++) { free(net->endpoints[i]); }
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

static void for_each_side(struct net_endpoint *endpoint,
                          void (*visit)(struct net_link *link, struct net_side *side))
{
    struct net_model *net = endpoint->net;
    for (size_t l = net->first_open; l < net->link_count; l++) {
        for (int i = 0; i < 2; i++) {
            struct net_side *side = &net->links[l]->sides[i];
            if (side->endpoint == endpoint) { visit(net->links[l], side); }
        }
    }
}

static void close_peer(struct net_link *link, struct net_side *side)
{
    struct net_side *peer = net_other(link, side);
    if (peer->endpoint != NULL && !peer->reported_closed) {
        net_append_close(link, peer, TN_ECLOSED);
    }
}

static void reset_link(struct net_link *link, struct net_side *side)
{
    (void)side;
    if (link->established) { net_break_link(link, TN_ECLOSED); }
}

/* The process may compute from the first event on: then it hears of the others afterwards. */
static void open_late(struct net_link *link, struct net_side *side)
{
    if (link->established && !side->endpoint->frozen) { net_report_open(link, side); }
}

/* A process may die between any two of its sends: a random part of the end of the stream is
 * lost. */
static void lose_tail(struct net_link *link, struct net_side *side)
{
    struct net_side *peer = net_other(link, side);
    struct world *world = link->net->world;
    if (world_chance(world, 500)) { return; }
    struct net_frame **at = &peer->head;
    while (*at != NULL && !(*at)->closes && world_chance(world, 500)) { at = &(*at)->next; }
    while (*at != NULL && !(*at)->closes) {
        struct net_frame *lost = *at;
        *at = lost->next;
        free(lost);
    }
    peer->tail = &peer->head;
    while (*peer->tail != NULL) { peer->tail = &(*peer->tail)->next; }
}

void net_endpoint_kill(struct net_endpoint *endpoint, bool silently)
{
    if (endpoint->dead) { return; }
    endpoint->dead = true;
    endpoint->silent = silently;
    for_each_side(endpoint, lose_tail);
    if (!silently) { for_each_side(endpoint, close_peer); }
}

void net_endpoint_delay(struct net_endpoint *endpoint, uint64_t delay_us)
{
    endpoint->delay_us = delay_us;
}

void net_endpoint_freeze(struct net_endpoint *endpoint, bool frozen)
{
    if (endpoint->dead || endpoint->frozen == frozen) { return; }
    endpoint->frozen = frozen;
    if (!frozen) { for_each_side(endpoint, open_late); }
}

void net_endpoint_stop(struct net_endpoint *endpoint, bool stopped)
{
    if (stopped && !endpoint->stopped) { endpoint->stopped_us = endpoint->net->world->now_us; }
    endpoint->stopped = stopped;
}

void net_endpoint_reset(struct net_endpoint *endpoint)
{
    if (!endpoint->dead) { for_each_side(endpoint, reset_link); }
}
