/*
 * common/zk/zk.h: the interface to ZooKeeper. Only zk.c and zk_acl.c use the API of the C client;
 * the simulator implements the same port over a model.
 *
 * Every request carries an `op` chosen by the caller and is answered by exactly one ZK_RESULT event
 * with that op (Z2): OK, REFUSED (not applied) or UNKNOWN (applied or not: the connection broke, or
 * our own deadline passed). A lost connection does not end the leadership or remove ephemerals;
 * only ZK_EXPIRED does (Z3). A request without a connection is not sent later; it is answered
 * UNKNOWN within 20 ms: wait for ZK_CONNECTED.
 *
 * Threads: the owner's thread calls the functions of the port, which never block. In production the
 * library's thread calls `sink`, which copies what it needs into an inbox and returns. The memory
 * of an event is borrowed for the call.
 */
#ifndef COMMON_ZK_ZK_H
#define COMMON_ZK_ZK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum {
    ZK_PATH_MAX = 256,
    /* Half of jute.maxbuffer; a larger znode would break the connection. */
    ZK_DATA_MAX = 512 * 1024,
    ZK_WRITES_MAX = 16, /* Writes in one transaction. */
    ZK_ANY_VERSION = -1,
};

enum zk_outcome {
    ZK_OK,
    ZK_REFUSED, /* Not applied, for `reason`. */
    ZK_UNKNOWN, /* Applied or not, now or a little later: read again. */
};

enum zk_reason {
    ZK_REASON_NONE,
    ZK_REASON_NO_NODE,
    ZK_REASON_NODE_EXISTS,
    ZK_REASON_BAD_VERSION,
    ZK_REASON_NOT_EMPTY,
    ZK_REASON_NO_AUTH,
    ZK_REASON_TOO_LARGE,  /* Refused before it was sent. */
    ZK_REASON_CONNECTION, /* With UNKNOWN. */
    ZK_REASON_DEADLINE,   /* With UNKNOWN: no answer within our own deadline. */
    ZK_REASON_EXPIRED,    /* With REFUSED: the session has expired. */
    ZK_REASON_OTHER,
};

struct zk_stat {
    int32_t version; /* Version of the data; each set adds 1. */
    int32_t children_version;
    uint64_t created_zxid;     /* The transaction that created the znode. */
    uint64_t modified_zxid;    /* The last transaction that set its data. */
    uint64_t ephemeral_owner;  /* Session that owns it; 0: persistent. */
    uint64_t modified_wall_ms; /* By the server's clock; for display. */
};

enum zk_write_kind { ZK_CHECK, ZK_CREATE, ZK_SET, ZK_DELETE };
enum zk_create_flag { ZK_PERSISTENT = 0, ZK_EPHEMERAL = 1, ZK_SEQUENTIAL = 2 };

/* One part of a transaction. Borrowed for the call. */
struct zk_write {
    enum zk_write_kind kind;
    const char *path; /* Relative to the connect string's chroot; absolute form "/a/b". */
    const void *data; /* CREATE, SET. */
    size_t size;
    int32_t version; /* CHECK, SET, DELETE: expected, or ZK_ANY_VERSION. A CHECK needs the node to
                        exist. */
    unsigned flags;  /* CREATE: enum zk_create_flag, or-ed. */
};

enum zk_event_type {
    ZK_CONNECTED,    /* `session` is open. Also after each reconnection. */
    ZK_DISCONNECTED, /* For an unknown time; requests in flight end as UNKNOWN. */
    ZK_EXPIRED,      /* The session has expired and its ephemerals are removed. Also if
                        authentication failed, or if the servers lost their data and served other
                        clients for a whole session timeout (zk_probe.h). Never for an outage. */
    ZK_CHANGED, /* A watch fired (once): `path` was changed, created or deleted, or its children
                   changed. Read again. */
    ZK_RESULT,  /* The answer to `op`. */
};

struct zk_event {
    enum zk_event_type type;
    uint64_t session; /* ZK_CONNECTED. */
    uint64_t op;      /* ZK_RESULT. */
    enum zk_outcome outcome;
    enum zk_reason reason;
    const char *path; /* CHANGED: the watched path. RESULT: the requested path; of a write: the path
                       * of its first CREATE with the sequence number. */
    int32_t failed_write; /* REFUSED write: index of the part that failed, or -1. */
    const void *data;     /* OK read. NULL when empty. */
    size_t size;
    struct zk_stat stat; /* OK read and list; of a write: of its first SET (only `version` is sure),
                            else zero. */
    const char *const *children; /* OK list: names without the parent's path, unordered. */
    size_t child_count;
};

