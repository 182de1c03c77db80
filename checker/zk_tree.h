/*
 * checker/zk_tree.h: the data of one ZooKeeper server: znodes, and transactions that are
 * validated once (by the leader) and then applied, in order, by every server.
 */
#ifndef CHECKER_ZK_TREE_H
#define CHECKER_ZK_TREE_H

#include "common/zk/zk.h"

struct zk_blob {
    uint32_t references;
    size_t size;
    uint8_t data[];
};

struct zk_node {
    char path[ZK_PATH_MAX];
    uint32_t hash;
    uint32_t next_sequence; /* Of its sequential children: how many were ever made, of any kind. */
    uint64_t children_zxid; /* Last transaction that made it, or made or removed a child. */
    struct zk_blob *blob;   /* NULL: empty. */
    struct zk_stat stat;
};

struct zk_tree {
    struct zk_node *nodes;
    size_t count, capacity;
    uint64_t zxid; /* Last transaction applied. */
};

/* One part of a validated transaction: nothing is left to decide. */
struct zk_change {
    enum zk_write_kind kind; /* CREATE, SET or DELETE. */
    char path[ZK_PATH_MAX];
    struct zk_blob *blob;
    uint64_t owner;  /* CREATE: session, or 0. */
    int32_t version; /* SET: after it. */
};

struct zk_txn {
    uint64_t zxid, session, wall_ms;
    uint32_t references;
    bool closes_session;
    size_t count;
    struct zk_change changes[];
};

void zk_tree_init(struct zk_tree *tree);
void zk_tree_free(struct zk_tree *tree);
struct zk_node *zk_tree_find(const struct zk_tree *tree, const char *path);
/* The path's parent, "/" for top-level ones, in `parent`. */
void zk_parent_of(const char *path, char parent[static ZK_PATH_MAX]);

/*
 * Validate `writes` of `session` and apply them to the leader's tree. The transaction (one
 * reference) for the others, or NULL with the reason and the index of the part that failed; the
 * tree is then unchanged.
 */
struct zk_txn *zk_tree_prepare(struct zk_tree *tree, uint64_t session, uint64_t wall_ms,
                               const struct zk_write *writes, size_t count, enum zk_reason *reason,
                               int32_t *failed);
/* Delete every ephemeral of `session` from the leader's tree. */
struct zk_txn *zk_tree_close_session(struct zk_tree *tree, uint64_t session, uint64_t wall_ms);

/* Apply what the leader validated to another server's tree. */
void zk_tree_apply(struct zk_tree *tree, const struct zk_txn *txn);
void zk_txn_release(struct zk_txn *txn);

#endif
