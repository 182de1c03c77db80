#include "session/client.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "graph/core/build.h"
#include "tanist/program.h"

enum { TIMEOUT_MS = 600 * 1000 };

const struct placed_graph *session_graph(const struct tn_session *session)
{
    return &session->placed;
}

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for a session");
}

static void on_event(void *ctx, const struct transport_event *event)
{
    struct tn_session *session = ctx;
    if (mailbox_put(session->mailbox, event)) { return; }
    session->port.close(session->port.ctx, event->conn);
}

/* --------------------------------------------------------------------- opening, closing */

static enum tn_status parse_server(struct tn_session *session, const char *text, size_t length,
                                   struct error *error)
{
    struct session_server *member = &session->members[session->member_count];
    const size_t prefix = sizeof SESSION_SCHEME - 1;
    if (length >= prefix && strncmp(text, SESSION_SCHEME, prefix) == 0) {
        text += prefix;
        length -= prefix;
    }
    const char *colon = memrchr(text, ':', length);
    const size_t digits = colon == NULL ? 0 : (size_t)(text + length - colon) - 1;
    const long port = digits == 0 || digits > 5 ? 0 : strtol(colon + 1, NULL, 10);
    if (colon == text || digits == 0 || strspn(colon + 1, "0123456789") != digits || port < 1 ||
        port > UINT16_MAX || length + sizeof SESSION_SCHEME > sizeof member->address) {
        return error_set(error, TN_EINVAL,
                         "server '%.*s': give addresses as HOST:PORT, separated by commas",
                         (int)length, text);
    }
    snprintf(member->address, sizeof member->address, "%s%.*s", SESSION_SCHEME, (int)length, text);
    for (uint32_t i = 0; i < session->member_count; i++) {
        if (strcmp(session->members[i].address, member->address) != 0) { continue; }
        return error_set(error, TN_EINVAL, "server '%.*s' is given twice: give each once",
                         (int)length, text);
    }
    session->member_count++;
    return TN_OK;
}

static enum tn_status parse_servers(struct tn_session *session, const char *servers,
                                    struct error *error)
{
    enum tn_status status = TN_OK;
    for (const char *at = servers; status == TN_OK;) {
        const size_t length = strcspn(at, ",");
        if (session->member_count == SESSION_SERVERS_MAX) {
            return error_set(error, TN_EINVAL, "there are more than %d servers",
                             SESSION_SERVERS_MAX);
        }
        status = parse_server(session, at, length, error);
        if (at[length] == '\0') { break; }
        at += length + 1;
    }
    return status;
}

static enum tn_status initial_values(struct tn_session *session, const struct tn_graph *graph,
                                     uint64_t seed, struct error *error)
{
    struct tn_error text = {.text = ""};
    struct tn_program *program = NULL;
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_EVALUATE, .examples = 1, .kernels = "reference"};
    enum tn_status status = tn_program_create(graph, &options, &program, &text);
    if (status != TN_OK) { return error_set(error, status, "%s", text.text); }
    assert(tn_program_parameters(program) == session->placed.parameters);
    tn_program_initialize(program, seed, session->values);
    tn_program_destroy(program);
    return TN_OK;
}

static enum tn_status open_transport(struct tn_session *session, struct error *error)
{
    session->pool = buffer_pool_create(0);
    session->mailbox = mailbox_create();
    if (session->pool == NULL || session->mailbox == NULL) { return out_of_memory(error); }
    const struct transport_config config = {
        .cluster = SESSION_CLUSTER,
        .sender = session->id,
        .body_max = WIRE_CHUNK_BYTES,
        .heartbeat_ms = SESSION_HEARTBEAT_MS,
        .pool = session->pool,
        .sink = on_event,
        .sink_ctx = session,
    };
    enum tn_status status = transport_open(&config, &session->transport, error);
    if (status == TN_OK) { session->port = transport_port_of(session->transport); }
    return status;
}

static enum tn_status open_session(struct tn_session *session, const char *servers,
                                   const struct tn_graph *graph,
                                   const struct tn_session_options *options, struct error *error)
{
    session->id = clock_new_incarnation();
    session->version = 1;
    session->timeout_ms = options->timeout_ms != 0 ? options->timeout_ms : TIMEOUT_MS;
    enum tn_status status = parse_servers(session, servers, error);
    if (status == TN_OK) {
        status = placed_graph_create(graph, session->member_count, &session->placed, error);
    }
    if (status != TN_OK) { return status; }
    const size_t count = (size_t)session->placed.parameters;
    session->values = calloc(count + 1, sizeof *session->values);
    if (session->values == NULL) { return out_of_memory(error); }
    if (options->values != NULL) {
        memcpy(session->values, options->values, count * sizeof *session->values);
    } else {
        status = initial_values(session, graph, options->seed, error);
    }
    return status == TN_OK ? open_transport(session, error) : status;
}

enum tn_status tn_session_open(struct tn_session **out, const char *servers,
                               const struct tn_graph *graph,
                               const struct tn_session_options *options, struct tn_error *error)
{
    static const struct tn_session_options none = {.struct_size = sizeof none};
    struct error text = {.status = TN_OK};
    assert(out != NULL && servers != NULL && graph != NULL);
    assert(options == NULL || options->struct_size == sizeof *options);
    struct tn_session *session = calloc(1, sizeof *session);
    *out = NULL;
    enum tn_status status =
        session == NULL
            ? out_of_memory(&text)
            : open_session(session, servers, graph, options != NULL ? options : &none, &text);
    if (status == TN_OK) {
        *out = session;
        return TN_OK;
    }
    tn_session_close(session);
    return error_export(&text, error);
}

void tn_session_close(struct tn_session *session)
{
    if (session == NULL) { return; }
    transport_close(session->transport);
    mailbox_destroy(session->mailbox);
    for (uint32_t i = 0; i < SESSION_PLANS_MAX; i++) { client_plan_free(&session->plans[i]); }
    for (uint32_t i = 0; i < session->member_count; i++) {
        assembly_reset(&session->members[i].assembly);
    }
    if (session->pool != NULL) { buffer_pool_destroy(session->pool); }
    placed_graph_free(&session->placed);
    free(session->values);
    free(session);
}

uint64_t tn_session_parameters(const struct tn_session *session)
{
    assert(session != NULL);
    return session->placed.parameters;
}

void tn_session_set_values(struct tn_session *session, const float *values)
{
    assert(session != NULL && (values != NULL || session->placed.parameters == 0));
    if (session->placed.parameters == 0) { return; }
    memcpy(session->values, values, (size_t)session->placed.parameters * sizeof *values);
    session->version++;
}
