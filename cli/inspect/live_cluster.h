/*
 * cli/inspect/live_cluster.h: a cluster that `tanist watch` or `tanist top` observes: the ZooKeeper
 * session and the observer that uses it. After the session has expired both begin again. With --dir
 * they follow the run of the folder to another ZooKeeper.
 *
 * Threads: the main thread. Blocking: live_cluster_open() until ZooKeeper answers, at most as long
 * as the target allows; live_cluster_tick() up to half a second while it connects to a new run.
 */
#ifndef CLI_INSPECT_LIVE_CLUSTER_H
#define CLI_INSPECT_LIVE_CLUSTER_H

#include "agent/observe/observer.h"
#include "cli/target.h"
#include "cli/wait_notice.h"
#include "common/job/job.h"
#include "common/zk/zk_inbox.h"

enum live_cluster_change {
    LIVE_CLUSTER_DISCONNECTED = 1, /* The connection to ZooKeeper is lost. */
    LIVE_CLUSTER_RECONNECTED = 2,  /* The connection is back, perhaps with a new session. */
    LIVE_CLUSTER_ENDED = 4, /* The run is done or failed, and all its history was reported. */
};

struct live_cluster {
    struct target target;
    struct spec spec;          /* job_json is NULL. */
    struct job job;            /* That the cluster was created for. */
    struct observer *observer; /* Owned. */
    bool connected;
    /* Private: */
    bool lost; /* The connection, since it was established. */
    struct zk *zk;
    struct zk_port port;
    struct zk_inbox *inbox;
    struct wait_notice disconnected; /* Since when; while not connected. */
    uint64_t look_at_ms;             /* When to read run.json again. */
    uint64_t cluster_made_ms;        /* As in run.json; 0: unknown. */
};

/* Find the cluster of the options and begin to observe it. `live` is all zero before. Errors: those
 * of target_find() and target_open(), TN_ENOMEM. Call live_cluster_close() in any case. */
MUST_CHECK enum tn_status live_cluster_open(struct live_cluster *live,
                                            const struct target_options *given,
                                            struct error *error);
void live_cluster_close(struct live_cluster *live);

/* The changes that an event has caused. */
struct live_cluster_changes {
    unsigned live;       /* A set of `enum live_cluster_change`. */
    unsigned observer;   /* A set of `enum observer_change`. */
    bool settled_before; /* The observer had already reported the initial state. */
};

/* Handle the oldest event. False: none is left. A session that has expired is opened again; if
 * that fails, `*status` is the error, and the command ends. */
bool live_cluster_next(struct live_cluster *live, struct live_cluster_changes *changes,
                       enum tn_status *status, struct error *error);

/* Call it after each wait. True: the folder has another run now; its state is reported again. */
bool live_cluster_tick(struct live_cluster *live);

/* True after every 3 s without a connection, with a message for people. */
bool live_cluster_wait_message(struct live_cluster *live, char *text, size_t size);

/* How long there has been no connection; 0 while connected. */
uint64_t live_cluster_disconnected_ms(const struct live_cluster *live);

/* For poll(): readable when an event waits; milliseconds to wait, -1: without limit. */
int live_cluster_fd(const struct live_cluster *live);
int live_cluster_timeout_ms(const struct live_cluster *live);

/* A signalfd for SIGINT and SIGTERM, which are blocked from then on, so that Ctrl-C is an event.
 * Call it before any thread is started. TN_EIO. */
MUST_CHECK enum tn_status live_cluster_signals(int *out, struct error *error);

#endif
