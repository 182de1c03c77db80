/*
 * common/node/runtime.h: runs one node in production: opens ZooKeeper and the transport, collects
 * their events in an inbox, and delivers them to the node one by one on the calling thread, with
 * the time.
 */
#ifndef COMMON_NODE_RUNTIME_H
#define COMMON_NODE_RUNTIME_H

#include "common/node/node.h"
#include "common/node/node_host.h"

struct runtime;

struct runtime_config {
    /* The node is one of several in this process, with this place among them; connect the host when
     * all have joined, and disconnect it before runtime_close(). NULL: the process has this node
     * alone, and these members are used: zk_connect, zk_credentials, session_timeout_ms,
     * session_file. */
    struct node_host *host;
    uint32_t place;
    const char *zk_connect;
    const char *zk_credentials; /* NULL: none. */
    uint32_t session_timeout_ms;
    const char *listen; /* "tcp://127.0.0.1:0"; NULL: dials only. */
    bool dial_only;     /* No node dials this one: `listen` is its name only. */
    uint64_t cluster_key;
    uint64_t incarnation;
    bool lanes; /* Peers on this host are reached through shared memory. */
    /* As in struct transport_config. */
    const struct loan_memory *loans;
    uint32_t body_max;         /* Largest frame body in bytes. */
    size_t buffer_limit_bytes; /* 0: no bound. */
    const char *session_file;  /* Where the agent finds our ZooKeeper session; NULL: not saved. */
};

/* Open everything; no event is delivered yet. Without a host, signals are handled from here on as
 * by node_host_open(), so call it before other threads start. Errors: those of node_host_open(),
 * zk_open() and transport_open(). */
MUST_CHECK enum tn_status runtime_open(const struct runtime_config *config, struct runtime **out,
                                       struct error *error);

const struct node_ports *runtime_ports(struct runtime *runtime);
/* The address that peers dial. */
void runtime_address(const struct runtime *runtime, char *text, size_t size);

/* Deliver an event of the role's own port (NODE_ROLE), from any thread. `event` is passed to
 * `release` after it was handled, or at close. */
void runtime_post(struct runtime *runtime, void *event, void (*release)(void *event));

/* Deliver NODE_START, then all events until the node has finished; returns its exit code.
 * Blocks. */
int runtime_run(struct runtime *runtime, const struct node *node);

/* Close in good order: ends the session, which removes the ephemerals. */
void runtime_close(struct runtime *runtime);

#endif
