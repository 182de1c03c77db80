/*
 * session/client.h: the definition of struct tn_session, private to session/. client.c opens and
 * closes it, client_link.c exchanges messages with servers, client_run.c carries out runs.
 *
 * Threads: the owner's.
 */
#ifndef SESSION_CLIENT_H
#define SESSION_CLIENT_H

#include "common/net/assembly.h"
#include "session/client_plan.h"
#include "session/mailbox.h"
#include "session/message.h"

enum { SERVER_NAME_MAX = TRANSPORT_ADDRESS_MAX + 40 };

struct session_server {
    char address[TRANSPORT_ADDRESS_MAX];
    conn_id conn; /* 0: none. */
    struct assembly assembly;
    bool opened;          /* OPEN was sent on this connection. */
    uint64_t version;     /* The version of its values; 0: it has none. */
    uint32_t sent, ready; /* Sets of plans, by their places. */
    bool done;            /* With its parts of the current run. */
};

struct tn_session {
    uint64_t id;
    struct placed_graph placed;
    float *values;
    uint64_t version; /* The version of `values`, from 1. */
    struct session_server members[SESSION_SERVERS_MAX];
    uint32_t member_count;
    struct client_plan plans[SESSION_PLANS_MAX];
    uint32_t plan_numbers;          /* Given so far. */
    const struct client_plan *plan; /* The plan of the current run, or NULL. */
    uint64_t run;
    uint64_t timeout_ms;
    struct error failure; /* The first error of the current run. */
    struct transport *transport;
    struct transport_port port;
    struct buffer_pool *pool;
    struct mailbox *mailbox;
};

/* The graph of a session, for tn_session_restore(). Valid as long as the session. */
const struct placed_graph *session_graph(const struct tn_session *session);

/* "server h2:2222 (/job:worker/task:1)" */
const char *session_server_name(const struct tn_session *session, uint32_t server,
                                char out[static SERVER_NAME_MAX]);

/* Whether the server computes something in the current run. */
bool session_takes_part(const struct tn_session *session, uint32_t server);

/* Wait for one event until the deadline, and handle it. False: none arrived. */
bool session_handle_event(struct tn_session *session, uint64_t deadline_ms);

/* Send to the servers of the current run the messages that they have not received yet: OPEN,
 * values, plan. */
MUST_CHECK enum tn_status session_prepare(struct tn_session *session, struct error *error);
/* Begin the current run on its servers, and feed it. */
MUST_CHECK enum tn_status session_begin_run(struct tn_session *session, const struct tn_feed *feeds,
                                            struct error *error);
/* Servers and this side forget a plan. */
void session_drop_plan(struct tn_session *session, uint32_t place);

#endif
