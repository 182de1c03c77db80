/* The servers' half of the model: quorum, the log, sessions and their expiry. zk_client.c has the
 * clients' half. */
#include "tests/sim/zk_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/zk_model_private.h"

uint64_t zk_model_latency(struct zk_model *model)
{
    if (world_chance(model->world, model->config.slow_per_mille)) {
        return world_below(model->world, model->config.slow_us + 1);
    }
    return world_between(model->world, model->config.latency_us / 2, model->config.latency_us * 2);
}

bool zk_model_has_quorum(const struct zk_model *model)
{
    uint32_t up = 0;
    for (uint32_t i = 0; i < model->config.servers; i++) { up += model->servers[i].up; }
    return up > model->config.servers / 2;
}

bool zk_model_serves(const struct zk_model *model)
{
    return zk_model_has_quorum(model);
}

const struct zk_tree *zk_model_tree(const struct zk_model *model)
{
    return &model->leader;
}

void zk_model_observe(struct zk_model *model, zk_observer observer, void *ctx)
{
    model->observer = observer;
    model->observer_ctx = ctx;
}

/* ------------------------------------------------------------------ log */

static void show_to_clients(struct zk_model *model, uint32_t server, const struct zk_txn *txn)
{
    for (size_t i = 0; i < model->client_count; i++) {
        struct zk_client *client = model->clients[i];
        if (client->connected && client->server == server) { zk_client_applied(client, txn); }
    }
}

static void apply_up_to(struct zk_model *model, uint32_t index, uint64_t zxid)
{
    assert(index < model->config.servers);
    struct zk_server *server = &model->servers[index];
    while (server->tree.zxid < zxid) {
        size_t next = (size_t)(server->tree.zxid - model->log_base);
        assert(next < model->log_count);
        zk_tree_apply(&server->tree, model->log[next]);
        show_to_clients(model, index, model->log[next]);
    }
}

static void on_apply(struct world *world, void *target, uint64_t server_and_era, uint64_t zxid,
                     void *data)
{
    (void)world;
    (void)data;
    struct zk_model *model = target;
    uint32_t index = (uint32_t)(server_and_era & 0xff);
    if (server_and_era >> 8 != model->era || !model->servers[index].up) { return; }
    apply_up_to(model, index, zxid);
}

void zk_model_commit(struct zk_model *model, struct zk_txn *txn)
{
    if (model->log_count == model->log_capacity) {
        model->log_capacity = model->log_capacity ? model->log_capacity * 2 : 1024;
        model->log = realloc(model->log, model->log_capacity * sizeof *model->log);
        assert(model->log != NULL);
    }
    model->log[model->log_count++] = txn;
    if (model->observer != NULL) { model->observer(model->observer_ctx, txn); }
    for (uint32_t i = 0; i < model->config.servers; i++) {
        struct zk_server *server = &model->servers[i];
        if (!server->up) { continue; }
        uint64_t at = model->world->now_us + world_below(model->world, model->config.lag_us + 1);
        if (at < server->apply_us) { at = server->apply_us; }
        server->apply_us = at;
        world_at(model->world, at, on_apply, model, i | model->era << 8, txn->zxid, NULL);
    }
}

/* ------------------------------------------------------------- sessions */

struct zk_session_state *zk_model_session(struct zk_model *model, uint64_t id)
{
    for (size_t i = model->session_count; i-- > 0;) {
        if (model->sessions[i].id == id) { return &model->sessions[i]; }
    }
    return NULL;
}

struct zk_session_state *zk_model_new_session(struct zk_model *model, struct zk_client *client)
{
    assert(zk_model_has_quorum(model));
    assert(model->session_count < ZK_SESSIONS_MAX);
    uint64_t tick = model->config.tick_ms;
    uint64_t timeout = client->timeout_ms < 2 * tick ? 2 * tick : client->timeout_ms;
    timeout = (timeout + tick - 1) / tick * tick;
    struct zk_session_state *session = &model->sessions[model->session_count++];
    *session = (struct zk_session_state){.id = ++model->next_session,
                                         .timeout_us = timeout * 1000,
                                         .heard_us = model->world->now_us,
                                         .client = client,
                                         .open = true};
    return session;
}

static void end_session(struct zk_model *model, struct zk_session_state *session)
{
    if (!session->open) { return; }
    session->open = false;
    zk_model_commit(model,
                    zk_tree_close_session(&model->leader, session->id, world_ms(model->world)));
    struct zk_client *client = session->client;
    if (client != NULL && client->session == session->id && !client->dead) {
        zk_client_disconnect(client);
    }
}

static void on_close_session(struct world *world, void *target, uint64_t id, uint64_t tries,
                             void *data)
{
    (void)data;
    struct zk_model *model = target;
    if (!zk_model_has_quorum(model)) {
        if (tries < 100) {
            world_after(world, 50000, on_close_session, model, id, tries + 1, NULL);
        }
        return;
    }
    struct zk_session_state *session = zk_model_session(model, id);
    if (session != NULL) { end_session(model, session); }
}

void zk_model_close_session(struct zk_model *model, uint64_t id)
{
    world_after(model->world, 2 * zk_model_latency(model), on_close_session, model, id, 0, NULL);
}

