/*
 * checker/ensemble_log.h: what one life of an ensemble committed, merged from the transaction logs
 * of all its servers (one that was down misses some, one that came late has a snapshot instead).
 *
 * A proposal that only a deposed leader logged, and that nobody ever heard of again, was not
 * committed: it is left out. Threads: any, one owner. Blocking: on the disk.
 */
#ifndef CHECKER_ENSEMBLE_LOG_H
#define CHECKER_ENSEMBLE_LOG_H

#include <stdint.h>

#include "checker/txn_log.h"
#include "common/base/error.h"

enum { ENSEMBLE_SERVERS_MAX = 15 };

struct ensemble_log {
    size_t count;
    struct txn_log_entry *entries; /* In the order of their zxid; each once. Owned. */
    uint32_t servers;              /* Whose logs were read. */
    uint64_t missing;   /* Numbers of transactions that no log has: purged, or on a lost disk. */
    uint64_t abandoned; /* Proposals left out. */
};

/*
 * Read DIR/1/data/version-2/log.*, DIR/2/... A file that ends in the middle of a record ends there.
 * On success free with ensemble_log_free(), also one without servers (nothing was logged yet).
 *
 *   TN_ENOENT    there is no folder `dir`
 *   TN_EIO       a log cannot be read
 *   TN_ECORRUPT  a log.* that is no transaction log
 */
MUST_CHECK enum tn_status ensemble_log_read(const char *dir, struct ensemble_log *out,
                                            struct error *error);
void ensemble_log_free(struct ensemble_log *log);

#endif
