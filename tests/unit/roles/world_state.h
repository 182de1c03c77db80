/*
 * tests/unit/roles/world_state.h: the state of the world of tests/unit/roles/world.h: nodes,
 * znodes, connections, and the packets on their way.
 */
#ifndef TESTS_UNIT_ROLES_WORLD_STATE_H
#define TESTS_UNIT_ROLES_WORLD_STATE_H

#include <assert.h>
#include <stdlib.h>

#include "common/base/random.h"
#include "common/cluster/report.h"
#include "common/cluster/znodes.h"
#include "ps/ps.h"
#include "tests/unit/roles/store.h"
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

#endif
