/*
 * cli/run/change_writes.h: the writes that change the job of a cluster: /spec with the changed job,
 * and the entry of the history. The caller adds /run, so that all are one transaction (P15,
 * A16).
 *
 * Threads: any. Pure but for memory and the time of the entry.
 */
#ifndef CLI_RUN_CHANGE_WRITES_H
#define CLI_RUN_CHANGE_WRITES_H

#include <stdbool.h>

#include "common/cluster/run.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"
#include "common/zk/zk.h"

enum { CHANGE_WRITES = 2 };

struct change_writes {
    struct zk_write list[CHANGE_WRITES]; /* Point into the rest. */
    struct spec changed; /* The contents of /spec afterwards. `job_json` is owned. */
    char *spec_text;     /* Owned. */
    char spec_path[ZK_PATH_MAX], history_path[ZK_PATH_MAX], entry[ZNODE_JSON_MAX];
};

struct cluster_change {
    const struct job *before, *after;
    uint64_t variables_hash; /* In the order of `after`. */
    const char *text;        /* For people. */
    uint64_t step;           /* The change applies from this step on. */
    bool new_key;            /* The cluster gets another key, also with the same layout. */
};

/* The writes that change the job of the cluster whose /spec and /run were read as `spec` and `now`.
 * Another layout gives the cluster another key. The caller frees them, also after a failure.
 * TN_ENOMEM. */
MUST_CHECK enum tn_status change_writes_init(struct change_writes *writes, const struct spec *spec,
                                             const struct run *now,
                                             const struct cluster_change *change,
                                             struct error *error);
void change_writes_free(struct change_writes *writes);

#endif
