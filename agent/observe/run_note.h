/*
 * agent/observe/run_note.h: DIR/run.json, by which other programs find the cluster that runs in a
 * folder: where its ZooKeeper is, and which agent it belongs to.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef AGENT_OBSERVE_RUN_NOTE_H
#define AGENT_OBSERVE_RUN_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/ensemble/ensemble.h"
#include "common/base/error.h"
#include "common/cluster/znodes.h"

struct run_note {
    char connect[1024], cluster[CLUSTER_NAME_MAX];
    uint64_t agent_pid;
    /* The inode of the agent's network namespace, if the run has several; else 0. */
    uint64_t network;
    uint64_t cluster_made_ms; /* When its cluster was created, from /spec; 0: not yet. */
    size_t server_count;      /* The servers of its own ensemble. */
    uint32_t server_ids[ENSEMBLE_SERVERS_MAX];
    char servers[ENSEMBLE_SERVERS_MAX][ZOO_ADDRESS_MAX];
};

/* TN_ENOENT: `dir` has no run.json. TN_EIO: the file cannot be read or written. TN_ECORRUPT: it is
 * damaged, or of another version. */
MUST_CHECK enum tn_status run_note_read(const char *dir, struct run_note *out, struct error *error);
MUST_CHECK enum tn_status run_note_write(const char *dir, const struct run_note *note,
                                         struct error *error);

/* The pid of server `id` of the ensemble in `dir`; 0: unknown, or not running. */
uint64_t run_server_pid(const char *dir, uint32_t id);

#endif
