/* tests/unit/support/fake_ports.h: ports to ZooKeeper and the network that record requests. */
#ifndef TESTS_FAKE_PORTS_H
#define TESTS_FAKE_PORTS_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/node/node.h"

enum { FAKE_REQUESTS_MAX = 64, FAKE_FRAMES_MAX = 64, FAKE_DATA_MAX = 2048 };

struct fake_request {
    char verb; /* 'w'rite, 'r'ead or 'l'ist. */
    uint64_t op;
    size_t count; /* Number of writes; the first 8 are kept. */
    struct {
        enum zk_write_kind kind;
        char path[ZK_PATH_MAX];
        char data[FAKE_DATA_MAX];
        int32_t version;
        unsigned flags;
    } writes[8];
};

struct fake_ports {
    struct fake_request requests[FAKE_REQUESTS_MAX];
    size_t request_count;
    struct {
        conn_id conn;
        struct frame_header header;
        uint8_t body[512];
    } frames[FAKE_FRAMES_MAX];
    size_t frame_count;
    uint64_t dialled; /* Number of connections so far; their ids are 1, 2, ... */
    char dialled_address[TRANSPORT_ADDRESS_MAX];
    uint64_t closed; /* Id of the connection closed last. */
};

static inline struct fake_request *fake_add(struct fake_ports *fake, char verb, uint64_t op,
                                            const char *path)
{
    assert(fake->request_count < FAKE_REQUESTS_MAX);
    struct fake_request *request = &fake->requests[fake->request_count++];
    memset(request, 0, sizeof *request);
    request->verb = verb;
    request->op = op;
    snprintf(request->writes[0].path, ZK_PATH_MAX, "%s", path);
    return request;
}

static inline void fake_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    assert(watch || path != NULL);
    fake_add(ctx, 'r', op, path);
}

static inline void fake_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    assert(watch || path != NULL);
    fake_add(ctx, 'l', op, path);
}

static inline void fake_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    struct fake_request *request = fake_add(ctx, 'w', op, writes[0].path);
    request->count = count;
    for (size_t i = 0; i < count && i < 8; i++) {
        assert(writes[i].size < FAKE_DATA_MAX);
        request->writes[i].kind = writes[i].kind;
        request->writes[i].version = writes[i].version;
        request->writes[i].flags = writes[i].flags;
        snprintf(request->writes[i].path, ZK_PATH_MAX, "%s", writes[i].path);
        if (writes[i].size > 0) { memcpy(request->writes[i].data, writes[i].data, writes[i].size); }
    }
}

static inline conn_id fake_dial(void *ctx, const char *address)
{
    struct fake_ports *fake = ctx;
    snprintf(fake->dialled_address, sizeof fake->dialled_address, "%s", address);
    return (conn_id){++fake->dialled};
}

static inline void fake_send(void *ctx, conn_id conn, const struct frame_header *header,
                             struct buffer *body)
{
    struct fake_ports *fake = ctx;
    assert(fake->frame_count < FAKE_FRAMES_MAX);
    fake->frames[fake->frame_count].conn = conn;
    fake->frames[fake->frame_count].header = *header;
    if (body != NULL) { memcpy(fake->frames[fake->frame_count].body, body->data, body->size); }
    fake->frame_count++;
    buffer_release(body);
}

static inline void fake_close(void *ctx, conn_id conn)
{
    struct fake_ports *fake = ctx;
    fake->closed = conn.v;
}

static inline struct zk_port fake_zk_port(struct fake_ports *fake)
{
    return (struct zk_port){.ctx = fake, .write = fake_write, .read = fake_read, .list = fake_list};
}

static inline struct node_ports fake_node_ports(struct fake_ports *fake, struct buffer_pool *pool)
{
    return (struct node_ports){
        .zk = fake_zk_port(fake),
        .transport = {.ctx = fake, .dial = fake_dial, .send = fake_send, .close = fake_close},
        .buffers = pool};
}

/* The newest request with this verb whose (first) path ends with `tail`, or NULL. */
static inline struct fake_request *fake_last(struct fake_ports *fake, char verb, const char *tail)
{
    for (size_t i = fake->request_count; i-- > 0;) {
        struct fake_request *request = &fake->requests[i];
        size_t length = strlen(request->writes[0].path), want = strlen(tail);
        if (request->verb != verb || length < want) { continue; }
        if (strcmp(request->writes[0].path + length - want, tail) == 0) { return request; }
    }
    return NULL;
}

#endif
