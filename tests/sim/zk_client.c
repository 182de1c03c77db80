/* The clients' half of the model: libzookeeper and common/zk/zk.c, as a node sees them. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/zk/zk_check.h"
#include "tests/sim/zk_model_private.h"

struct parcel {
    struct parcel *next;
    struct zk_client *client;
    uint64_t connection; /* 0: made by the client library, never lost. */
    uint64_t zxid;
    struct zk_event event; /* Its pointers are set at delivery, from the offsets below. */
    size_t path_offset, data_offset, children_offset, total;
    bool has_path;
    bool children, existed; /* ZK_CHANGED: the watch that fired. */
    char bytes[];
};

/* ------------------------------------------------------------- delivery */

static struct parcel *pack(const struct zk_event *event)
{
    size_t path = event->path != NULL ? strlen(event->path) + 1 : 0;
    size_t names = 0;
    for (size_t i = 0; i < event->child_count; i++) { names += strlen(event->children[i]) + 1; }
    size_t total = sizeof(struct parcel) + path + event->size + names;
    struct parcel *parcel = calloc(1, total);
    assert(parcel != NULL);
    parcel->event = *event;
    parcel->total = total;
    parcel->has_path = path > 0;
    if (path > 0) { memcpy(parcel->bytes, event->path, path); }
    parcel->data_offset = path;
    if (event->size > 0) { memcpy(parcel->bytes + path, event->data, event->size); }
    char *at = parcel->bytes + path + event->size;
    parcel->children_offset = path + event->size;
    for (size_t i = 0; i < event->child_count; i++) {
        size_t length = strlen(event->children[i]) + 1;
        memcpy(at, event->children[i], length);
        at += length;
    }
    return parcel;
}

static bool take_in_flight(struct zk_client *client, uint64_t op)
{
    for (struct in_flight **link = &client->in_flight; *link != NULL; link = &(*link)->next) {
        if ((*link)->op != op) { continue; }
        struct in_flight *found = *link;
        *link = found->next;
        free(found);
        return true;
    }
    return false;
}

static void hand_over(struct parcel *parcel)
{
    struct zk_client *client = parcel->client;
    struct zk_event event = parcel->event;
    const char *children[SIM_CHILDREN_MAX];
    event.path = parcel->has_path ? parcel->bytes : NULL;
    event.data = event.size > 0 ? parcel->bytes + parcel->data_offset : NULL;
    const char *name = parcel->bytes + parcel->children_offset;
    for (size_t i = 0; i < event.child_count; i++) {
        children[i] = name;
        name += strlen(name) + 1;
    }
    event.children = children;
    if (event.type == ZK_RESULT && !take_in_flight(client, event.op)) { return; }
    /* A change event has no zxid. */
    bool answer = event.type == ZK_RESULT;
    if (answer && parcel->zxid > client->last_zxid) { client->last_zxid = parcel->zxid; }
    client->sink(client->ctx, &event);
}

/* A change event that was lost with its connection: its watch fires again, or is set again. */
static void keep_watch(const struct parcel *parcel)
{
    struct zk_client *client = parcel->client;
    if (parcel->event.type != ZK_CHANGED) { return; }
    struct zk_watch watch = {.children = parcel->children, .existed = parcel->existed};
    (void)snprintf(watch.path, sizeof watch.path, "%s", parcel->bytes);
    if (client->connected) {
        zk_client_notify(client, &watch);
    } else {
        zk_client_watch(client, watch.path, watch.children, watch.existed);
    }
}

static void on_deliver(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)world;
    (void)a;
    (void)b;
    struct zk_client *client = target;
    struct parcel *parcel = data;
    if (client->dead) { return; }
    bool lost =
        parcel->connection != 0 && (parcel->connection != client->connection || !client->connected);
    if (lost) {
        keep_watch(parcel);
        return;
    }
    if (!client->held) {
        hand_over(parcel);
        return;
    }
    struct parcel *copy = malloc(parcel->total);
    assert(copy != NULL);
    memcpy(copy, parcel, parcel->total);
    copy->next = NULL;
    *client->backlog_tail = copy;
    client->backlog_tail = &copy->next;
}

static void post(struct zk_client *client, uint64_t connection, struct parcel *parcel)
{
    struct zk_model *model = client->model;
    parcel->client = client;
    parcel->connection = connection;
    uint64_t at = model->world->now_us + (connection != 0 ? zk_model_latency(model) : 1);
    if (connection != 0) { parcel->zxid = model->servers[client->server].tree.zxid; }
    if (at < client->to_client_us) { at = client->to_client_us; }
    client->to_client_us = at;
    world_at(model->world, at, on_deliver, client, 0, 0, parcel);
}

void zk_client_post(struct zk_client *client, uint64_t connection, const struct zk_event *event)
{
    if (!client->dead) { post(client, connection, pack(event)); }
}

void zk_client_notify(struct zk_client *client, const struct zk_watch *watch)
{
    if (client->dead) { return; }
    const struct zk_event event = {.type = ZK_CHANGED, .path = watch->path, .failed_write = -1};
    struct parcel *parcel = pack(&event);
    parcel->children = watch->children;
    parcel->existed = watch->existed;
    post(client, client->connection, parcel);
}

