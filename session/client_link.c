/* session/client_link.c: messages between a client of a session and its servers. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/client.h"

const char *session_server_name(const struct tn_session *session, uint32_t server,
                                char out[static SERVER_NAME_MAX])
{
    snprintf(out, SERVER_NAME_MAX, "server %s (/job:worker/task:%" PRIu32 ")",
             session->members[server].address + sizeof SESSION_SCHEME - 1, server);
    return out;
}

bool session_takes_part(const struct tn_session *session, uint32_t server)
{
    return session->plan != NULL && (session->plan->servers >> server & 1) != 0;
}

static void set_failure(struct tn_session *session, const struct error *error)
{
    if (session->failure.status == TN_OK) { session->failure = *error; }
}

/* ------------------------------------------------------------------------------ events */

static void on_closed(struct tn_session *session, uint32_t server, enum tn_status status)
{
    char name[SERVER_NAME_MAX];
    struct error error = {.text = ""};
    struct session_server *member = &session->members[server];
    const bool was_reached = member->ready != 0;
    member->conn = (conn_id){0};
    member->opened = false;
    member->version = 0;
    member->sent = member->ready = 0;
    assembly_reset(&member->assembly);
    if (!session_takes_part(session, server) || member->done) { return; }
    session_server_name(session, server, name);
    if (status == TN_ECONNECT || (status == TN_ETIMEDOUT && !was_reached)) {
        error_set(&error, TN_ECONNECT,
                  "%s cannot be reached: start it by `tanist serve --listen %s`", name,
                  member->address + sizeof SESSION_SCHEME - 1);
    } else if (status == TN_EINVAL) {
        error_set(&error, TN_EINVAL, "%s: the address is malformed", name);
    } else if (status == TN_ENOENT) {
        error_set(&error, TN_ECONNECT,
                  "%s cannot be reached: this host cannot resolve its name, or has no free port; "
                  "correct the name, or give an IP address",
                  name);
    } else if (status == TN_EPROTO) {
        error_set(&error, TN_EPROTO, "%s is not a `tanist serve` of this release", name);
    } else if (status == TN_ENOMEM) {
        error_set(&error, TN_ENOMEM, "%s: out of memory for what it sent", name);
    } else {
        error_set(&error, TN_ECLOSED,
                  "%s was lost in run %" PRIu64 " (%s): start it again if it ended; the next "
                  "tn_session_run() connects again",
                  name, session->run, tanist_strerror(status));
    }
    set_failure(session, &error);
}

static void on_failed(struct tn_session *session, uint32_t server, const struct message *message,
                      const struct buffer *body)
{
    char name[SERVER_NAME_MAX];
    struct error error = {.text = ""};
    struct session_server *member = &session->members[server];
    if (message->plan == 0) { member->opened = false; }
    for (uint32_t i = 0; i < SESSION_PLANS_MAX && message->run == 0; i++) {
        const bool is_it = message->plan == 0 || session->plans[i].number == message->plan;
        if (is_it) { member->sent &= ~(UINT32_C(1) << i); }
    }
    const bool is_present = session_takes_part(session, server) &&
                            (message->plan == 0 || message->plan == session->plan->number) &&
                            (message->run == 0 || message->run == session->run);
    if (!is_present) { return; }
    message_decode_error(body, &error);
    error_context(&error, "%s", session_server_name(session, server, name));
    set_failure(session, &error);
}

static void on_tensor(struct tn_session *session, const struct message *message,
                      struct buffer *body)
{
    struct buffer **arrived = &session->plan->arrived[message->edge];
    buffer_release(*arrived);
    *arrived = buffer_retain(body);
}

static void on_ready(struct tn_session *session, struct session_server *member, uint32_t plan)
{
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) {
        if (session->plans[i].number == plan) { member->ready |= UINT32_C(1) << i; }
    }
}

static bool is_of_run(const struct tn_session *session, const struct message *message)
{
    return session->plan != NULL && message->plan == session->plan->number &&
           message->run == session->run;
}

static bool is_result_of(const struct partition_edge *edge, uint32_t server)
{
    return edge->from == server && edge->to == PARTITION_CALLER;
}

/* The size of the body that this message must have; UINT64_MAX: it is ignored. */
static uint64_t size_of(const struct tn_session *session, uint32_t server,
                        const struct message *message)
{
    if (message->kind == MESSAGE_FAILED) { return message->bytes; }
    if (message->kind != MESSAGE_TENSOR) { return 0; }
    if (!is_of_run(session, message)) { return UINT64_MAX; }
    const struct partition *partition = &session->plan->partition;
    if (message->edge >= partition->edge_count) { return 0; }
    const struct partition_edge *edge = &partition->edges[message->edge];
    return is_result_of(edge, server)
               ? server_plan_value_bytes(edge->type, &edge->shape, session->plan->examples)
               : 0;
}

