/* tests/unit/group/faulty_network.h: the port to the network of members whose connections break at
 * random: frames under way are lost, each end notices that at a time of its own, and another
 * connection may be made before. A test delivers one event after the other. Member 2 has the
 * address "2". */
#ifndef TESTS_UNIT_GROUP_FAULTY_NETWORK_H
#define TESTS_UNIT_GROUP_FAULTY_NETWORK_H

#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/net/transport.h"

enum { NETWORK_MEMBERS = 4, END_FRAMES = 512, NETWORK_ENDS = 64, NETWORK_CHUNK_BYTES = 64 };

/* One end of a connection, with the frames that were not delivered to it yet. */
struct end {
    conn_id conn; /* 0: the place is free. */
    bool is_accepted, is_open, is_broken;
    uint32_t member;
    uint32_t other; /* The other end, while the connection is not broken. */
    uint32_t frame_count;
    struct transport_event frames[END_FRAMES];
};

struct network {
    struct random random;
    uint32_t members;
    uint64_t conns;
    struct end ends[NETWORK_ENDS];
    struct network_member {
        struct network *network;
        uint32_t member;
    } ports[NETWORK_MEMBERS];
};

static inline uint32_t network_draw(struct network *network, uint32_t limit)
{
    return (uint32_t)random_below(&network->random, limit);
}

static inline struct end *network_new_end(struct network *network, uint32_t member)
{
    uint32_t i = 0;
    while (network->ends[i].conn.v != 0) {
        i++;
        assert(i < NETWORK_ENDS);
    }
    struct end *end = &network->ends[i];
    end->conn = (conn_id){++network->conns};
    end->is_accepted = end->is_open = end->is_broken = false;
    end->member = member;
    end->frame_count = 0;
    return end;
}

static inline void network_drop(struct end *end, uint32_t kept)
{
    while (end->frame_count > kept) { buffer_release(end->frames[--end->frame_count].body); }
}

/* The last frames that are under way in each direction are lost. */
static inline void network_break(struct network *network, struct end *end)
{
    if (end->conn.v == 0 || end->is_broken) { return; }
    struct end *other = &network->ends[end->other];
    end->is_broken = other->is_broken = true;
    network_drop(end, network_draw(network, end->frame_count + 1));
    network_drop(other, network_draw(network, other->frame_count + 1));
}

/* The process of a member has ended. */
static inline void network_forget(struct network *network, uint32_t member)
{
    for (uint32_t i = 0; i < NETWORK_ENDS; i++) {
        struct end *end = &network->ends[i];
        if (end->conn.v == 0 || end->member != member) { continue; }
        network_break(network, end);
        network_drop(end, 0);
        end->conn = (conn_id){0};
    }
}

static inline conn_id network_dial(void *ctx, const char *address)
{
    struct network_member *from = ctx;
    struct end *dialed = network_new_end(from->network, from->member);
    struct end *accepted = network_new_end(from->network, (uint32_t)atoi(address));
    accepted->is_accepted = true;
    dialed->other = (uint32_t)(accepted - from->network->ends);
    accepted->other = (uint32_t)(dialed - from->network->ends);
    return dialed->conn;
}

static inline struct end *network_find(struct network_member *from, conn_id conn)
{
    for (uint32_t i = 0; i < NETWORK_ENDS; i++) {
        struct end *end = &from->network->ends[i];
        if (end->conn.v == conn.v && end->member == from->member) { return end; }
    }
    return NULL;
}

static inline void network_put(struct end *to, const struct frame_header *header,
                               struct buffer *part)
{
    assert(to->frame_count < END_FRAMES);
    struct transport_event *event = &to->frames[to->frame_count++];
    *event = (struct transport_event){
        .type = TRANSPORT_FRAME, .conn = to->conn, .header = *header, .body = part};
    event->header.body_bytes = part != NULL ? (uint32_t)part->size : 0;
}

static inline void network_send(void *ctx, conn_id conn, const struct frame_header *header,
                                struct buffer *body)
{
    struct network_member *from = ctx;
    struct end *end = network_find(from, conn);
    if (conn.v == 0 || end == NULL || end->is_broken) {
        buffer_release(body);
        return;
    }
    struct end *other = &from->network->ends[end->other];
    if (body == NULL) { network_put(other, header, NULL); }
    for (size_t at = 0; body != NULL && at < body->size; at += NETWORK_CHUNK_BYTES) {
        const size_t part = size_min(body->size - at, NETWORK_CHUNK_BYTES);
        struct frame_header chunk = *header;
        chunk.offset += at;
        network_put(other, &chunk, buffer_part(body, at, part));
    }
    buffer_release(body);
}

static inline void network_close(void *ctx, conn_id conn)
{
    struct network_member *from = ctx;
    struct end *end = network_find(from, conn);
    if (conn.v != 0 && end != NULL) { network_break(from->network, end); }
}

static inline struct transport_port network_port(struct network *network, uint32_t member)
{
    network->ports[member] = (struct network_member){network, member};
    return (struct transport_port){
        .ctx = &network->ports[member],
        .dial = network_dial,
        .send = network_send,
        .close = network_close,
        .chunk_bytes = NETWORK_CHUNK_BYTES,
    };
}

/* Take the next event of an end, and the member that it is for. False: there is none. */
static inline bool network_take(struct end *end, struct transport_event *out, uint32_t *member)
{
    *member = end->member;
    *out = (struct transport_event){.conn = end->conn};
    if (end->conn.v == 0) { return false; }
    if (!end->is_open) {
        /* An accepted connection is open once a frame has arrived. */
        if (end->is_accepted && end->frame_count == 0 && !end->is_broken) { return false; }
        end->is_open = true;
        out->type = TRANSPORT_OPENED;
        out->accepted = end->is_accepted;
        return true;
    }
    if (end->frame_count > 0) {
        *out = end->frames[0];
        end->frame_count--;
        for (uint32_t i = 0; i < end->frame_count; i++) { end->frames[i] = end->frames[i + 1]; }
        return true;
    }
    if (!end->is_broken) { return false; }
    out->type = TRANSPORT_CLOSED;
    out->status = TN_ECLOSED;
    end->conn = (conn_id){0};
    return true;
}

static inline bool network_next(struct network *network, struct transport_event *out,
                                uint32_t *member)
{
    return network_take(&network->ends[network_draw(network, NETWORK_ENDS)], out, member);
}

#endif
