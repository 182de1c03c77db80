/* cli/run/serve.c: `tanist serve`: a server of sessions (session/server.h), behind a transport. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/log_options.h"
#include "cli/stop_signal.h"
#include "common/base/clock.h"
#include "common/base/fault_signals.h"
#include "common/base/log.h"
#include "session/mailbox.h"
#include "session/message.h"
#include "session/server.h"

enum { MEMORY_MIB = 4096, MEMORY_MIB_MOST = 1 << 24, SIGNAL_CHECK_MS = 250 };

struct serving {
    struct mailbox *mailbox;
    struct buffer_pool *received, *sent;
    struct transport *transport;
    struct transport_port port;
    struct server *server;
};

static void on_event(void *ctx, const struct transport_event *event)
{
    struct serving *serving = ctx;
    if (mailbox_put(serving->mailbox, event) || serving->port.close == NULL) { return; }
    log_warn("connection closed: its peer sends faster than this server can receive, or memory is "
             "exhausted");
    serving->port.close(serving->port.ctx, event->conn);
}

static enum tn_status open_serving(struct serving *serving, const char *listen, uint64_t memory,
                                   struct error *error)
{
    char address[TRANSPORT_ADDRESS_MAX];
    const bool has_scheme = strncmp(listen, "tcp://", strlen("tcp://")) == 0;
    const int length =
        snprintf(address, sizeof address, "%s%s", has_scheme ? "" : "tcp://", listen);
    if (length < 0 || (size_t)length >= sizeof address) {
        return error_set(error, TN_EINVAL, "--listen %s: the address is too long", listen);
    }
    serving->mailbox = mailbox_create();
    serving->received = buffer_pool_create(2 * memory);
    serving->sent = buffer_pool_create(0);
    if (serving->mailbox == NULL || serving->received == NULL || serving->sent == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    const struct transport_config config = {
        .listen = address,
        .cluster = SESSION_CLUSTER,
        .sender = clock_new_incarnation(),
        .body_max = WIRE_CHUNK_BYTES,
        .heartbeat_ms = SESSION_HEARTBEAT_MS,
        .pool = serving->received,
        .sink = on_event,
        .sink_ctx = serving,
    };
    enum tn_status status = transport_open(&config, &serving->transport, error);
    if (status != TN_OK) { return status; }
    serving->port = transport_port_of(serving->transport);
    const struct server_config server = {.transport = serving->port,
                                         .received = serving->received,
                                         .sent = serving->sent,
                                         .memory_max = memory};
    serving->server = server_create(&server);
    return serving->server != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
}

static void close_serving(struct serving *serving)
{
    transport_close(serving->transport);
    server_destroy(serving->server);
    mailbox_destroy(serving->mailbox);
    if (serving->received != NULL) { buffer_pool_destroy(serving->received); }
    if (serving->sent != NULL) { buffer_pool_destroy(serving->sent); }
}

static void serve(struct serving *serving, const volatile int *stopped)
{
    struct transport_event event;
    while (*stopped == 0) {
        const uint64_t deadline_ms = clock_monotonic_ms() + SIGNAL_CHECK_MS;
        if (mailbox_take(serving->mailbox, deadline_ms, &event)) {
            server_handle(serving->server, &event);
        }
    }
    const struct server_facts facts = server_facts(serving->server);
    log_info("leaving on request sessions=%" PRIu32 " plans=%" PRIu32, facts.sessions, facts.plans);
}

static enum tn_status check(const char *listen, struct error *error)
{
    if (listen != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "--listen is missing: give the address that clients and the other servers "
                     "reach, HOST:PORT");
}

int command_serve(int argc, char **argv)
{
    const char *listen = NULL;
    struct option_number memory = {.value = MEMORY_MIB};
    struct log_options log = {0};
    int exit_code = 0;
    struct options options = {
        .command = "serve",
        .synopsis = "--listen HOST:PORT [OPTION]...",
        .about = "Run a server that computes parts of graphs for clients. A client opens a session "
                 "(tanist/session.h)\nand places the operations of its graph on several servers. "
                 "Clients are not authenticated: listen\nonly in a trusted network.",
        .examples = "  tanist serve --listen 127.0.0.1:2222\n"
                    "  tanist serve --listen h1:2222 --memory 16384\n"};
    fault_signals_handle();
    options_text(&options, "listen", &listen, "HOST:PORT",
                 "Address to listen at; port 0 picks a free one.");
    options_range(&options, "memory", &memory, "MIB", 1, MEMORY_MIB_MOST,
                  "Limit of all sessions together, default 4096 MiB.");
    log_options_add(&options, &log, "Lowest level of messages that are logged; default info.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct error error = {0};
    struct serving serving = {.mailbox = NULL};
    char address[TRANSPORT_ADDRESS_MAX];
    enum tn_status status = check(listen, &error);
    if (status != TN_OK) { return command_failed(&error); }
    log_options_start(&log, LOG_INFO, "serve");
    const volatile int *stopped = stop_on_signals();
    status = open_serving(&serving, listen, memory.value << 20, &error);
    /* The port of --listen is taken. */
    if (status == TN_EBUSY) { status = error.status = TN_EEXIST; }
    if (status == TN_OK) {
        transport_address(serving.transport, address, sizeof address);
        const bool printed = printf("listening on %s\n", address + strlen("tcp://")) > 0;
        if (printed && fflush(stdout) == 0) {
            serve(&serving, stopped);
        } else {
            status = error_set(&error, TN_EIO, "cannot write to the standard output");
        }
    }
    close_serving(&serving);
    return status == TN_OK ? TN_EXIT_OK : command_failed(&error);
}
