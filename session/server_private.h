/*
 * session/server_private.h: the definition of struct server, private to session/. server.c receives
 * frames and watches over connections; server_orders.c carries out the requests of clients.
 *
 * Threads: the owner's.
 */
#ifndef SESSION_SERVER_PRIVATE_H
#define SESSION_SERVER_PRIVATE_H

#include "common/net/assembly.h"
#include "session/compiled_plan.h"
#include "session/message.h"
#include "session/server.h"

struct session_plan {
    uint32_t number; /* 0: the place is free. */
    struct compiled_plan *compiled;
};

struct session {
    uint64_t id; /* 0: the place is free. */
    conn_id conn;
    struct message_open open;
    struct buffer *values; /* One reference; NULL: none yet. */
    uint64_t version;
    struct session_plan plans[SESSION_PLANS_MAX];
    uint64_t run; /* The last one that began here. */
    uint32_t run_plan;
    uint64_t sent_to; /* Set of servers that got a tensor in it. */
};

struct connection {
    conn_id conn; /* 0: the place is free. */
    struct assembly assembly;
};

/* A connection that we dialed, to another server. */
struct peer {
    char address[TRANSPORT_ADDRESS_MAX];
    conn_id conn; /* 0: the place is free. */
};

struct server {
    struct server_config config;
    struct session sessions[SERVER_SESSIONS_MAX];
    struct connection connections[TRANSPORT_CONNECTIONS_MAX];
    struct peer peers[TRANSPORT_CONNECTIONS_MAX];
};

/* Whether a message may be received, by its header alone. Orders for a session that was closed or
 * does not exist yet are ignored; so are tensors of plans that were dropped. A plan that is
 * larger than the memory is refused. */
enum verdict { VERDICT_TAKE, VERDICT_IGNORE, VERDICT_REFUSE, VERDICT_CLOSE };
enum verdict server_check_message(struct server *server, conn_id conn,
                                  const struct message *message);

/* Carry out an order that server_check_message() accepts. `body` is borrowed; NULL: it is empty. */
void server_handle_message(struct server *server, conn_id conn, const struct message *message,
                           struct buffer *body);

/* Report to the client that there is no memory for the body of a message. */
void server_refuse(struct server *server, conn_id conn, const struct message *message);

/* Report to the client that its order failed. */
void server_fail(const struct server *server, conn_id conn, struct message about,
                 const struct error *error);

/* Release the plans and buffers of a session, whose place is then free. */
void server_free_session(struct session *session);

#endif
