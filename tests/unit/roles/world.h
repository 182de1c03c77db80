/*
 * tests/unit/roles/world.h: two ps and two workers in one process, with models of ZooKeeper, of the
 * network and of the stores that answer in an order drawn from a seed. The test acts as the chief:
 * it writes znodes and reads reports.
 */
#ifndef TESTS_UNIT_ROLES_WORLD_H
#define TESTS_UNIT_ROLES_WORLD_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/cluster/report.h"
#include "common/cluster/znodes.h"
#include "ps/ps.h"
#include "tests/unit/roles/store.h"
#include "worker/compute.h"
#include "worker/worker.h"

enum { PS = 2, WORKERS = 2, NODES = PS + WORKERS, CHIEF = NODES, ZNODES_MAX = 32 };
enum { PACKETS_MAX = 4096, CONNECTIONS_MAX = 512, WORLD_CHUNK_BYTES = 64 };

enum packet_type { PACKET_ZK, PACKET_TRANSPORT, PACKET_STORE };

struct packet {
    enum packet_type type;
    uint32_t to;
    uint64_t channel; /* Packets of one channel to one node keep their order. */
    struct zk_event zk;
    char path[ZK_PATH_MAX];
    void *data; /* Owned. */
    char name[ZNODES_MAX][32];
    const char *children[ZNODES_MAX];
    struct transport_event transport;
    struct roles_store_answer *store;
};

struct znode {
    char path[ZK_PATH_MAX];
    char data[ZNODE_JSON_MAX];
    size_t size;
    int32_t version;
    uint64_t owner; /* Session; 0: persistent. */
};

struct world;
struct world_node {
    struct world *world;
    uint32_t index;
    uint64_t session; /* Also its incarnation; 0: the node is dead. */
    struct node_ports ports;
    struct node node;
    struct ps *ps;
    struct worker *worker;
    struct model *model;
    struct roles_store store; /* The store of a ps; it outlives the ps. */
    struct report report;     /* The last one that the chief received. */
};

struct world {
    struct random random;
    uint64_t now_ms, next_session, next_conn, steps;
    struct job job;
    struct variable_table variables;
    struct dataset *train, *test;
    struct buffer_pool *pool;
    struct znode znodes[ZNODES_MAX];
    uint32_t znode_count;
    struct {
        uint32_t ends[2];
        bool open;
    } connections[CONNECTIONS_MAX];
    struct packet *queue[PACKETS_MAX];
    uint32_t queued;
    struct world_node nodes[NODES + 1];
};

static inline struct packet *world_packet(struct world *w, enum packet_type type, uint32_t to,
                                          uint64_t channel)
{
    struct packet *packet = calloc(1, sizeof *packet);
    assert(packet != NULL && w->queued < PACKETS_MAX);
    packet->type = type;
    packet->to = to;
    packet->channel = channel;
    w->queue[w->queued++] = packet;
    return packet;
}

/* ---------------------------------------------------------------- ZooKeeper */

static inline struct znode *world_znode(struct world *w, const char *path)
{
    for (uint32_t i = 0; i < w->znode_count; i++) {
        if (strcmp(w->znodes[i].path, path) == 0) { return &w->znodes[i]; }
    }
    return NULL;
}

/* Fires watches that were not set, too; to a watch an event is only a hint. */
static inline void world_changed(struct world *w, const char *path)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (w->nodes[i].session == 0) { continue; }
        struct packet *packet = world_packet(w, PACKET_ZK, i, 0);
        packet->zk.type = ZK_CHANGED;
        snprintf(packet->path, sizeof packet->path, "%s", path);
        packet->zk.path = packet->path;
    }
}

static inline void world_set(struct world *w, const char *path, const void *data, size_t size,
                             uint64_t owner)
{
    struct znode *znode = world_znode(w, path);
    if (znode == NULL) {
        assert(w->znode_count < ZNODES_MAX);
        znode = &w->znodes[w->znode_count++];
        memset(znode, 0, sizeof *znode);
        snprintf(znode->path, sizeof znode->path, "%s", path);
    }
    assert(size <= sizeof znode->data);
    memcpy(znode->data, data, size);
    znode->size = size;
    znode->version++;
    znode->owner = owner;
    world_changed(w, path);
}

