#include "common/node/runtime.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "common/node/inbox.h"

enum { HEARTBEAT_MS = 1000 };

struct runtime {
    struct inbox *inbox;
    struct node_host *host;
    struct node_host *own_host; /* NULL: the host is the caller's. */
    uint32_t place;
    bool joined;
    struct transport *transport;
    struct node_ports ports;
};

static void on_transport(void *ctx, const struct transport_event *event)
{
    struct runtime *runtime = ctx;
    if (inbox_put_transport(runtime->inbox, event)) { return; }
    log_warn("connection closed: its peer sends faster than this node can receive");
    const struct transport_port *port = &runtime->ports.transport;
    port->close(port->ctx, event->conn);
}

static bool is_behind(void *ctx)
{
    const struct runtime *runtime = ctx;
    return inbox_is_behind(runtime->inbox);
}

/* Processor time: nodes that share a processor slow each other down by turns, and moving slices
 * between them would gain nothing. */
static uint64_t read_stopwatch(void *ctx, uint64_t slices)
{
    (void)ctx;
    (void)slices;
    return clock_thread_cpu_ns();
}

/* ------------------------------------------------------------ open, close */

static enum tn_status open_transport(struct runtime *runtime, const struct runtime_config *config,
                                     struct error *error)
{
    assert(runtime->inbox != NULL && runtime->ports.buffers != NULL);
    const struct transport_config transport = {
        .listen = config->listen,
        .dial_only = config->dial_only,
        .cluster = config->cluster_key,
        .sender = config->incarnation,
        .body_max = config->body_max,
        .heartbeat_ms = HEARTBEAT_MS,
        .lanes = config->lanes,
        .loans = config->loans,
        .owner_polls = true,
        .pool = runtime->ports.buffers,
        .sink = on_transport,
        .sink_ctx = runtime,
        .is_behind = is_behind,
    };
    enum tn_status status = transport_open(&transport, &runtime->transport, error);
    if (status != TN_OK) { return status; }
    runtime->ports.transport = transport_port_of(runtime->transport);
    inbox_poll_transport(runtime->inbox, runtime->transport);
    return TN_OK;
}

static enum tn_status open_host(struct runtime *runtime, const struct runtime_config *config,
                                struct error *error)
{
    runtime->host = config->host;
    runtime->place = config->place;
    if (runtime->host != NULL) { return TN_OK; }
    const struct node_host_config own = {.zk_connect = config->zk_connect,
                                         .zk_credentials = config->zk_credentials,
                                         .session_timeout_ms = config->session_timeout_ms,
                                         .session_file = config->session_file,
                                         .nodes = 1};
    enum tn_status status = node_host_open(&own, &runtime->own_host, error);
    runtime->host = runtime->own_host;
    return status;
}

static enum tn_status open_zk(struct runtime *runtime, struct error *error)
{
    assert(runtime->inbox != NULL);
    node_host_join(runtime->host, runtime->place, runtime->inbox, &runtime->ports.zk);
    runtime->joined = true;
    return runtime->own_host != NULL ? node_host_connect(runtime->own_host, error) : TN_OK;
}

static enum tn_status allocate(struct runtime *runtime, const struct runtime_config *config,
                               struct error *error)
{
    runtime->inbox = inbox_create();
    runtime->ports.buffers = buffer_pool_create(config->buffer_limit_bytes);
    runtime->ports.stopwatch.read_ns = read_stopwatch;
    runtime->ports.memory = memory_port_of_machine();
    const bool allocated = runtime->inbox != NULL && runtime->ports.buffers != NULL;
    return allocated ? TN_OK : error_set(error, TN_ENOMEM, "no memory to start a node");
}

enum tn_status runtime_open(const struct runtime_config *config, struct runtime **out,
                            struct error *error)
{
    assert(config->host != NULL || config->zk_connect != NULL);
    assert(config->incarnation != 0);
    *out = NULL;
    struct runtime *runtime = calloc(1, sizeof *runtime);
    if (runtime == NULL) { return error_set(error, TN_ENOMEM, "no memory to start a node"); }
    enum tn_status status = allocate(runtime, config, error);
    if (status == TN_OK) { status = open_host(runtime, config, error); }
    if (status == TN_OK) { status = open_transport(runtime, config, error); }
    if (status == TN_OK) { status = open_zk(runtime, error); }
    if (status == TN_OK) {
        *out = runtime;
    } else {
        runtime_close(runtime);
    }
    return status;
}

void runtime_close(struct runtime *runtime)
{
    if (runtime == NULL) { return; }
    if (runtime->own_host != NULL) { node_host_disconnect(runtime->own_host); }
    if (runtime->inbox != NULL) { inbox_poll_end(runtime->inbox); }
    transport_close(runtime->transport);
    if (runtime->joined) { node_host_part(runtime->host, runtime->place); }
    node_host_close(runtime->own_host);
    inbox_destroy(runtime->inbox);
    if (runtime->ports.buffers != NULL) { buffer_pool_destroy(runtime->ports.buffers); }
    free(runtime);
}

const struct node_ports *runtime_ports(struct runtime *runtime)
{
    return &runtime->ports;
}

void runtime_address(const struct runtime *runtime, char *text, size_t size)
{
    transport_address(runtime->transport, text, size);
}

void runtime_post(struct runtime *runtime, void *event, void (*release)(void *event))
{
    inbox_put_role(runtime->inbox, event, release);
}

/* --------------------------------------------------------------------- run */

static void deliver(struct runtime *runtime, const struct node *node, struct inbox_item *item)
{
    assert(node->self != NULL);
    struct node_event event = {.type = item != NULL ? item->type : NODE_TICK,
                               .now_ms = clock_monotonic_ms(),
                               .wall_ms = clock_wall_ms()};
    if (event.type == NODE_ZK) {
        if (item->zk.type == ZK_CONNECTED) { node_host_save_session(runtime->host); }
        event.zk = &item->zk;
    }
    if (event.type == NODE_TRANSPORT) { event.transport = &item->transport; }
    if (event.type == NODE_ROLE) { event.role = item->role; }
    node->handle(node->self, &event);
    if (item != NULL) { inbox_release(item); }
}

int runtime_run(struct runtime *runtime, const struct node *node)
{
    assert(node->handle != NULL && node->finished != NULL && node->deadline_ms != NULL);
    int exit_code = 0;
    const struct node_event start = {
        .type = NODE_START, .now_ms = clock_monotonic_ms(), .wall_ms = clock_wall_ms()};
    node->handle(node->self, &start);
    uint64_t deadline_ms = node->deadline_ms(node->self);
    while (!node->finished(node->self, &exit_code)) {
        struct inbox_item *item = inbox_take(runtime->inbox, deadline_ms);
        if (item != NULL) {
            deliver(runtime, node, item);
            deadline_ms = node->deadline_ms(node->self);
        }
        /* Ticks are delivered in time even if events never pause. */
        const bool due = clock_monotonic_ms() >= deadline_ms;
        if (due && !node->finished(node->self, &exit_code)) {
            deliver(runtime, node, NULL);
            deadline_ms = node->deadline_ms(node->self);
        }
    }
    FAILPOINT("node.leaving");
    return exit_code;
}
