/*
 * tests/sim/zk_model.h: a ZooKeeper ensemble under virtual time, as faithful as docs/simulator.md
 * says: servers that lag, sessions that expire by ticks, ephemerals that outlive their process,
 * watches that fire once, coalesce and come late, answers that get lost, requests of the dead that
 * still arrive, a client that never learns of its expiry by itself, a wiped ensemble that refuses
 * whoever has seen more than it knows.
 */
#ifndef SIM_ZK_MODEL_H
#define SIM_ZK_MODEL_H

#include "checker/zk_tree.h"
#include "common/zk/zk.h"
#include "tests/sim/world.h"

enum { ZK_SERVERS_MAX = 5, ZK_HOSTS_MAX = 64 };

struct zk_model;
struct zk_client;

struct zk_model_config {
    uint32_t servers;
    uint32_t tick_ms;
    uint32_t latency_us;     /* Usual one-way delay; drawn between a half and the double of it. */
    uint32_t slow_per_mille; /* Messages that take up to `slow_us` instead. */
    uint32_t slow_us;
    uint32_t lag_us; /* A server applies a transaction up to so much after the leader. */
};

/* Told of each committed transaction, before any server but the leader shows it. For the checker.
 */
typedef void (*zk_observer)(void *ctx, const struct zk_txn *txn);

struct zk_model *zk_model_create(struct world *world, const struct zk_model_config *config);
void zk_model_free(struct zk_model *model);
void zk_model_observe(struct zk_model *model, zk_observer observer, void *ctx);
const struct zk_tree *zk_model_tree(const struct zk_model *model); /* The leader's: the truth. */

/* A process on `host` opens a session. The client lives as long as the model. */
struct zk_client *zk_client_open(struct zk_model *model, uint32_t host, uint32_t session_timeout_ms,
                                 uint32_t deadline_ms, zk_sink sink, void *ctx);
struct zk_port zk_client_port(struct zk_client *client);
uint64_t zk_client_session(const struct zk_client *client); /* 0 before the first connection. */
/* The process died: nothing is delivered any more, nothing is closed; what it sent is still on its
 * way. */
void zk_client_kill(struct zk_client *client);
/* SIGSTOP and SIGCONT: what arrives meanwhile is delivered after the thaw, in order. */
void zk_client_freeze(struct zk_client *client, bool frozen);
/* Orderly end: the session is closed. */
void zk_client_close(struct zk_client *client);

/* Somebody who knows the session's password closes it (an agent for its dead child). */
void zk_model_close_session(struct zk_model *model, uint64_t session);

/* Write without any client, at once: for setting the scene. Asserts success. */
void zk_model_write(struct zk_model *model, const struct zk_write *writes, size_t count);

/* Faults. */
void zk_model_server(struct zk_model *model, uint32_t server, bool up);
void zk_model_cut(struct zk_model *model, uint32_t host, uint32_t server, bool cut);
void zk_model_drop_connection(struct zk_client *client);
void zk_model_wipe(
    struct zk_model *model); /* All servers lose their disks; they are down until started. */
bool zk_model_serves(const struct zk_model *model);

#endif