static void break_off(struct tn_session *session, uint32_t server, enum tn_status status)
{
    session->port.close(session->port.ctx, session->members[server].conn);
    on_closed(session, server, status);
}

/* A server sends its results before it is done. */
static void on_done(struct tn_session *session, uint32_t server, const struct message *message)
{
    if (!is_of_run(session, message)) { return; }
    const struct client_plan *plan = session->plan;
    bool has_results = true;
    for (uint32_t e = 0; e < plan->partition.edge_count && has_results; e++) {
        has_results = !is_result_of(&plan->partition.edges[e], server) || plan->arrived[e] != NULL;
    }
    if (has_results) {
        session->members[server].done = true;
    } else {
        break_off(session, server, TN_EPROTO);
    }
}

static void handle_message(struct tn_session *session, uint32_t server,
                           const struct message *message, struct buffer *body)
{
    switch (message->kind) {
    case MESSAGE_READY: on_ready(session, &session->members[server], message->plan); break;
    case MESSAGE_TENSOR: on_tensor(session, message, body); break;
    case MESSAGE_DONE: on_done(session, server, message); break;
    case MESSAGE_FAILED: on_failed(session, server, message, body); break;
    default: break;
    }
}

static bool is_expected(const struct message *message)
{
    return message->kind == MESSAGE_READY || message->kind == MESSAGE_TENSOR ||
           message->kind == MESSAGE_DONE ||
           (message->kind == MESSAGE_FAILED &&
            message->bytes <= SESSION_TEXT_MAX + sizeof(uint32_t));
}

static void on_frame(struct tn_session *session, uint32_t server,
                     const struct transport_event *event)
{
    struct message message;
    struct buffer *whole = NULL;
    const char *fault = NULL;
    struct session_server *member = &session->members[server];
    if (!message_read(&event->header, &message) || message.session != session->id ||
        !is_expected(&message)) {
        break_off(session, server, TN_EPROTO);
        return;
    }
    const uint64_t bytes = size_of(session, server, &message);
    if (bytes == UINT64_MAX) {
        assembly_skip(&member->assembly, &event->header);
        return;
    }
    if (bytes == 0 && message.kind == MESSAGE_TENSOR) { /* Not an edge to here. */
        break_off(session, server, TN_EPROTO);
        return;
    }
    switch (assembly_add(&member->assembly, session->pool, &event->header, event->body, bytes,
                         session->port.chunk_bytes, &whole, &fault)) {
    case ASSEMBLY_INVALID:
    case ASSEMBLY_NO_MEMORY:
        break_off(session, server, fault != NULL ? TN_EPROTO : TN_ENOMEM);
        break;
    case ASSEMBLY_MORE: break;
    case ASSEMBLY_COMPLETE: handle_message(session, server, &message, whole); break;
    }
    buffer_release(whole);
}

bool session_handle_event(struct tn_session *session, uint64_t deadline_ms)
{
    struct transport_event event;
    if (!mailbox_take(session->mailbox, deadline_ms, &event)) { return false; }
    for (uint32_t i = 0; i < session->member_count; i++) {
        if (session->members[i].conn.v != event.conn.v) { continue; }
        if (event.type == TRANSPORT_CLOSED) { on_closed(session, i, event.status); }
        if (event.type == TRANSPORT_FRAME) { on_frame(session, i, &event); }
        break;
    }
    if (event.type == TRANSPORT_FRAME) { buffer_release(event.body); }
    return true;
}

/* ------------------------------------------------------------------------------ orders */

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for a session");
}

static void order(struct tn_session *session, const struct session_server *member,
                  struct message message, struct buffer *body)
{
    message.session = session->id;
    message_send(&session->port, member->conn, &message, body);
}

static enum tn_status send_open(struct tn_session *session, uint32_t server, struct error *error)
{
    struct message_open open = {
        .self = server, .count = session->member_count, .floats = session->placed.floats[server]};
    struct session_server *member = &session->members[server];
    for (uint32_t i = 0; i < session->member_count; i++) {
        memcpy(open.servers[i], session->members[i].address, sizeof open.servers[i]);
    }
    struct buffer *body = message_encode_open(session->pool, &open);
    if (body == NULL) { return out_of_memory(error); }
    if (member->conn.v == 0) {
        member->conn = session->port.dial(session->port.ctx, member->address);
    }
    order(session, member, (struct message){.kind = MESSAGE_OPEN}, body);
    member->opened = true;
    member->version = 0;
    member->sent = member->ready = 0;
    return TN_OK;
}