static void expire_sessions(struct zk_model *model)
{
    bool quorum = zk_model_has_quorum(model);
    uint64_t now = model->world->now_us;
    for (size_t i = 0; i < model->session_count; i++) {
        struct zk_session_state *session = &model->sessions[i];
        if (!session->open) { continue; }
        /* Without a quorum no session expires; a new leader gives each its whole timeout again. */
        bool heard = session->client != NULL && session->client->session == session->id &&
                     zk_client_alive_at_server(session->client);
        if (!quorum || !model->had_quorum || heard) {
            session->heard_us = now;
        } else if (now - session->heard_us > session->timeout_us) {
            world_log(model->world, "zookeeper: session %" PRIu64 " expires", session->id);
            end_session(model, session);
        }
    }
    model->had_quorum = quorum;
}

/* Four times a tick: sessions expire, clients detect lost connections and reconnect. */
static void on_sweep(struct world *world, void *target, uint64_t a, uint64_t b, void *data)
{
    (void)data;
    struct zk_model *model = target;
    expire_sessions(model);
    for (size_t i = 0; i < model->client_count; i++) {
        if (!model->clients[i]->dead) { zk_client_sweep(model->clients[i]); }
    }
    world_after(world, (uint64_t)model->config.tick_ms * 250, on_sweep, model, a, b, NULL);
}

/* --------------------------------------------------------------- faults */

static void drop_clients_of(struct zk_model *model, uint32_t server)
{
    for (size_t i = 0; i < model->client_count; i++) {
        struct zk_client *client = model->clients[i];
        if (client->connected && !client->dead && client->server == server) {
            zk_client_disconnect(client);
        }
    }
}

void zk_model_server(struct zk_model *model, uint32_t server, bool up)
{
    assert(server < model->config.servers);
    if (model->servers[server].up == up) { return; }
    model->servers[server].up = up;
    world_log(model->world, "zookeeper server %u %s", server + 1, up ? "up" : "down");
    if (up) {
        apply_up_to(model, server, model->leader.zxid);
        model->servers[server].apply_us = model->world->now_us;
    } else {
        drop_clients_of(model, server);
    }
    /* Servers without a quorum stop serving: their clients are disconnected. */
    if (!zk_model_has_quorum(model)) {
        for (uint32_t i = 0; i < model->config.servers; i++) { drop_clients_of(model, i); }
    }
}

void zk_model_cut(struct zk_model *model, uint32_t host, uint32_t server, bool cut)
{
    assert(host < ZK_HOSTS_MAX && server < ZK_SERVERS_MAX);
    model->cut[host][server] = cut;
}

static void forget_log(struct zk_model *model)
{
    for (size_t i = 0; i < model->log_count; i++) { zk_txn_release(model->log[i]); }
    model->log_count = 0;
}

void zk_model_wipe(struct zk_model *model)
{
    world_log(model->world, "zookeeper: every server loses its disk");
    for (uint32_t i = 0; i < model->config.servers; i++) { zk_model_server(model, i, false); }
    forget_log(model);
    zk_tree_free(&model->leader);
    zk_tree_init(&model->leader);
    model->log_base = 0;
    model->era++;
    model->session_count = 0;
    for (uint32_t i = 0; i < model->config.servers; i++) {
        zk_tree_free(&model->servers[i].tree);
        zk_tree_init(&model->servers[i].tree);
    }
}

void zk_model_set_read_only(struct zk_model *model, const char *path, bool read_only)
{
    struct zk_node *node = zk_tree_find(&model->leader, path);
    if (node != NULL) { node->read_only = read_only; }
}

void zk_model_write(struct zk_model *model, const struct zk_write *writes, size_t count)
{
    enum zk_reason reason;
    int32_t failed = -1;
    struct zk_txn *txn =
        zk_tree_prepare(&model->leader, 0, world_ms(model->world), writes, count, &reason, &failed);
    assert(txn != NULL);
    zk_model_commit(model, txn);
}

/* ------------------------------------------------------------ life cycle */

struct zk_model *zk_model_create(struct world *world, const struct zk_model_config *config)
{
    assert(config->servers >= 1 && config->servers <= ZK_SERVERS_MAX && config->tick_ms > 0);
    struct zk_model *model = calloc(1, sizeof *model);
    assert(model != NULL);
    model->world = world;
    model->config = *config;
    model->next_session = 0x1000;
    model->had_quorum = true;
    zk_tree_init(&model->leader);
    for (uint32_t i = 0; i < config->servers; i++) {
        model->servers[i].up = true;
        zk_tree_init(&model->servers[i].tree);
    }
    world_after(world, 1000, on_sweep, model, 0, 0, NULL);
    return model;
}

void zk_model_free(struct zk_model *model)
{
    if (model == NULL) { return; }
    for (size_t i = 0; i < model->client_count; i++) { zk_client_free(model->clients[i]); }
    while (model->requests != NULL) { zk_request_free(model->requests); }
    forget_log(model);
    free(model->log);
    zk_tree_free(&model->leader);
    for (uint32_t i = 0; i < model->config.servers; i++) { zk_tree_free(&model->servers[i].tree); }
    free(model);
}
