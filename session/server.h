/*
 * session/server.h: the server that computes for clients of sessions (include/tanist/session.h): it
 * compiles the parts of plans, runs them, and exchanges tensors with the client and the other
 * servers.
 *
 * A session belongs to the connection that opened it. When the connection ends, the session ends
 * and all its memory is freed. Requests of clients are checked before they are carried out, and all
 * sessions together use at most `memory_max` bytes for values, programs and edges.
 *
 * Threads: the owner's. Blocking: server_handle() computes. All input and output goes through the
 * port, so tests run it without a network.
 */
#ifndef SESSION_SERVER_H
#define SESSION_SERVER_H

#include "common/net/transport.h"

enum { SERVER_SESSIONS_MAX = 64 };

struct server_config {
    struct transport_port transport;
    struct buffer_pool *received; /* The transport's; bodies of several chunks come from it, too. */
    struct buffer_pool *sent;
    uint64_t memory_max; /* Bytes. */
};

struct server;

/* NULL: out of memory. */
struct server *server_create(const struct server_config *config);
void server_destroy(struct server *server); /* NULL is allowed. */

/* Takes the reference to the event's body. */
void server_handle(struct server *server, const struct transport_event *event);

struct server_facts {
    uint32_t sessions, plans;
    uint64_t bytes; /* That count against `memory_max`. */
};
struct server_facts server_facts(const struct server *server);

#endif
