/* tests/sim/zk_model_private.h: shared by the servers' half and the clients' half of the model. */
#ifndef SIM_ZK_MODEL_PRIVATE_H
#define SIM_ZK_MODEL_PRIVATE_H

#include "tests/sim/zk_model.h"

enum {
    ZK_SESSIONS_MAX = 4096,
    ZK_CLIENTS_MAX = 4096,
    ZK_WATCHES_MAX = 1024,
    SIM_CHILDREN_MAX = 4096
};

enum request_verb { REQUEST_WRITE, REQUEST_READ, REQUEST_LIST };

/* A request in flight. All of them are in a list, so that zk_model_free() can free them. */
struct zk_request {
    struct zk_request *next, *list_next, **list_link;
    struct zk_client *client;
    uint64_t connection; /* Connection of the client when it was sent. */
    uint64_t zxid;       /* Its transaction's, or the last one before its refusal. */
    bool refused;
    enum zk_reason reason;
    int32_t failed_write;
    bool detached; /* Its connection broke: the answer is dropped. */
    uint64_t session;
    uint64_t op;
    enum request_verb verb;
    bool watch;
    char path[ZK_PATH_MAX];
    struct zk_write *writes; /* Deep copy. */
    size_t count;
};

struct zk_watch {
    char path[ZK_PATH_MAX];
    bool children;
    bool existed;
};

struct zk_session_state {
    uint64_t id;
    uint64_t timeout_us;
    uint64_t heard_us;
    struct zk_client *client;
    bool open;
};

struct in_flight {
    uint64_t op;
    char path[ZK_PATH_MAX];
    struct in_flight *next;
};

/* An event in flight to a client, flattened. */
struct parcel;

struct zk_client {
    struct zk_model *model;
    uint32_t host;
    uint32_t timeout_ms, deadline_ms;
    zk_sink sink;
    void *ctx;
    bool dead, stopped, held, connected, expired, ever_connected;
    uint32_t server;
    uint64_t connection; /* Number of the present or last connection. */
    uint64_t session;
    uint64_t last_zxid;
    uint64_t unreachable_us; /* Since when the server cannot be reached; 0: it can. */
    uint64_t refused_us;     /* Since when a serving ensemble refuses the client; 0: it does not. */
    uint64_t next_try_us;
    uint64_t to_server_us, to_leader_us,
        to_client_us;            /* Arrival of the last message: no message overtakes it. */
    struct zk_request *pipeline; /* Requests at the server, in order. */
    struct zk_request *working;  /* The write in progress; later requests wait for it. */
    struct in_flight *in_flight;
    struct zk_watch *watches;
    size_t watch_count;
    struct parcel *backlog, **backlog_tail; /* Events that arrived while held. */
};

struct zk_server {
    bool up;
    struct zk_tree tree;
    uint64_t apply_us; /* When the last transaction is applied: transactions keep their order. */
};

struct zk_model {
    struct world *world;
    struct zk_model_config config;
    struct zk_server servers[ZK_SERVERS_MAX];
    struct zk_tree leader;
    struct zk_txn **log;
    size_t log_count, log_capacity;
    uint64_t log_base; /* zxid before log[0]. */
    uint64_t era;      /* Grows with each wipe. */
    struct zk_session_state sessions[ZK_SESSIONS_MAX];
    size_t session_count;
    struct zk_client *clients[ZK_CLIENTS_MAX];
    size_t client_count;
    uint64_t next_session;
    bool cut[ZK_HOSTS_MAX][ZK_SERVERS_MAX];
    struct zk_request *requests; /* All requests in flight. */
    bool had_quorum;
    zk_observer observer;
    void *observer_ctx;
};

/* zk_model.c */
uint64_t zk_model_latency(struct zk_model *model);
bool zk_model_has_quorum(const struct zk_model *model);
void zk_model_commit(struct zk_model *model, struct zk_txn *txn); /* Takes the reference. */
struct zk_session_state *zk_model_session(struct zk_model *model, uint64_t id);
struct zk_session_state *zk_model_new_session(struct zk_model *model, struct zk_client *client);

/* zk_client.c */
void zk_client_sweep(
    struct zk_client *client); /* Connects, and detects the loss of a connection. */
void zk_client_disconnect(struct zk_client *client); /* The connection broke. */
void zk_client_free(struct zk_client *client);

/* zk_watch.c */
void zk_client_watch(struct zk_client *client, const char *path, bool children, bool existed);
/* The server of the client has applied `txn`. */
void zk_client_applied(struct zk_client *client, const struct zk_txn *txn);
/* The client is connected again. */
void zk_client_rearm(struct zk_client *client);

/* zk_request.c */
struct zk_request *zk_request_create(struct zk_client *client);
/* Copies well-formed writes into the request. */
void zk_request_copy(struct zk_request *request, const struct zk_write *writes, size_t count);
void zk_request_send(struct zk_request *request);
/* The connection broke: requests in flight may still be applied. */
void zk_requests_detach(struct zk_client *client);
void zk_requests_applied(struct zk_client *client, const struct zk_txn *txn);
void zk_request_free(struct zk_request *request);

/* zk_client.c: sends an event to the client over `connection`; 0: the event is made by the client
 * library. */
void zk_client_post(struct zk_client *client, uint64_t connection, const struct zk_event *event);
/* Sends the event of a fired watch over the present connection. */
void zk_client_notify(struct zk_client *client, const struct zk_watch *watch);
bool zk_client_reaches(const struct zk_client *client, uint32_t server);
bool zk_client_alive_at_server(const struct zk_client *client); /* Whether its pings arrive. */

#endif