typedef void (*zk_sink)(void *ctx, const struct zk_event *event);

/* The requests. They do not block, and they fail by their ZK_RESULT only. */
struct zk_port {
    void *ctx;
    /* Apply `count` parts as one transaction, all or nothing (one part: a plain write). */
    void (*write)(void *ctx, uint64_t op, const struct zk_write *writes, size_t count);
    /* Data and stat of `path`. With `watch`, one ZK_CHANGED follows when it is changed or
     * deleted. If it does not exist, the answer is REFUSED/NO_NODE, and the watch fires when it is
     * created. */
    void (*read)(void *ctx, uint64_t op, const char *path, bool watch);
    /* Children of `path`. With `watch`, one ZK_CHANGED follows when a child is created or
     * deleted, or `path` is deleted. A missing `path` is answered REFUSED/NO_NODE and not watched.
     */
    void (*list)(void *ctx, uint64_t op, const char *path, bool watch);
};

/* --------------------------------------------------------------- the client */

/* A process that knows it can use and close the session. Secret. */
struct zk_session {
    int64_t id;
    char password[16];
};

struct zk_config {
    const char *connect;         /* "h1:2181,h2:2181/chroot"; prefer IP literals. Copied. */
    uint32_t session_timeout_ms; /* Requested; the server rounds it to its ticks. */
    uint32_t deadline_ms;        /* A request without an answer is UNKNOWN after it. */
    /* "user:password" for the digest scheme: znodes are then created readable and writable by
     * this user alone; NULL: open to all. Copied. */
    const char *credentials;
    /* Continue this session instead of opening a new one. May be NULL. */
    const struct zk_session *resume;
    bool without_probe; /* Wait without limit for a connection; only for zk_probe.c. */
    zk_sink sink;
    void *sink_ctx;
};

struct zk;

/* Start connecting; ZK_CONNECTED follows on success. TN_EINVAL: the connect string is malformed
 * (the error names the part); TN_ENOMEM. On failure `*out` is NULL. */
MUST_CHECK enum tn_status zk_open(const struct zk_config *config, struct zk **out,
                                  struct error *error);

/* Close the session if connected, which removes its ephemerals, wait for the library's threads and
 * free. May block for some seconds; do not call it from the sink. Requests in flight are not
 * answered. NULL is allowed. */
void zk_close(struct zk *zk);

/* Free everything, but leave the session open on the servers, as a crash does. Other threads of the
 * program must not open files meanwhile. */
void zk_abandon(struct zk *zk);

struct zk_port zk_port_of(struct zk *zk);

/* With ZooKeeper's values. ZK_MAY_CREATE is about the children of a znode. */
enum zk_permission { ZK_MAY_READ = 1, ZK_MAY_CREATE = 4, ZK_MAY_SET_PERMISSIONS = 16 };

/* Replace the ACL of a znode: a client with the same credentials may do everything, if this client
 * has any; all others may do `others`, enum zk_permission, or-ed. A request like those of the port,
 * but not part of it, as nodes do not use it. */
void zk_set_permissions(struct zk *zk, uint64_t op, const char *path, unsigned others);

/* The session, for the session file; after ZK_CONNECTED. */
struct zk_session zk_session_of(const struct zk *zk);

/* The server that we are connected to, "127.0.0.1:2181"; "" while disconnected. */
void zk_server(const struct zk *zk, char *text, size_t size);

/*
 * Close the session of a dead process, so that its ephemerals are removed now instead of at the
 * timeout (measured: 4-9 ms). Blocks for up to `timeout_ms`, or until another thread sets
 * `*given_up` (NULL: none does): call it on a thread of its own. TN_EEXPIRED: it had ended already;
 * TN_ECONNECT or TN_ETIMEDOUT: no server answered, the session will time out.
 */
MUST_CHECK enum tn_status zk_close_session(const char *connect, const struct zk_session *session,
                                           uint32_t timeout_ms, const atomic_bool *given_up);

/* Check the form of a connect string (hosts, ports, chroot) without connecting. */
MUST_CHECK enum tn_status zk_check_connect(const char *connect, struct error *error);

#endif
