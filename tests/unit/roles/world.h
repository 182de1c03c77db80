/*
 * tests/unit/roles/world.h: two ps and two workers in one process, with models of ZooKeeper, of the
 * network and of the stores that answer in an order drawn from a seed. The test acts as the chief:
 * it writes znodes and reads reports.
 */
#ifndef TESTS_UNIT_ROLES_WORLD_H
#define TESTS_UNIT_ROLES_WORLD_H

#include "tests/unit/roles/world_network.h"
#include "tests/unit/roles/world_state.h"
#include "tests/unit/roles/world_zk.h"
#include "worker/compute.h"

/* --------------------------------------------------------------- start, kill */

static inline void world_release(struct packet *packet)
{
    buffer_release(packet->transport.body);
    if (packet->store != NULL) { free(packet->store->manifests); }
    free(packet->store);
    free(packet->data);
    free(packet);
}

static inline void world_store_answer(void *world, uint32_t node, struct roles_store_answer *answer)
{
    world_packet(world, PACKET_STORE, node, UINT64_MAX)->store = answer;
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
        struct ps_config config = {.identity = identity,
                                   .ports = &node->ports,
                                   .job = &w->job,
                                   .variables = &w->variables,
                                   .kernels = kernels_reference(),
                                   .store = roles_store_port(&node->store),
                                   .place = "here:dir",
                                   .push_place_chunks = 1};
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
        node->ports = (struct node_ports){.zk = {node, world_write, world_read, world_list},
                                          .transport = {.ctx = node,
                                                        .dial = world_dial,
                                                        .send = world_send,
                                                        .close = world_close,
                                                        .chunk_bytes = WORLD_CHUNK_BYTES},
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
