/*
 * checker/ensemble_log.h: the transactions that an ensemble committed, merged from the transaction
 * logs of all its servers. No log need be complete: a server that was down misses transactions, and
 * one that joined late has a snapshot in their place.
 *
 * A proposal that only a deposed leader logged, and that no other server ever got, was not
 * committed and is left out.
 *
 * Threads: any, one owner. Blocking: on the disk.
 */
#ifndef CHECKER_ENSEMBLE_LOG_H
#define CHECKER_ENSEMBLE_LOG_H

#include <stdint.h>

#include "checker/txn_log.h"
#include "common/base/error.h"

enum { ENSEMBLE_SERVERS_MAX = 15 };

struct ensemble_log {
    size_t count;
    struct txn_log_entry *entries; /* In ascending order of zxid, each once. Owned. */
    uint32_t servers;              /* The number of servers whose logs were read. */
    uint64_t missing;              /* Transactions that no log has: purged, or on a lost disk. */
    uint64_t abandoned;            /* Proposals left out. */
};

/*
 * Read DIR/1/data/version-2/log.*, DIR/2/... A file is read up to its last complete record. Free
 * the result with ensemble_log_free(), also if it is empty because nothing was logged yet.
 *
 *   TN_ENOENT    the folder `dir` does not exist
 *   TN_EIO       a log cannot be read
 *   TN_ECORRUPT  a file log.* is not a transaction log
 */
MUST_CHECK enum tn_status ensemble_log_read(const char *dir, struct ensemble_log *out,
                                            struct error *error);
void ensemble_log_free(struct ensemble_log *log);

#endif
