/*
 * checker/txn_log.h: reads the transactions that a real ZooKeeper server logged from its own log
 * files (dataDir/version-2/log.*): an exact trace of a run.
 *
 * Format: ZooKeeper 3.8's FileTxnLog, with records in its jute encoding (zookeeper.jute):
 * big-endian numbers; buffers and texts preceded by their length.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CHECKER_TXN_LOG_H
#define CHECKER_TXN_LOG_H

#include "checker/zk_tree.h"

enum { TXN_CHECKS_MAX = 4 };

/* One committed transaction; `txn` and the paths of its checks are borrowed for the call. */
struct txn_log_entry {
    struct zk_txn *txn; /* Its changes; none if it opens a session. */
    size_t check_count;
    char checks[TXN_CHECKS_MAX][ZK_PATH_MAX]; /* The znodes whose versions it checked. */
};

typedef void (*txn_log_visit)(void *ctx, const struct txn_log_entry *entry);

/*
 * Visit every transaction of one log file in order, up to the last complete record (a kill may
 * leave an incomplete one). Returns the number visited. -1: the file cannot be read, with the cause
 * in errno, or it is not a transaction log, with errno 0.
 */
long txn_log_read(const char *path, txn_log_visit visit, void *ctx);

#endif