static inline struct packet *world_result(struct world_node *node, uint64_t op, const char *path)
{
    struct packet *packet = world_packet(node->world, PACKET_ZK, node->index, 0);
    packet->zk.type = ZK_RESULT;
    packet->zk.op = op;
    snprintf(packet->path, sizeof packet->path, "%s", path);
    packet->zk.path = packet->path;
    return packet;
}

static inline void world_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    (void)watch;
    struct world_node *node = ctx;
    const struct znode *znode = world_znode(node->world, path);
    struct packet *packet = world_result(node, op, path);
    if (znode == NULL) {
        packet->zk.outcome = ZK_REFUSED;
        packet->zk.reason = ZK_REASON_NO_NODE;
        return;
    }
    packet->data = malloc(znode->size + 1);
    memcpy(packet->data, znode->data, znode->size);
    packet->zk.data = packet->data;
    packet->zk.size = znode->size;
    packet->zk.stat.version = znode->version;
    packet->zk.stat.ephemeral_owner = znode->owner;
}

static inline void world_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    (void)watch;
    struct world_node *node = ctx;
    struct world *w = node->world;
    struct packet *packet = world_result(node, op, path);
    size_t length = strlen(path);
    for (uint32_t i = 0; i < w->znode_count; i++) {
        const char *child = w->znodes[i].path;
        if (strncmp(child, path, length) != 0 || child[length] != '/') { continue; }
        size_t n = packet->zk.child_count++;
        snprintf(packet->name[n], sizeof packet->name[n], "%.31s", child + length + 1);
        packet->children[n] = packet->name[n];
    }
    packet->zk.children = packet->children;
}

static inline void world_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    struct world_node *node = ctx;
    assert(count == 1 && writes[0].kind == ZK_CREATE);
    struct packet *packet = world_result(node, op, writes[0].path);
    if (world_znode(node->world, writes[0].path) != NULL) {
        packet->zk.outcome = ZK_REFUSED;
        packet->zk.reason = ZK_REASON_NODE_EXISTS;
        return;
    }
    world_set(node->world, writes[0].path, writes[0].data, writes[0].size, node->session);
}

/* ------------------------------------------------------------------ network */

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
    bool tensor = header->type == FRAME_PUSH || header->type == FRAME_VALUES;
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

static inline void world_store_answer(void *world, uint32_t node, struct roles_store_answer *answer)
{
    world_packet(world, PACKET_STORE, node, UINT64_MAX)->store = answer;
}

/* --------------------------------------------------------------- start, kill */

static inline void world_release(struct packet *packet)
{
    buffer_release(packet->transport.body);
    if (packet->store != NULL) { free(packet->store->manifests); }
    free(packet->store);
    free(packet->data);
    free(packet);
}

static inline void world_handle(struct world_node *node, struct node_event event)
{
    event.now_ms = node->world->now_ms;
    node->node.handle(node->node.self, &event);
}

