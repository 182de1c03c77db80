/* session/server_orders.c: what a server does for the clients of sessions. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "session/server_private.h"

enum { OPEN_BYTES_MAX = 64 * 1024 };

/* -------------------------------------------------------------------------- memory */

static uint64_t session_bytes(const struct session *session)
{
    uint64_t bytes = session->id == 0 ? 0 : session->open.floats * sizeof(float);
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) {
        const struct session_plan *plan = &session->plans[i];
        if (plan->number != 0) { bytes += compiled_plan_bytes(plan->compiled); }
    }
    return bytes;
}

struct server_facts server_facts(const struct server *server)
{
    struct server_facts facts = {.sessions = 0};
    for (uint32_t i = 0; i < SERVER_SESSIONS_MAX; i++) {
        const struct session *session = &server->sessions[i];
        facts.sessions += session->id != 0;
        facts.bytes += session_bytes(session);
        for (uint32_t p = 0; p < SESSION_PLANS_MAX; p++) {
            facts.plans += session->plans[p].number != 0;
        }
    }
    return facts;
}

static uint64_t bytes_left(const struct server *server)
{
    const uint64_t used = server_facts(server).bytes;
    return used < server->config.memory_max ? server->config.memory_max - used : 0;
}

static void free_plan(struct session_plan *plan)
{
    compiled_plan_destroy(plan->compiled);
    *plan = (struct session_plan){.number = 0};
}

void server_free_session(struct session *session)
{
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) { free_plan(&session->plans[i]); }
    buffer_release(session->values);
    *session = (struct session){.id = 0};
}

static struct session *find_session(struct server *server, uint64_t id)
{
    for (uint32_t i = 0; i < SERVER_SESSIONS_MAX && id != 0; i++) {
        if (server->sessions[i].id == id) { return &server->sessions[i]; }
    }
    return NULL;
}

static struct session_plan *find_plan(struct session *session, uint32_t number)
{
    for (uint32_t i = 0; i < SESSION_PLANS_MAX && number != 0; i++) {
        if (session->plans[i].number == number) { return &session->plans[i]; }
    }
    return NULL;
}

/* ------------------------------------------------------------------------- answers */

static void answer(const struct server *server, conn_id conn, const struct message *message)
{
    message_send(&server->config.transport, conn, message, NULL);
}

void server_fail(const struct server *server, conn_id conn, struct message about,
                 const struct error *error)
{
    about.kind = MESSAGE_FAILED;
    log_warn("order refused session=%016" PRIx64 " plan=%" PRIu32 " run=%" PRIu64 ": %s",
             about.session, about.plan, about.run, error->text);
    struct buffer *body = message_encode_error(server->config.sent, error);
    message_send(&server->config.transport, conn, &about, body);
}

void server_refuse(struct server *server, conn_id conn, const struct message *message)
{
    struct error error;
    const struct session *session = find_session(server, message->session);
    error_set(&error, TN_ENOMEM,
              "a message of %" PRIu64 " bytes does not fit into the memory for messages, of which "
              "the limit is %" PRIu64 " bytes: raise its --memory, or send less at a time",
              message->bytes, server->config.memory_max);
    server_fail(server, session != NULL ? session->conn : conn, *message, &error);
}

/* The connection to another server, dialed if there is none. */
static struct peer *reach(struct server *server, const char *address)
{
    struct peer *free_place = NULL;
    for (uint32_t i = 0; i < TRANSPORT_CONNECTIONS_MAX; i++) {
        struct peer *peer = &server->peers[i];
        if (peer->conn.v == 0 && free_place == NULL) { free_place = peer; }
        if (peer->conn.v != 0 && strcmp(peer->address, address) == 0) { return peer; }
    }
    if (free_place == NULL) { return NULL; }
    const struct transport_port *port = &server->config.transport;
    memcpy(free_place->address, address, strlen(address) + 1);
    free_place->conn = port->dial(port->ctx, address);
    return free_place;
}

struct sending {
    struct server *server;
    struct session *session;
    uint64_t run;
    uint32_t plan;
};

