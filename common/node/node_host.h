/*
 * common/node/node_host.h: what the nodes of one process share: the ZooKeeper client with its
 * session, and the signals by which the process is asked to leave. Most processes have one node;
 * one with several workers has a place for each of them. Each node sees the session as its own: it
 * sends requests through a port of its own and gets their answers; all nodes get the events of the
 * session and of watches. So their ephemerals end together, as the process does.
 *
 * Threads: node_host_open() and the other functions on the thread that owns the process; the port
 * of a place, node_host_save_session() and node_host_leave() on any.
 */
#ifndef COMMON_NODE_NODE_HOST_H
#define COMMON_NODE_NODE_HOST_H

#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/task.h"
#include "common/node/inbox.h"
#include "common/zk/zk.h"

enum { NODE_HOST_NODES_MAX = WORKERS_MAX };

struct node_host;

struct node_host_config {
    const char *zk_connect;
    const char *zk_credentials; /* NULL: none. */
    uint32_t session_timeout_ms;
    const char *session_file; /* Where the agent finds our ZooKeeper session; NULL: not saved. */
    uint32_t nodes;           /* From 1 to NODE_HOST_NODES_MAX. */
};

/* Block SIGTERM and SIGINT, and pass them on from now on: SIGTERM becomes NODE_DRAIN, SIGINT and a
 * second SIGTERM NODE_LEAVE, for each node. Call it before other threads start, which inherit the
 * mask. TN_ENOMEM. */
MUST_CHECK enum tn_status node_host_open(const struct node_host_config *config,
                                         struct node_host **out, struct error *error);

/* The node with this place gets its events in `inbox`, and sends its requests through `*out`. Their
 * numbers are below 2^48 if there are several nodes. */
void node_host_join(struct node_host *host, uint32_t place, struct inbox *inbox,
                    struct zk_port *out);
/* The node at `place` gets no more events. */
void node_host_part(struct node_host *host, uint32_t place);

/* Open the session, once all nodes have joined. Errors: those of zk_open(). */
MUST_CHECK enum tn_status node_host_connect(struct node_host *host, struct error *error);

/* Call it when a node gets ZK_CONNECTED, before the node learns of it, so that the agent can end
 * every session that has ephemerals. Blocks on the disk at the first call. */
void node_host_save_session(struct node_host *host);

/* All nodes leave at once. */
void node_host_leave(struct node_host *host);

/* End the session, which removes the ephemerals of all nodes. May be called twice. */
void node_host_disconnect(struct node_host *host);

/* NULL is allowed. */
void node_host_close(struct node_host *host);

#endif