static inline void world_begin(struct world *w, uint32_t index)
{
    struct world_node *node = &w->nodes[index];
    node->session = ++w->next_session;
    struct node_identity identity = {
        .task = {index < PS ? ROLE_PS : ROLE_WORKER, index < PS ? index : index - PS},
        .incarnation = node->session,
        .cluster = "test",
        .host = "here",
        .session_timeout_ms = 1000};
    snprintf(identity.address, sizeof identity.address, "node:%u", index);
    if (index < PS) {
        struct ps_config config = {identity,
                                   &node->ports,
                                   &w->job,
                                   &w->variables,
                                   kernels_reference(),
                                   roles_store_port(&node->store),
                                   "here:dir",
                                   NULL};
        enum tn_status status = ps_create(&config, &node->ps, NULL);
        assert(status == TN_OK);
        node->node = ps_node(node->ps);
    } else {
        enum tn_status status = model_open(&w->job, &node->model, NULL);
        assert(status == TN_OK);
        struct worker_config config = {
            identity, &node->ports, &w->job,       node->model, "reference",  kernels_reference(),
            w->train, w->test,      {.data = {0}}, NULL,        {.place = 0},
        };
        status = worker_create(&config, &node->worker, NULL);
        assert(status == TN_OK);
        node->node = worker_node(node->worker);
    }
    world_handle(node, (struct node_event){.type = NODE_START});
    struct packet *packet = world_packet(w, PACKET_ZK, index, 0);
    packet->zk.type = ZK_CONNECTED;
    packet->zk.session = node->session;
}

/* Lose the packets on their way to a node. */
static inline void world_drop(struct world *w, uint32_t index)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->queued; i++) {
        struct packet *packet = w->queue[i];
        if (packet->to == index) {
            world_release(packet);
        } else {
            w->queue[kept++] = packet;
        }
    }
    w->queued = kept;
}

/* Kill a node: its connections close, and its packets and ephemeral znodes are lost. */
static inline void world_kill(struct world *w, uint32_t index)
{
    struct world_node *node = &w->nodes[index];
    uint64_t session = node->session;
    if (session == 0) { return; }
    ps_destroy(node->ps);
    worker_destroy(node->worker);
    model_close(node->model);
    node->ps = NULL;
    node->worker = NULL;
    node->model = NULL;
    for (uint64_t id = 1; id <= w->next_conn; id++) {
        if (w->connections[id].ends[0] == index || w->connections[id].ends[1] == index) {
            world_close_connection(w, id);
        }
    }
    world_drop(w, index);
    node->session = 0;
    for (uint32_t i = 0; i < w->znode_count; i++) {
        if (w->znodes[i].owner != session) { continue; }
        char path[ZK_PATH_MAX];
        memcpy(path, w->znodes[i].path, sizeof path);
        w->znodes[i--] = w->znodes[--w->znode_count];
        world_changed(w, path);
    }
}

/* ------------------------------------------------------------------ running */

static inline void world_chief(struct world *w, const struct transport_event *event)
{
    struct report report;
    if (event->type != TRANSPORT_FRAME || event->header.type != FRAME_REPORT) { return; }
    enum tn_status status = report_decode(event->body->data, event->body->size, &report, NULL);
    assert(status == TN_OK);
    uint32_t index = report.task.role == ROLE_PS ? report.task.index : PS + report.task.index;
    w->nodes[index].report = report;
    struct frame_header header = {.type = FRAME_REPORT_ACK, .sequence = report.sequence};
    world_send(&w->nodes[CHIEF], event->conn, &header, NULL);
}

/* Remove the first packet of a random channel from the queue. */
static inline struct packet *world_take(struct world *w)
{
    uint32_t picked = (uint32_t)random_below(&w->random, w->queued);
    uint32_t to = w->queue[picked]->to;
    uint64_t channel = w->queue[picked]->channel;
    uint32_t first = 0;
    while (w->queue[first]->to != to || w->queue[first]->channel != channel) { first++; }
    struct packet *packet = w->queue[first];
    memmove(&w->queue[first], &w->queue[first + 1],
            (--w->queued - first) * sizeof(struct packet *));
    return packet;
}

static inline void world_deliver(struct world *w, struct packet *packet)
{
    struct world_node *node = &w->nodes[packet->to];
    if (packet->to == CHIEF) {
        world_chief(w, &packet->transport);
    } else if (node->session != 0 && packet->type == PACKET_ZK) {
        world_handle(node, (struct node_event){.type = NODE_ZK, .zk = &packet->zk});
    } else if (node->session != 0 && packet->type == PACKET_TRANSPORT) {
        struct transport_event event = packet->transport;
        packet->transport.body = NULL; /* Its reference passes to the node. */
        world_handle(node, (struct node_event){.type = NODE_TRANSPORT, .transport = &event});
    } else if (node->session != 0 && node->ps != NULL) {
        struct roles_store_answer *answer = packet->store;
        answer->event.metadata = &answer->metadata;
        answer->event.manifests = answer->manifests;
        answer->event.count = answer->manifest_count;
        world_handle(node, (struct node_event){.type = NODE_ROLE, .role = &answer->event});
    }
    world_release(packet);
}

