/*
 * checker/zk_tree.h: the data of one ZooKeeper server: znodes, and transactions that the leader
 * validates and every server then applies in order.
 *
 * Threads: one owner.
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
    /* For the next sequential child: the number of children ever created. */
    uint32_t next_sequence;
    uint64_t children_zxid; /* The last transaction that created it, or added or removed a child. */
    struct zk_blob *blob;   /* NULL: empty. */
    bool read_only;         /* Its ACL denies all but reading; the leader's tree only. */
    struct zk_stat stat;
};

struct zk_tree {
    struct zk_node *nodes;
    size_t count, capacity;
    uint64_t zxid; /* The last transaction applied. */
};

/* One part of a validated transaction, with its final path. */
struct zk_change {
    enum zk_write_kind kind; /* CREATE, SET or DELETE. */
    char path[ZK_PATH_MAX];
    struct zk_blob *blob;
    uint64_t owner;  /* CREATE: the session of an ephemeral znode, or 0. */
    int32_t version; /* SET: the new version. */
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
/* Write the parent of `path` into `parent`; "/" for a top-level znode. */
void zk_parent_of(const char *path, char parent[static ZK_PATH_MAX]);

/*
 * Validate `writes` of `session` and apply them to the leader's tree. Returns the transaction for
 * the other servers (one reference), or NULL with the reason and the index of the write that
 * failed; the tree is then unchanged. Session 0 is an administrator's: no ACL denies it anything.
 */
struct zk_txn *zk_tree_prepare(struct zk_tree *tree, uint64_t session, uint64_t wall_ms,
                               const struct zk_write *writes, size_t count, enum zk_reason *reason,
                               int32_t *failed);
/* Delete every ephemeral znode of `session` from the leader's tree. */
struct zk_txn *zk_tree_close_session(struct zk_tree *tree, uint64_t session, uint64_t wall_ms);

/* Apply a transaction that the leader validated to another server's tree. */
void zk_tree_apply(struct zk_tree *tree, const struct zk_txn *txn);
void zk_txn_release(struct zk_txn *txn);

#endif
