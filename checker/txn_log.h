/*
 * checker/txn_log.h: the transactions that a real ensemble committed, read from a server's own
 * log files (dataDir/version-2/log.*): an exact trace of a real run, to be judged by the checker of
 * the simulated ones.
 *
 * Format: ZooKeeper 3.8's FileTxnLog, records in its jute encoding (zookeeper.jute): big-endian
 * numbers, buffers and texts preceded by their length.
 */
#ifndef CHECKER_TXN_LOG_H
#define CHECKER_TXN_LOG_H

#include "checker/zk_tree.h"

enum { TXN_CHECKS_MAX = 4 };

/* One committed transaction; `txn` and the paths of its checks are borrowed for the call. */
struct txn_log_entry {
    struct zk_txn *txn; /* Its changes; none of a session that begins. */
    size_t check_count;
    char checks[TXN_CHECKS_MAX][ZK_PATH_MAX]; /* What it was conditional on. */
};

typedef void (*txn_log_visit)(void *ctx, const struct txn_log_entry *entry);

/*
 * Visit every transaction of one log file in order. Returns the number visited; a file that ends in
 * the middle of a record, as after a kill, ends there. -1: it cannot be read or is no log; errno
 * says why, 0 for the latter.
 */
long txn_log_read(const char *path, txn_log_visit visit, void *ctx);

#endif
