/*
 * Requests: sent -> at the client's server, in order -> a read is answered there; a write goes to
 * the leader, is committed or refused, and is answered when that server has applied all that came
 * before: what a client reads after an answer is never older than it. When a connection breaks, the
 * answer is lost, and the write may still be applied.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/zk_model_private.h"

void zk_request_free(struct zk_request *request)
{
    *request->list_link = request->list_next;
    if (request->list_next != NULL) { request->list_next->list_link = request->list_link; }
    for (size_t i = 0; i < request->count; i++) {
        free((void *)(uintptr_t)request->writes[i].path);
        free((void *)(uintptr_t)request->writes[i].data);
    }
    free(request->writes);
    free(request);
}

static uint64_t after(struct zk_client *client, uint64_t *last_us)
{
    uint64_t at = client->model->world->now_us + zk_model_latency(client->model);
    if (at < *last_us) { at = *last_us; }
    return *last_us = at;
}

static void answer(struct zk_request *request, struct zk_event *event)
{
    event->type = ZK_RESULT;
    event->op = request->op;
    if (event->path == NULL) { event->path = request->path; }
    if (!request->detached) { zk_client_post(request->client, request->connection, event); }
}

/* ---------------------------------------------------------------- reads */

static void answer_read(struct zk_request *request)
{
    assert(request->verb != REQUEST_WRITE);
    struct zk_client *client = request->client;
    const struct zk_tree *tree = &client->model->servers[client->server].tree;
    const struct zk_node *node = zk_tree_find(tree, request->path);
    struct zk_event event = {.outcome = ZK_OK, .failed_write = -1};
    bool list = request->verb == REQUEST_LIST;
    if (request->watch && (node != NULL || !list)) {
        zk_client_watch(client, request->path, list, node != NULL);
    }
    const char *children[SIM_CHILDREN_MAX];
    if (node == NULL) {
        event.outcome = ZK_REFUSED;
        event.reason = ZK_REASON_NO_NODE;
    } else if (!list) {
        event.data = node->blob != NULL && node->blob->size > 0 ? node->blob->data : NULL;
        event.size = node->blob != NULL ? node->blob->size : 0;
        event.stat = node->stat;
    } else {
        size_t length = strlen(request->path);
        for (size_t i = 0; i < tree->count; i++) {
            const char *path = tree->nodes[i].path;
            if (strncmp(path, request->path, length) != 0 || path[length] != '/') { continue; }
            if (strchr(path + length + 1, '/') != NULL) { continue; }
            assert(event.child_count < SIM_CHILDREN_MAX);
            children[event.child_count++] = path + length + 1;
        }
        event.children = children;
        event.stat = node->stat;
    }
    answer(request, &event);
}

/* --------------------------------------------------------------- writes */

static const char *created_path(const struct zk_txn *txn)
{
    for (size_t i = 0; i < txn->count; i++) {
        if (txn->changes[i].kind == ZK_CREATE) { return txn->changes[i].path; }
    }
    return NULL;
}

/* Only the version is defined (common/zk/zk.h): no caller may use the other fields. */
static struct zk_stat set_stat(const struct zk_txn *txn)
{
    for (size_t i = 0; i < txn->count; i++) {
        if (txn->changes[i].kind != ZK_SET) { continue; }
        return (struct zk_stat){.version = txn->changes[i].version};
    }
    return (struct zk_stat){0};
}

static void pump(struct zk_client *client);

/* Answers the write that the client's server works on. `txn`: NULL if it was refused. */
static void finish(struct zk_client *client, const struct zk_txn *txn)
{
    struct zk_request *request = client->working;
    struct zk_event event = {.outcome = ZK_OK, .failed_write = -1};
    assert(request != NULL);
    if (request->refused) {
        event.outcome = ZK_REFUSED;
        event.reason = request->reason;
        event.failed_write = request->failed_write;
    } else {
        assert(txn != NULL);
        event.path = created_path(txn);
        event.stat = set_stat(txn);
    }
    answer(request, &event);
    client->working = NULL;
    zk_request_free(request);
    pump(client);
}

