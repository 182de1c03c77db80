#include "common/node/runtime.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/faults/failpoint.h"
#include "common/node/inbox.h"
#include "common/zk/session_file.h"

enum { HEARTBEAT_MS = 1000, ZK_DEADLINE_MS = 5000 };

struct runtime {
    struct inbox *inbox;
    struct zk *zk;
    struct transport *transport;
    struct node_ports ports;
    char *session_file; /* NULL: not saved, or saved already. */
    pthread_t watcher;  /* Waits for signals. */
    bool watching;
    int signals, stop; /* Descriptors: signalfd; eventfd that ends the watcher. */
    sigset_t mask_before;
};

static void on_zk(void *ctx, const struct zk_event *event)
{
    struct runtime *runtime = ctx;
    inbox_put_zk(runtime->inbox, event);
}

static void on_transport(void *ctx, const struct transport_event *event)
{
    struct runtime *runtime = ctx;
    if (inbox_put_transport(runtime->inbox, event)) { return; }
    log_warn("connection closed: its peer sends faster than this node can receive");
    const struct transport_port *port = &runtime->ports.transport;
    port->close(port->ctx, event->conn);
}

static bool poll_transport(void *ctx)
{
    return transport_poll(ctx);
}

/* ----------------------------------------------------------------- signals */

static void *watch_signals(void *ctx)
{
    struct runtime *runtime = ctx;
    bool draining = false;
    struct pollfd polled[2] = {{.fd = runtime->signals, .events = POLLIN},
                               {.fd = runtime->stop, .events = POLLIN}};
    for (;;) {
        if (poll(polled, 2, -1) < 0) { continue; /* EINTR. */ }
        if (polled[1].revents != 0) { return NULL; }
        struct signalfd_siginfo info;
        if (read(runtime->signals, &info, sizeof info) != (ssize_t)sizeof info) { continue; }
        const bool at_once = draining || info.ssi_signo == SIGINT;
        draining = true;
        log_info("leaving on request (%s)%s", info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM",
                 at_once ? "" : " as soon as no work is lost");
        inbox_put_leave(runtime->inbox, at_once);
    }
}

/* Called before other threads exist, so that they inherit the mask. */
static enum tn_status block_signals(struct runtime *runtime, struct error *error)
{
    assert(!runtime->watching);
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    pthread_sigmask(SIG_BLOCK, &wanted, &runtime->mask_before);
    runtime->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    runtime->stop = eventfd(0, EFD_CLOEXEC);
    if (runtime->signals >= 0 && runtime->stop >= 0 &&
        pthread_create(&runtime->watcher, NULL, watch_signals, runtime) == 0) {
        runtime->watching = true;
        return TN_OK;
    }
    return error_set(error, TN_ENOMEM, "cannot start the thread that waits for signals");
}

static void release_signals(struct runtime *runtime)
{
    if (runtime->watching) {
        uint64_t one = 1;
        ssize_t put = write(runtime->stop, &one, sizeof one);
        assert(put == (ssize_t)sizeof one);
        pthread_join(runtime->watcher, NULL);
    }
    if (runtime->signals >= 0) { close(runtime->signals); }
    if (runtime->stop >= 0) { close(runtime->stop); }
    pthread_sigmask(SIG_SETMASK, &runtime->mask_before, NULL);
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
        .owner_polls = true,
        .pool = runtime->ports.buffers,
        .sink = on_transport,
        .sink_ctx = runtime,
    };
    enum tn_status status = transport_open(&transport, &runtime->transport, error);
    if (status != TN_OK) { return status; }
    runtime->ports.transport = transport_port_of(runtime->transport);
    struct doorbell *doorbell = transport_doorbell(runtime->transport);
    if (doorbell != NULL) {
        inbox_poll(runtime->inbox, doorbell, poll_transport, runtime->transport);
    }
    return TN_OK;
}