/* ----------------------------------------------------------- connection */

bool zk_client_reaches(const struct zk_client *client, uint32_t server)
{
    return client->model->servers[server].up && !client->model->cut[client->host][server];
}

bool zk_client_alive_at_server(const struct zk_client *client)
{
    return client->connected && !client->dead && !client->stopped &&
           zk_client_reaches(client, client->server);
}

void zk_client_disconnect(struct zk_client *client)
{
    if (!client->connected) { return; }
    client->connected = false;
    client->next_try_us = client->model->world->now_us + world_below(client->model->world, 100000);
    zk_requests_detach(client);
    zk_client_post(client, 0, &(struct zk_event){.type = ZK_DISCONNECTED, .failed_write = -1});
    for (const struct in_flight *lost = client->in_flight; lost != NULL; lost = lost->next) {
        struct zk_event event = {.type = ZK_RESULT,
                                 .op = lost->op,
                                 .outcome = ZK_UNKNOWN,
                                 .reason = ZK_REASON_CONNECTION,
                                 .path = lost->path,
                                 .failed_write = -1};
        zk_client_post(client, 0, &event);
    }
}

void zk_model_drop_connection(struct zk_client *client)
{
    if (!client->dead) { zk_client_disconnect(client); }
}

static void expire(struct zk_client *client)
{
    client->expired = true;
    zk_client_post(client, 0, &(struct zk_event){.type = ZK_EXPIRED, .failed_write = -1});
}

/* The ensemble serves, but refuses this client because it has seen a higher zxid. After two session
 * timeouts the session has expired (common/zk/zk.c finds out with a second session). */
static void consider_refusal(struct zk_client *client)
{
    uint64_t now = client->model->world->now_us;
    if (client->refused_us == 0) { client->refused_us = now; }
    if (now - client->refused_us > (uint64_t)client->timeout_ms * 2000) { expire(client); }
}

static void try_connect(struct zk_client *client)
{
    assert(!client->connected);
    assert(!client->expired);
    struct zk_model *model = client->model;
    uint32_t server = (uint32_t)world_below(model->world, model->config.servers);
    if (!zk_model_has_quorum(model) || !zk_client_reaches(client, server)) { return; }
    if (model->servers[server].tree.zxid < client->last_zxid) {
        consider_refusal(client);
        return;
    }
    struct zk_session_state *session =
        client->session != 0 ? zk_model_session(model, client->session) : NULL;
    if (client->session != 0 && (session == NULL || !session->open)) {
        expire(client);
        return;
    }
    if (session == NULL) {
        session = zk_model_new_session(model, client);
        client->session = session->id;
    }
    session->heard_us = model->world->now_us;
    client->refused_us = 0;
    client->unreachable_us = 0;
    client->connected = true;
    client->server = server;
    client->connection++;
    zk_client_post(
        client, 0,
        &(struct zk_event){.type = ZK_CONNECTED, .session = client->session, .failed_write = -1});
    zk_client_rearm(client);
}

void zk_client_sweep(struct zk_client *client)
{
    uint64_t now = client->model->world->now_us;
    if (client->expired || client->stopped) { return; }
    if (!client->connected) {
        if (now >= client->next_try_us) { try_connect(client); }
        return;
    }
    if (zk_client_reaches(client, client->server)) {
        client->unreachable_us = 0;
    } else if (client->unreachable_us == 0) {
        client->unreachable_us = now;
    } else if (now - client->unreachable_us > (uint64_t)client->timeout_ms * 667) {
        zk_client_disconnect(client); /* The library disconnects after two thirds of the timeout. */
    }
}

/* ----------------------------------------------------------------- port */

static void on_deadline(struct world *world, void *target, uint64_t op, uint64_t b, void *data)
{
    (void)data;
    struct zk_client *client = target;
    if (client->dead) { return; }
    if (client->stopped) {
        world_after(world, 100000, on_deadline, client, op, b, NULL);
        return;
    }
    for (const struct in_flight *late = client->in_flight; late != NULL; late = late->next) {
        if (late->op != op) { continue; }
        struct zk_event event = {.type = ZK_RESULT,
                                 .op = op,
                                 .outcome = ZK_UNKNOWN,
                                 .reason = ZK_REASON_DEADLINE,
                                 .path = late->path,
                                 .failed_write = -1};
        zk_client_post(client, 0, &event);
        return;
    }
}

/* The client library answers without sending. */
static void answer_unsent(struct zk_client *client, struct zk_request *request,
                          enum zk_outcome outcome, enum zk_reason reason)
{
    struct zk_event event = {.type = ZK_RESULT,
                             .op = request->op,
                             .outcome = outcome,
                             .reason = reason,
                             .path = request->path,
                             .failed_write = -1};
    zk_client_post(client, 0, &event);
    zk_request_free(request);
}