static enum tn_status send_tensor(void *ctx, const struct server_plan_edge *edge, const void *data,
                                  struct error *error)
{
    struct sending *sending = ctx;
    struct server *server = sending->server;
    struct session *session = sending->session;
    conn_id conn = session->conn;
    if (edge->to != SERVER_PLAN_CLIENT) {
        const struct peer *peer = reach(server, session->open.servers[edge->to]);
        if (peer == NULL) { return error_set(error, TN_ENOMEM, "too many connections"); }
        conn = peer->conn;
        session->sent_to |= UINT64_C(1) << edge->to;
    }
    struct buffer *body = buffer_acquire(server->config.sent, (size_t)edge->bytes);
    if (body == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a value"); }
    memcpy(body->data, data, (size_t)edge->bytes);
    body->size = (size_t)edge->bytes;
    const struct message message = {.kind = MESSAGE_TENSOR,
                                    .session = session->id,
                                    .run = sending->run,
                                    .plan = sending->plan,
                                    .edge = edge->number};
    message_send(&server->config.transport, conn, &message, body);
    return TN_OK;
}

/* --------------------------------------------------------------------------- orders */

static void advance(struct server *server, struct session *session, struct session_plan *plan)
{
    static const float none;
    struct error error = {.text = ""};
    bool done = false;
    struct message message = {
        .kind = MESSAGE_DONE, .session = session->id, .run = session->run, .plan = plan->number};
    if (session->run_plan != plan->number) { return; }
    struct sending sending = {
        .server = server, .session = session, .run = session->run, .plan = plan->number};
    const struct plan_step step = {
        .values = session->values != NULL ? session->values->data : &none,
        .version = session->version,
        .pool = server->config.sent,
        .sink = send_tensor,
        .ctx = &sending,
    };
    if (compiled_plan_advance(plan->compiled, &step, &done, &error) != TN_OK) {
        server_fail(server, session->conn, message, &error);
    } else if (done) {
        answer(server, session->conn, &message);
    }
}

static void open_session(struct server *server, conn_id conn, const struct message *message,
                         const struct buffer *body)
{
    struct error error = {.text = ""};
    struct message_open open;
    struct session *session = find_session(server, message->session);
    enum tn_status status = message_decode_open(body, &open, &error);
    if (status == TN_OK && session != NULL && session->open.self != open.self) {
        status = error_set(&error, TN_EINVAL,
                           "the server is in the session twice, as tasks %" PRIu32 " and %" PRIu32
                           ": give each server once",
                           session->open.self, open.self);
    } else if (status == TN_OK && session != NULL) {
        server_free_session(session); /* The client has connected again. */
    }
    uint32_t place = 0;
    while (place < SERVER_SESSIONS_MAX && server->sessions[place].id != 0) { place++; }
    if (status == TN_OK && message->session == 0) {
        status = error_set(&error, TN_EPROTO, "message OPEN: the session has no number");
    } else if (status == TN_OK && place == SERVER_SESSIONS_MAX) {
        status = error_set(&error, TN_EBUSY,
                           "the server has %d sessions, the limit: close one, or try again later",
                           SERVER_SESSIONS_MAX);
    } else if (status == TN_OK && open.floats > bytes_left(server) / sizeof(float)) {
        status = error_set(&error, TN_ENOMEM,
                           "%" PRIu64 " values of variables do not fit into the %" PRIu64
                           " bytes that the server has left: raise its --memory",
                           open.floats, bytes_left(server));
    }
    if (status != TN_OK) {
        server_fail(server, conn, *message, &error);
        return;
    }
    session = &server->sessions[place];
    *session = (struct session){.id = message->session, .conn = conn, .open = open};
    log_info("session opened session=%016" PRIx64 " task=%" PRIu32 " servers=%" PRIu32
             " values=%" PRIu64,
             session->id, open.self, open.count, open.floats);
}

static void take_values(struct session *session, struct buffer *body)
{
    buffer_release(session->values);
    session->values = body != NULL ? buffer_retain(body) : NULL;
    session->version++;
}

static enum tn_status add_plan(struct server *server, struct session *session, uint32_t number,
                               const struct buffer *body, struct error *error)
{
    struct server_plan plan;
    uint32_t place = 0;
    while (place < SESSION_PLANS_MAX && session->plans[place].number != 0) { place++; }
    if (place == SESSION_PLANS_MAX || number == 0) {
        return error_set(error, TN_EPROTO, "a session has at most %d plans", SESSION_PLANS_MAX);
    }
    const uint64_t left = bytes_left(server);
    enum tn_status status =
        server_plan_decode(body != NULL ? body->data : NULL, body != NULL ? body->size : 0,
                           session->open.self, session->open.count, left, &plan, error);
    if (status != TN_OK) {
        server_plan_free(&plan);
        return status;
    }
    struct session_plan *added = &session->plans[place];
    status = compiled_plan_create(&plan, session->open.self, session->open.floats, left,
                                  &added->compiled, error);
    if (status == TN_OK) { added->number = number; }
    return status;
}

static void take_plan(struct server *server, struct session *session, struct message message,
                      const struct buffer *body)
{
    struct error error = {.text = ""};
    struct session_plan *old = find_plan(session, message.plan);
    if (old != NULL) { free_plan(old); }
    if (add_plan(server, session, message.plan, body, &error) != TN_OK) {
        server_fail(server, session->conn, message, &error);
        return;
    }
    message.kind = MESSAGE_READY;
    answer(server, session->conn, &message);
}

static void begin_run(struct server *server, struct session *session, const struct message *message)
{
    struct session_plan *plan = find_plan(session, message->plan);
    struct error error = {.text = ""};
    const uint64_t bytes = session->open.floats * sizeof(float);
    if (plan == NULL || message->run <= session->run) {
        error_set(&error, TN_EPROTO, "run %" PRIu64 " is of an unknown plan, or not a new run",
                  message->run);
    } else if (bytes > 0 && session->values == NULL) {
        error_set(&error, TN_EPROTO, "run %" PRIu64 ": the values are missing", message->run);
    }
    if (plan == NULL || error.text[0] != '\0') {
        server_fail(server, session->conn, *message, &error);
        return;
    }
    session->run = message->run;
    session->run_plan = message->plan;
    session->sent_to = 0;
    compiled_plan_begin(plan->compiled, message->run);
    advance(server, session, plan);
}

static void take_tensor(struct server *server, struct session *session,
                        const struct message *message, struct buffer *body)
{
    struct session_plan *plan = find_plan(session, message->plan);
    assert(plan != NULL && body != NULL);
    compiled_plan_put(plan->compiled, message->edge, message->run, body);
    if (session->run == message->run) { advance(server, session, plan); }
}

enum verdict server_check_message(struct server *server, conn_id conn,
                                  const struct message *message)
{
    struct session *session = find_session(server, message->session);
    const bool owns = session != NULL && session->conn.v == conn.v;
    switch (message->kind) {
    case MESSAGE_OPEN: return message->bytes <= OPEN_BYTES_MAX ? VERDICT_TAKE : VERDICT_CLOSE;
    case MESSAGE_VALUES:
        if (!owns) { return VERDICT_IGNORE; }
        return message->bytes == session->open.floats * sizeof(float) ? VERDICT_TAKE
                                                                      : VERDICT_CLOSE;
    case MESSAGE_PLAN:
        if (!owns) { return VERDICT_IGNORE; }
        return message->bytes <= server->config.memory_max ? VERDICT_TAKE : VERDICT_REFUSE;
    case MESSAGE_DROP:
    case MESSAGE_RUN:
        if (!owns) { return VERDICT_IGNORE; }
        return message->bytes == 0 ? VERDICT_TAKE : VERDICT_CLOSE;
    case MESSAGE_TENSOR: {
        struct session_plan *plan = session == NULL ? NULL : find_plan(session, message->plan);
        if (plan == NULL || message->run < session->run) { return VERDICT_IGNORE; }
        const uint64_t bytes = compiled_plan_expects(plan->compiled, message->edge);
        return bytes > 0 && bytes == message->bytes ? VERDICT_TAKE : VERDICT_CLOSE;
    }
    case MESSAGE_READY:
    case MESSAGE_DONE:
    case MESSAGE_FAILED:
    case MESSAGE_KINDS: break;
    }
    return VERDICT_CLOSE;
}

void server_handle_message(struct server *server, conn_id conn, const struct message *message,
                           struct buffer *body)
{
    struct session *session = find_session(server, message->session);
    if (message->kind == MESSAGE_OPEN) {
        open_session(server, conn, message, body);
        return;
    }
    assert(session != NULL);
    switch (message->kind) {
    case MESSAGE_VALUES: take_values(session, body); break;
    case MESSAGE_PLAN: take_plan(server, session, *message, body); break;
    case MESSAGE_RUN: begin_run(server, session, message); break;
    case MESSAGE_TENSOR: take_tensor(server, session, message, body); break;
    case MESSAGE_DROP: {
        struct session_plan *plan = find_plan(session, message->plan);
        if (plan != NULL) { free_plan(plan); }
        break;
    }
    default: assert(false && "server_check_message() takes no other"); break;
    }
}