static enum tn_status open_zk(struct runtime *runtime, const struct runtime_config *config,
                              struct error *error)
{
    assert(runtime->inbox != NULL);
    const struct zk_config zk = {
        .connect = config->zk_connect,
        .session_timeout_ms = config->session_timeout_ms,
        .deadline_ms = ZK_DEADLINE_MS,
        .credentials = config->zk_credentials,
        .sink = on_zk,
        .sink_ctx = runtime,
    };
    enum tn_status status = zk_open(&zk, &runtime->zk, error);
    if (status == TN_OK) { runtime->ports.zk = zk_port_of(runtime->zk); }
    return status;
}

static enum tn_status allocate(struct runtime *runtime, const struct runtime_config *config,
                               struct error *error)
{
    runtime->inbox = inbox_create();
    runtime->ports.buffers = buffer_pool_create(config->buffer_limit_bytes);
    runtime->ports.stopwatch.read_ns = read_stopwatch;
    bool allocated = runtime->inbox != NULL && runtime->ports.buffers != NULL;
    if (config->session_file != NULL) {
        runtime->session_file = strdup(config->session_file);
        allocated = allocated && runtime->session_file != NULL;
    }
    return allocated ? TN_OK : error_set(error, TN_ENOMEM, "no memory to start a node");
}

enum tn_status runtime_open(const struct runtime_config *config, struct runtime **out,
                            struct error *error)
{
    assert(config->zk_connect != NULL && config->incarnation != 0);
    *out = NULL;
    struct runtime *runtime = calloc(1, sizeof *runtime);
    if (runtime == NULL) { return error_set(error, TN_ENOMEM, "no memory to start a node"); }
    runtime->signals = runtime->stop = -1;
    pthread_sigmask(SIG_SETMASK, NULL, &runtime->mask_before);
    enum tn_status status = allocate(runtime, config, error);
    if (status == TN_OK) { status = block_signals(runtime, error); }
    if (status == TN_OK) { status = open_transport(runtime, config, error); }
    if (status == TN_OK) { status = open_zk(runtime, config, error); }
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
    zk_close(runtime->zk);
    if (runtime->inbox != NULL) { inbox_poll_end(runtime->inbox); }
    transport_close(runtime->transport);
    release_signals(runtime);
    inbox_destroy(runtime->inbox);
    if (runtime->ports.buffers != NULL) { buffer_pool_destroy(runtime->ports.buffers); }
    free(runtime->session_file);
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

/* Before the node learns of the connection, so that the agent can end every session that has
 * ephemerals. */
static void save_session(struct runtime *runtime)
{
    assert(runtime->zk != NULL);
    if (runtime->session_file == NULL) { return; }
    struct zk_session session = zk_session_of(runtime->zk);
    struct error error;
    if (session_file_write(runtime->session_file, &session, &error) != TN_OK) {
        log_warn("%s: if this node dies, its session ends only by its timeout", error.text);
    }
    free(runtime->session_file);
    runtime->session_file = NULL;
}

static void deliver(struct runtime *runtime, const struct node *node, struct inbox_item *item)
{
    assert(node->self != NULL);
    struct node_event event = {.type = item != NULL ? item->type : NODE_TICK,
                               .now_ms = clock_monotonic_ms(),
                               .wall_ms = clock_wall_ms()};
    if (event.type == NODE_ZK) {
        if (item->zk.type == ZK_CONNECTED) { save_session(runtime); }
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
    while (!node->finished(node->self, &exit_code)) {
        /* Ticks are delivered in time even if events never pause. */
        struct inbox_item *item = inbox_take(runtime->inbox, node->deadline_ms(node->self));
        if (item != NULL) { deliver(runtime, node, item); }
        bool due = clock_monotonic_ms() >= node->deadline_ms(node->self);
        if (due && !node->finished(node->self, &exit_code)) { deliver(runtime, node, NULL); }
    }
    FAILPOINT("node.leaving");
    return exit_code;
}
