/*
 * common/zk/zk_private.h: the client and its requests, shared by zk.c and zk_acl.c; no other file
 * includes it.
 */
#ifndef COMMON_ZK_ZK_PRIVATE_H
#define COMMON_ZK_ZK_PRIVATE_H

#include <zookeeper/zookeeper.h>

#include "common/zk/zk_inflight.h"

enum { SERVER_TEXT_MAX = 64, CREATED_PATH_MAX = ZK_PATH_MAX + 16 };

struct zk {
    zhandle_t *handle;
    struct zk_inflight inflight;
    struct zk_probe *probe; /* NULL: none. */
    char *credentials;      /* NULL: none. */
    struct ACL acl_entry;
    struct ACL_vector acl; /* For znodes that this client creates. */

    pthread_mutex_t lock; /* Guards the members below. */
    bool connected;
    bool authenticated; /* The library has the credentials and repeats them by itself. */
    bool expired;
    struct zk_session session;
    char server[SERVER_TEXT_MAX];
};

struct request {
    struct zk_entry entry; /* First, as zk_inflight.c frees it. */
    struct zk *zk;
    bool watch; /* Reads and lists. */
    /* For writes; the library uses these until it calls back: */
    int count;
    int first_create; /* Or -1. */
    int first_set;    /* Or -1. */
    zoo_op_result_t results[ZK_WRITES_MAX];
    struct Stat stat;               /* The result of the first SET. */
    char created[CREATED_PATH_MAX]; /* By the first CREATE. */
};

/* The outcome and the reason that a result of the library stands for. */
struct zk_event zk_outcome_of(int rc);

/* A request about `path` that may be sent. NULL: it may not, and is answered. */
struct request *zk_new_request(struct zk *zk, uint64_t op, const char *path, bool watch);

/* `rc`: of the function that sent the request. If the library refused it at once, it does not call
 * back: then this answers. */
void zk_check_sent(struct request *request, int rc);

#endif