/* Deliver one event; time passes only when nothing else happens. */
static inline void world_step(struct world *w)
{
    w->steps++;
    if (w->queued > 0 && random_below(&w->random, 16) != 0) {
        world_deliver(w, world_take(w));
        return;
    }
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < NODES; i++) {
        if (w->nodes[i].session == 0) { continue; }
        uint64_t deadline = w->nodes[i].node.deadline_ms(w->nodes[i].node.self);
        if (deadline < first) { first = deadline; }
    }
    if (first > w->now_ms) {
        w->now_ms = w->queued > 0 || first == UINT64_MAX ? w->now_ms + 1 : first;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        if (w->nodes[i].session == 0) { continue; }
        if (w->nodes[i].node.deadline_ms(w->nodes[i].node.self) > w->now_ms) { continue; }
        world_handle(&w->nodes[i], (struct node_event){.type = NODE_TICK});
    }
}

/* Remove the nodes that have exited, and note their exit codes. */
static inline void world_reap(struct world *w, int exit_codes[NODES])
{
    for (uint32_t i = 0; i < NODES; i++) {
        int code = 0;
        if (w->nodes[i].session == 0 || !w->nodes[i].node.finished(w->nodes[i].node.self, &code)) {
            continue;
        }
        exit_codes[i] = code;
        world_kill(w, i);
    }
}

static inline void world_open(struct world *w, uint64_t seed, const char *const *settings)
{
    memset(w, 0, sizeof *w);
    w->random.state = seed;
    w->now_ms = 1000;
    job_init(&w->job);
    for (; *settings != NULL; settings++) {
        struct error error;
        if (job_set(&w->job, *settings, &error) != TN_OK) {
            fprintf(stderr, "%s\n", error.text);
            abort();
        }
    }
    enum tn_status status = model_describe(&w->job, &w->variables, NULL);
    if (status == TN_OK) { status = dataset_open(&w->job, DATASET_TRAIN, &w->train, NULL); }
    if (status == TN_OK) { status = dataset_open(&w->job, DATASET_TEST, &w->test, NULL); }
    assert(status == TN_OK);
    w->pool = buffer_pool_create(0);
    for (uint32_t i = 0; i <= NODES; i++) {
        struct world_node *node = &w->nodes[i];
        node->world = w;
        node->index = i;
        node->ports = (struct node_ports){
            .zk = {node, world_write, world_read, world_list},
            .transport = {node, world_dial, world_send, world_close, WORLD_CHUNK_BYTES},
            .buffers = w->pool,
            .stopwatch = no_stopwatch};
        node->store = (struct roles_store){.answer = world_store_answer, .world = w, .node = i};
    }
    w->nodes[CHIEF].session = UINT64_MAX;
    struct chief_record record = {.epoch = 1, .incarnation = UINT64_MAX, .host = "here"};
    snprintf(record.address, sizeof record.address, "node:%d", CHIEF);
    char text[ZNODE_JSON_MAX];
    world_set(w, "/tanist/test/chief", text, chief_record_encode(&record, text), 0);
    for (uint32_t i = 0; i < NODES; i++) { world_begin(w, i); }
}

/* The pool asserts that every buffer was released. */
static inline void world_free(struct world *w)
{
    for (uint32_t i = 0; i < NODES; i++) { world_kill(w, i); }
    while (w->queued > 0) { world_release(w->queue[--w->queued]); }
    buffer_pool_destroy(w->pool);
    dataset_close(w->train);
    dataset_close(w->test);
}

#endif
