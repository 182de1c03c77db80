/*
 * tests/sim/zk_model.h: a model of a ZooKeeper ensemble under virtual time. docs/simulator.md lists
 * what it reproduces: servers lag; sessions expire by ticks; ephemerals outlive their process;
 * watches fire once, coalesce and arrive late; answers are lost; requests of a dead process still
 * arrive; a client learns of the expiry only from a server; and a wiped ensemble refuses clients
 * that have seen a higher zxid than its own.
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
    uint32_t latency_us;     /* One-way delay: drawn from half to twice this. */
    uint32_t slow_per_mille; /* Share of messages that take up to `slow_us`. */
    uint32_t slow_us;
    uint32_t lag_us; /* A server applies a transaction at most this long after the leader. */
};

/* Called for each committed transaction, before a server other than the leader applies it. */
typedef void (*zk_observer)(void *ctx, const struct zk_txn *txn);

struct zk_model *zk_model_create(struct world *world, const struct zk_model_config *config);
void zk_model_free(struct zk_model *model);
void zk_model_observe(struct zk_model *model, zk_observer observer, void *ctx);
const struct zk_tree *zk_model_tree(const struct zk_model *model); /* The leader's tree. */

/* Opens a session for a process on `host`. The model owns the client. */
struct zk_client *zk_client_open(struct zk_model *model, uint32_t host, uint32_t session_timeout_ms,
                                 uint32_t deadline_ms, zk_sink sink, void *ctx);
struct zk_port zk_client_port(struct zk_client *client);
uint64_t zk_client_session(const struct zk_client *client); /* 0 before the first connection. */
/* The process died: it receives no more events; the session is not closed, and requests in flight
 * still arrive. */
void zk_client_kill(struct zk_client *client);
/* SIGSTOP and SIGCONT: a stopped client sends no pings, so that its session expires. */
void zk_client_stop(struct zk_client *client, bool stopped);
/* The process is stopped or computes: events that arrive meanwhile are delivered afterwards, in
 * order. While it computes, the threads of the client library keep the session alive. */
void zk_client_hold(struct zk_client *client, bool held);
/* The process ends in order: its session is closed. */
void zk_client_close(struct zk_client *client);

/* Closes a session from outside, by its id (an agent does so for a dead child). */
void zk_model_close_session(struct zk_model *model, uint64_t session);

/* Writes at once, without a client, to set up a test. Asserts success. */
void zk_model_write(struct zk_model *model, const struct zk_write *writes, size_t count);

/* Faults. */
/* Another program changes the ACL of a znode: it denies all but reading, or nothing. */
void zk_model_set_read_only(struct zk_model *model, const char *path, bool read_only);
void zk_model_server(struct zk_model *model, uint32_t server, bool up);
void zk_model_cut(struct zk_model *model, uint32_t host, uint32_t server, bool cut);
void zk_model_drop_connection(struct zk_client *client);
/* All servers lose their disks; they are down until zk_model_server() starts them. */
void zk_model_wipe(struct zk_model *model);
bool zk_model_serves(const struct zk_model *model);

#endif