static void submit(struct zk_client *client, struct zk_request *request, enum zk_reason malformed)
{
    assert(!client->dead);
    struct in_flight *entry = calloc(1, sizeof *entry);
    assert(entry != NULL);
    entry->op = request->op;
    memcpy(entry->path, request->path, sizeof entry->path);
    entry->next = client->in_flight;
    client->in_flight = entry;
    if (malformed != ZK_REASON_NONE) {
        answer_unsent(client, request, ZK_REFUSED, malformed);
    } else if (client->expired) {
        answer_unsent(client, request, ZK_REFUSED, ZK_REASON_EXPIRED);
    } else if (!client->connected) {
        answer_unsent(client, request, ZK_UNKNOWN, ZK_REASON_CONNECTION);
    } else {
        zk_request_send(request);
        world_after(client->model->world, (uint64_t)client->deadline_ms * 1000, on_deadline, client,
                    entry->op, 0, NULL);
    }
}

static struct zk_request *new_request(struct zk_client *client, uint64_t op, enum request_verb verb,
                                      const char *path)
{
    struct zk_request *request = zk_request_create(client);
    request->op = op;
    request->verb = verb;
    (void)snprintf(request->path, sizeof request->path, "%s", path != NULL ? path : "");
    return request;
}

static void port_write(void *ctx, uint64_t op, const struct zk_write *writes, size_t count)
{
    enum zk_reason malformed = zk_check_writes(writes, count);
    struct zk_request *request = new_request(ctx, op, REQUEST_WRITE, zk_asked_path(writes, count));
    if (malformed == ZK_REASON_NONE) { zk_request_copy(request, writes, count); }
    submit(ctx, request, malformed);
}

static void port_read(void *ctx, uint64_t op, const char *path, bool watch)
{
    struct zk_request *request = new_request(ctx, op, REQUEST_READ, path);
    request->watch = watch;
    submit(ctx, request, zk_check_read(path));
}

static void port_list(void *ctx, uint64_t op, const char *path, bool watch)
{
    struct zk_request *request = new_request(ctx, op, REQUEST_LIST, path);
    request->watch = watch;
    submit(ctx, request, zk_check_read(path));
}

/* ----------------------------------------------------------- life cycle */

struct zk_client *zk_client_open(struct zk_model *model, uint32_t host, uint32_t session_timeout_ms,
                                 uint32_t deadline_ms, zk_sink sink, void *ctx)
{
    assert(model->client_count < ZK_CLIENTS_MAX && host < ZK_HOSTS_MAX);
    struct zk_client *client = calloc(1, sizeof *client);
    assert(client != NULL);
    client->model = model;
    client->host = host;
    client->timeout_ms = session_timeout_ms;
    client->deadline_ms = deadline_ms;
    client->sink = sink;
    client->ctx = ctx;
    client->backlog_tail = &client->backlog;
    client->watches = calloc(ZK_WATCHES_MAX, sizeof *client->watches);
    assert(client->watches != NULL);
    model->clients[model->client_count++] = client;
    return client;
}

struct zk_port zk_client_port(struct zk_client *client)
{
    return (struct zk_port){
        .ctx = client, .write = port_write, .read = port_read, .list = port_list};
}

uint64_t zk_client_session(const struct zk_client *client)
{
    return client->session;
}

static void free_parcels(struct parcel *parcel)
{
    while (parcel != NULL) {
        struct parcel *next = parcel->next;
        free(parcel);
        parcel = next;
    }
}

static void forget(struct zk_client *client)
{
    while (client->in_flight != NULL) {
        struct in_flight *next = client->in_flight->next;
        free(client->in_flight);
        client->in_flight = next;
    }
    free_parcels(client->backlog);
    client->backlog = NULL;
    client->backlog_tail = &client->backlog;
}

void zk_client_kill(struct zk_client *client)
{
    if (client->dead) { return; }
    client->dead = true;
    zk_requests_detach(client);
    client->connected = false;
    forget(client);
}

void zk_client_stop(struct zk_client *client, bool stopped)
{
    client->stopped = stopped;
}

void zk_client_hold(struct zk_client *client, bool held)
{
    if (client->dead || client->held == held) { return; }
    client->held = held;
    if (held) { return; }
    struct parcel *parcel = client->backlog;
    client->backlog = NULL;
    client->backlog_tail = &client->backlog;
    while (parcel != NULL && !client->dead && !client->held) {
        struct parcel *next = parcel->next;
        hand_over(parcel);
        free(parcel);
        parcel = next;
    }
    if (parcel == NULL) { return; }
    if (client->dead) { /* The process exited while handling an event. */
        free_parcels(parcel);
        return;
    }
    /* It computes: the rest comes afterwards, before the events that have arrived meanwhile. */
    struct parcel **end = &parcel->next;
    while (*end != NULL) { end = &(*end)->next; }
    *end = client->backlog;
    if (client->backlog == NULL) { client->backlog_tail = end; }
    client->backlog = parcel;
}

void zk_client_close(struct zk_client *client)
{
    if (client->dead) { return; }
    /* As the library does: nothing is sent while disconnected. */
    if (client->connected) { zk_model_close_session(client->model, client->session); }
    zk_client_kill(client);
}

void zk_client_free(struct zk_client *client)
{
    zk_client_kill(client);
    free(client->watches);
    free(client);
}
