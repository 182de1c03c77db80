#include "session/server.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "session/server_private.h"

static struct connection *find_connection(struct server *server, conn_id conn)
{
    for (uint32_t i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        if (server->connections[i].conn.v == conn.v) { return &server->connections[i]; }
    }
    return NULL;
}

static void close_connection(struct server *server, conn_id conn, const char *why)
{
    const struct transport_port *port = &server->config.transport;
    log_warn("connection closed: %s", why);
    port->close(port->ctx, conn);
}

static void on_frame(struct server *server, const struct transport_event *event)
{
    struct message message;
    struct buffer *whole = NULL;
    const char *fault = NULL;
    struct connection *connection = find_connection(server, event->conn);
    if (connection == NULL || connection->assembly.order.invalid) { return; }
    if (!message_read(&event->header, &message)) {
        connection->assembly.order.invalid = true;
        close_connection(server, event->conn,
                         "its peer sent a frame that is not a message of a session");
        return;
    }
    const enum verdict verdict = server_check_message(server, event->conn, &message);
    if (verdict == VERDICT_IGNORE) {
        assembly_skip(&connection->assembly, &event->header);
        return;
    }
    if (verdict == VERDICT_REFUSE) {
        if (event->header.offset == 0) { server_refuse(server, event->conn, &message); }
        assembly_skip(&connection->assembly, &event->header);
        return;
    }
    if (verdict == VERDICT_CLOSE) {
        connection->assembly.order.invalid = true;
        close_connection(server, event->conn,
                         "its peer sent a message that is out of place or too large");
        return;
    }
    switch (assembly_add(&connection->assembly, server->config.received, &event->header,
                         event->body, message.bytes, server->config.transport.chunk_bytes, &whole,
                         &fault)) {
    case ASSEMBLY_INVALID: close_connection(server, event->conn, fault); break;
    case ASSEMBLY_NO_MEMORY:
        assembly_skip(&connection->assembly, &event->header);
        server_refuse(server, event->conn, &message);
        break;
    case ASSEMBLY_MORE: break;
    case ASSEMBLY_COMPLETE: server_handle_message(server, event->conn, &message, whole); break;
    }
    buffer_release(whole);
}

/* ----------------------------------------------------------------------- connections */

static void on_opened(struct server *server, const struct transport_event *event)
{
    static const conn_id none = {0};
    if (!event->accepted) { return; }
    struct connection *connection = find_connection(server, none);
    assert(connection != NULL); /* The transport has as many. */
    *connection = (struct connection){.conn = event->conn};
}

/* The runs in which we have sent something to a lost server cannot end. */
static void lose_peer(struct server *server, struct peer *peer, enum tn_status status)
{
    for (uint32_t i = 0; i < SERVER_SESSIONS_MAX; i++) {
        const struct session *session = &server->sessions[i];
        struct error error = {.text = ""};
        for (uint32_t s = 0; s < session->open.count && session->id != 0; s++) {
            if ((session->sent_to >> s & 1) == 0 ||
                strcmp(session->open.servers[s], peer->address) != 0) {
                continue;
            }
            error_set(&error, TN_ECLOSED,
                      "its connection to server %s (/job:worker/task:%" PRIu32 ") failed: %s",
                      peer->address + sizeof SESSION_SCHEME - 1, s, tanist_strerror(status));
            const struct message about = {
                .session = session->id, .run = session->run, .plan = session->run_plan};
            server_fail(server, session->conn, about, &error);
        }
    }
    *peer = (struct peer){.conn = {0}};
}

static bool is_used(const struct server *server, const char *address)
{
    for (uint32_t i = 0; i < SERVER_SESSIONS_MAX; i++) {
        const struct session *session = &server->sessions[i];
        for (uint32_t s = 0; s < session->open.count && session->id != 0; s++) {
            if (strcmp(session->open.servers[s], address) == 0) { return true; }
        }
    }
    return false;
}

static void close_unused_peers(struct server *server)
{
    const struct transport_port *port = &server->config.transport;
    for (uint32_t i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        struct peer *peer = &server->peers[i];
        if (peer->conn.v == 0 || is_used(server, peer->address)) { continue; }
        const conn_id conn = peer->conn;
        *peer = (struct peer){.conn = {0}};
        port->close(port->ctx, conn);
    }
}

static void on_closed(struct server *server, const struct transport_event *event)
{
    for (uint32_t i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        struct peer *peer = &server->peers[i];
        if (peer->conn.v == event->conn.v) { lose_peer(server, peer, event->status); }
    }
    for (uint32_t i = 0; i < SERVER_SESSIONS_MAX; i++) {
        struct session *session = &server->sessions[i];
        if (session->id == 0 || session->conn.v != event->conn.v) { continue; }
        log_info("session closed session=%016" PRIx64 " runs=%" PRIu64 " cause=\"%s\"", session->id,
                 session->run, tanist_strerror(event->status));
        server_free_session(session);
    }
    close_unused_peers(server);
    struct connection *connection = find_connection(server, event->conn);
    if (connection == NULL) { return; }
    assembly_reset(&connection->assembly);
    *connection = (struct connection){.conn = {0}};
}

void server_handle(struct server *server, const struct transport_event *event)
{
    assert(server != NULL && event->conn.v != 0);
    switch (event->type) {
    case TRANSPORT_OPENED: on_opened(server, event); break;
    case TRANSPORT_FRAME: on_frame(server, event); break;
    case TRANSPORT_CLOSED: on_closed(server, event); break;
    }
    if (event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
}

struct server *server_create(const struct server_config *config)
{
    struct server *server = calloc(1, sizeof *server);
    if (server != NULL) { server->config = *config; }
    return server;
}

void server_destroy(struct server *server)
{
    if (server == NULL) { return; }
    for (uint32_t i = 0; i < SERVER_SESSIONS_MAX; i++) {
        server_free_session(&server->sessions[i]);
    }
    for (uint32_t i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        assembly_reset(&server->connections[i].assembly);
    }
    free(server);
}