static enum tn_status send_values(struct tn_session *session, uint32_t server, struct error *error)
{
    struct session_server *member = &session->members[server];
    const size_t bytes = (size_t)session->placed.floats[server] * sizeof(float);
    if (member->version == session->version || bytes == 0) { return TN_OK; }
    struct buffer *body = buffer_acquire(session->pool, bytes);
    if (body == NULL) { return out_of_memory(error); }
    placed_graph_gather(&session->placed, server, session->values, body->data);
    body->size = bytes;
    order(session, member, (struct message){.kind = MESSAGE_VALUES}, body);
    member->version = session->version;
    return TN_OK;
}

static enum tn_status send_plan(struct tn_session *session, uint32_t server, struct error *error)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const uint32_t place = (uint32_t)(session->plan - session->plans);
    struct session_server *member = &session->members[server];
    if ((member->sent >> place & 1) != 0) { return TN_OK; }
    enum tn_status status =
        client_plan_encode(session->plan, &session->placed, server, &bytes, &size, error);
    if (status != TN_OK) { return status; }
    struct buffer *body = buffer_acquire(session->pool, size);
    if (body != NULL) {
        memcpy(body->data, bytes, size);
        body->size = size;
    }
    free(bytes);
    if (body == NULL) { return out_of_memory(error); }
    order(session, member, (struct message){.kind = MESSAGE_PLAN, .plan = session->plan->number},
          body);
    member->sent |= UINT32_C(1) << place;
    return TN_OK;
}

enum tn_status session_prepare(struct tn_session *session, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->member_count && status == TN_OK; i++) {
        if (!session_takes_part(session, i)) { continue; }
        session->members[i].done = false;
        if (!session->members[i].opened) { status = send_open(session, i, error); }
        if (status == TN_OK) { status = send_values(session, i, error); }
        if (status == TN_OK) { status = send_plan(session, i, error); }
    }
    return status;
}

static enum tn_status send_feed(struct tn_session *session, uint32_t number,
                                const struct tn_feed *feeds, struct error *error)
{
    const struct partition_edge *edge = &session->plan->partition.edges[number];
    const char *name = node_of(session->placed.graph, edge->value)->attributes.name;
    const struct tn_feed *feed = feeds;
    while (strcmp(feed->field, name) != 0) { feed++; } /* The feeds are checked. */
    const size_t bytes =
        (size_t)server_plan_value_bytes(edge->type, &edge->shape, session->plan->examples);
    struct buffer *body = buffer_acquire(session->pool, bytes);
    if (body == NULL) { return out_of_memory(error); }
    memcpy(body->data, feed->values.data, bytes);
    body->size = bytes;
    order(session, &session->members[edge->to],
          (struct message){.kind = MESSAGE_TENSOR,
                           .run = session->run,
                           .plan = session->plan->number,
                           .edge = number},
          body);
    return TN_OK;
}

enum tn_status session_begin_run(struct tn_session *session, const struct tn_feed *feeds,
                                 struct error *error)
{
    const struct message message = {
        .kind = MESSAGE_RUN, .run = session->run, .plan = session->plan->number};
    for (uint32_t i = 0; i < session->member_count; i++) {
        if (session_takes_part(session, i)) { order(session, &session->members[i], message, NULL); }
    }
    enum tn_status status = TN_OK;
    for (uint32_t e = 0; e < session->plan->partition.edge_count && status == TN_OK; e++) {
        const bool is_fed = session->plan->partition.edges[e].from == PARTITION_CALLER;
        if (is_fed) { status = send_feed(session, e, feeds, error); }
    }
    return status;
}

void session_drop_plan(struct tn_session *session, uint32_t place)
{
    struct client_plan *plan = &session->plans[place];
    for (uint32_t i = 0; i < session->member_count; i++) {
        struct session_server *member = &session->members[i];
        const uint32_t bit = UINT32_C(1) << place;
        if (member->conn.v != 0 && (member->sent & bit) != 0) {
            order(session, member, (struct message){.kind = MESSAGE_DROP, .plan = plan->number},
                  NULL);
        }
        member->sent &= ~bit;
        member->ready &= ~bit;
    }
    client_plan_free(plan);
}
