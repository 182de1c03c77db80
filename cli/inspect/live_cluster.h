/*
 * cli/inspect/live_cluster.h: a cluster that a command goes on looking at: the ZooKeeper session
 * and the observer over it, begun again after the session expired, and following a run's folder to
 * another ZooKeeper. What `tanist watch` and `tanist top` share.
 *
 * Threads: the main thread. Blocking: live_cluster_open() until ZooKeeper answers, at most as long
 * as the target says; live_cluster_tick() up to half a second while a folder's new run is found.
 */
#ifndef CLI_INSPECT_LIVE_CLUSTER_H
#define CLI_INSPECT_LIVE_CLUSTER_H

#include "agent/observe/observer.h"
#include "cli/target.h"
#include "common/cluster/job.h"
#include "common/zk/zk_inbox.h"

enum { LIVE_CLUSTER_AWAY_SAY_MS = 3000 }; /* An absence as long as that is worth a word. */

enum live_cluster_news {
    LIVE_CLUSTER_LOST = 1,  /* ZooKeeper is away. */
    LIVE_CLUSTER_BACK = 2,  /* It is there, at first or again. */
    LIVE_CLUSTER_ENDED = 4, /* The run is done or failed, and all of its history has been told. */
};

struct live_cluster {
    struct target target;
    struct spec spec;          /* job_json is NULL. */
    struct job job;            /* As the cluster was made for. */
    struct observer *observer; /* Owned. */
    bool connected;
    uint64_t away_since_ms; /* While not connected. */
    /* Private: */
    struct zk *zk;
    struct zk_port port;
    struct zk_inbox *inbox;
    uint64_t say_at_ms, look_at_ms;
    uint64_t cluster_made_ms; /* As run.json says; 0: not known. */
};

/* Find the cluster that `given` means and begin. `live` is zeroed before. Errors: those of
 * target_find() and target_open(), TN_ENOMEM. live_cluster_close() is due in any case. */
MUST_CHECK enum tn_status live_cluster_open(struct live_cluster *live,
                                            const struct target_options *given,
                                            struct error *error);
void live_cluster_close(struct live_cluster *live);

/* What came of one event: sets of `enum live_cluster_news` and `enum observer_change`. */
struct live_cluster_heard {
    unsigned live, observer;
    bool settled_before; /* The observer had told all that was there at the start. */
};

/* Handle the oldest event. False: none has arrived. A session that expired is begun again; when
 * that fails `*status` says why, and the command is over. */
bool live_cluster_hear(struct live_cluster *live, struct live_cluster_heard *heard,
                       enum tn_status *status, struct error *error);

/* Call it after each wait. True: another run has taken the folder over: its state is told anew. */
bool live_cluster_tick(struct live_cluster *live);

/* After an absence of LIVE_CLUSTER_AWAY_SAY_MS, and each as long again: true, and a sentence for
 * people. */
bool live_cluster_says_away(struct live_cluster *live, char *text, size_t size);

/* For poll(): readable when there is something to hear; milliseconds to wait, -1: without end. */
int live_cluster_fd(const struct live_cluster *live);
int live_cluster_timeout_ms(const struct live_cluster *live);

/* A signalfd for SIGINT and SIGTERM, which are blocked from then on, so that Ctrl-C is an event:
 * call it before there is any thread. TN_EIO. */
MUST_CHECK enum tn_status live_cluster_signals(int *out, struct error *error);

#endif