static void on_leader(struct world *world, void *target, uint64_t era, uint64_t b, void *data)
{
    (void)b;
    (void)data;
    struct zk_request *request = target;
    struct zk_client *client = request->client;
    struct zk_model *model = client->model;
    struct zk_session_state *session = zk_model_session(model, request->session);
    if (era != model->era || session == NULL || !session->open || !zk_model_has_quorum(model)) {
        /* The request is dropped; its client is disconnected. */
        if (client->working == request) {
            client->working = NULL;
            if (!request->detached) { zk_client_disconnect(client); }
        }
        zk_request_free(request);
        return;
    }
    request->failed_write = -1;
    struct zk_txn *txn =
        zk_tree_prepare(&model->leader, request->session, world_ms(world), request->writes,
                        request->count, &request->reason, &request->failed_write);
    request->refused = txn == NULL;
    request->zxid = txn != NULL ? txn->zxid : model->leader.zxid;
    if (txn != NULL) { zk_model_commit(model, txn); }
    if (client->working != request) {
        zk_request_free(request);
    } else if (model->servers[client->server].tree.zxid >= request->zxid) {
        finish(client, NULL);
    }
}

void zk_requests_applied(struct zk_client *client, const struct zk_txn *txn)
{
    const struct zk_request *request = client->working;
    if (request == NULL || request->zxid != txn->zxid || request->zxid == 0) { return; }
    finish(client, txn);
}

static void to_leader(struct zk_request *request)
{
    assert(request->verb == REQUEST_WRITE);
    struct zk_client *client = request->client;
    world_at(client->model->world, after(client, &client->to_leader_us), on_leader, request,
             client->model->era, 0, NULL);
}

/* Handles the requests that wait at the server, in order. */
static void pump(struct zk_client *client)
{
    while (client->working == NULL && client->pipeline != NULL) {
        struct zk_request *request = client->pipeline;
        client->pipeline = request->next;
        if (request->verb == REQUEST_WRITE) {
            client->working = request;
            to_leader(request);
            return;
        }
        answer_read(request);
        zk_request_free(request);
    }
}

static void on_arrive(struct world *world, void *target, uint64_t server, uint64_t b, void *data)
{
    (void)b;
    (void)data;
    struct zk_request *request = target;
    struct zk_client *client = request->client;
    bool stale = !client->connected || client->connection != request->connection;
    if (stale || client->dead || !zk_client_reaches(client, (uint32_t)server)) {
        /* The connection broke. A write in flight may still arrive. */
        request->detached = true;
        bool arrives = request->verb == REQUEST_WRITE && client->model->servers[server].up &&
                       (client->dead || world_chance(world, 500));
        if (arrives) {
            to_leader(request);
        } else {
            zk_request_free(request);
        }
        return;
    }
    struct zk_request **link = &client->pipeline;
    while (*link != NULL) { link = &(*link)->next; }
    *link = request;
    request->next = NULL;
    pump(client);
}

struct zk_request *zk_request_create(struct zk_client *client)
{
    struct zk_model *model = client->model;
    struct zk_request *request = calloc(1, sizeof *request);
    assert(request != NULL);
    request->client = client;
    request->connection = client->connection;
    request->session = client->session;
    request->list_next = model->requests;
    request->list_link = &model->requests;
    if (model->requests != NULL) { model->requests->list_link = &request->list_next; }
    model->requests = request;
    return request;
}

void zk_request_copy(struct zk_request *request, const struct zk_write *writes, size_t count)
{
    assert(request->writes == NULL);
    assert(count > 0);
    request->count = count;
    request->writes = calloc(count, sizeof *writes);
    assert(request->writes != NULL);
    for (size_t i = 0; i < count; i++) {
        request->writes[i] = writes[i];
        request->writes[i].path = strdup(writes[i].path);
        void *data = malloc(writes[i].size + 1);
        assert(data != NULL);
        if (writes[i].size > 0) { memcpy(data, writes[i].data, writes[i].size); }
        request->writes[i].data = data;
    }
}

void zk_request_send(struct zk_request *request)
{
    struct zk_client *client = request->client;
    world_at(client->model->world, after(client, &client->to_server_us), on_arrive, request,
             client->server, 0, NULL);
}

void zk_requests_detach(struct zk_client *client)
{
    if (client->working != NULL) {
        struct zk_request *request = client->working;
        client->working = NULL;
        request->detached = true;
        /* It is committed and only the answer was missing. Else on_leader() frees it. */
        if (request->zxid != 0) { zk_request_free(request); }
    }
    while (client->pipeline != NULL) {
        struct zk_request *request = client->pipeline;
        client->pipeline = request->next;
        request->detached = true;
        if (request->verb == REQUEST_WRITE && world_chance(client->model->world, 500)) {
            to_leader(request);
        } else {
            zk_request_free(request);
        }
    }
}
