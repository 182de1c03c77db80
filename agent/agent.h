/*
 * agent/agent.h: the parent of the nodes on one host: it starts them (and the servers of a local
 * ensemble), sees them die, tells the cluster at once, starts them again, and ends with the job.
 * Decisions are agent/supervisor.h's; this drives them with real processes.
 *
 * A child's death, in order of time: the pidfd wakes the loop; over the agent's own, open ZooKeeper
 * session go out the exit note and the removal of the dead one's ephemeral znodes (only what its
 * session owns); the child is started again; when the removal is answered, its session is closed on
 * a thread of its own. Nothing on that path polls or waits.
 *
 * Threads: agent_run() must be called on the main thread (the parent-death signal follows it).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/ensemble/ensemble.h"
#include "agent/ensemble/networks.h"
#include "agent/observe/observer.h"
#include "common/base/error.h"
#include "common/cluster/job.h"

enum agent_event_type {
    AGENT_WAITING,   /* `text` says for what, whom, since when. Every 3 s of a wait. */
    AGENT_CONNECTED, /* ZooKeeper answers. */
    AGENT_DISCONNECTED,
    AGENT_SETTLED,     /* The observer has told all that was there. */
    AGENT_RUN,         /* observer->run is new. */
    AGENT_HISTORY,     /* observer->entry is the next one. */
    AGENT_CHILD_DIED,  /* `text`: "ps:1 (pid 123): signal 9 (Killed); starting it again". */
    AGENT_SIGNAL_SENT, /* `text`: "SIGKILL to ps:1 (pid 123), ordered by pid 7 on alpha". */
    AGENT_TICK,        /* About twice a second. */
};

struct agent_event {
    enum agent_event_type type;
    uint64_t now_ms;
    const char *text;
    const struct observer *observer; /* Borrowed. NULL before the nodes start. */
};

struct agent_config {
    const struct job *job;
    const char *dir;          /* logs/ and sessions/ are made in it. */
    const char *job_file;     /* What the nodes read: flags and environment applied. */
    const char *connect;      /* ZooKeeper. */
    const char *credentials;  /* NULL: none. Given to nodes by the environment. */
    char *const *environment; /* More for nodes, "NAME=VALUE", NULL-ended: read when they start. */
    const char *listen_host;  /* Nodes listen there, each on a port of its own: "127.0.0.1". */
    const struct networks *networks; /* Of the children; NULL or empty: ours, for all of them. */
    const struct ensemble *ensemble; /* Servers to run as well; NULL: none. */
    const struct task *tasks;
    uint32_t task_count;
    bool allow_chaos;            /* Obey orders in /kills to signal our nodes. */
    uint32_t connect_timeout_ms; /* For ZooKeeper to answer at first. */
    /* Called once ZooKeeper answers, after sessions of a former agent in `dir` were closed: make or
     * check the cluster. Nodes start when it returns TN_OK. May block for a bounded time. */
    enum tn_status (*prepare)(void *ctx, struct error *error);
    /* Called whenever our session was lost and another is connected: the servers may have lost
     * their data, so make again what is missing of the cluster, with the same key. Blocks for a few
     * seconds at most. TN_ECONNECT, TN_ETIMEDOUT, TN_EEXPIRED: it is called again; other failures
     * end all. */
    enum tn_status (*restore)(void *ctx, struct error *error);
    void (*notify)(void *ctx, const struct agent_event *news);
    void *ctx;
};

struct agent_result {
    int signal;     /* We were asked to leave by it; 0: no. */
    bool job_ended; /* /run said done or failed: see `run`. */
    bool has_run;
    struct run run; /* Last seen. */
};

/*
 * Do all of it. Returns when nothing of it runs any more, whatever happened.
 *
 *   TN_OK          the job ended, or a signal came: see `*result`
 *   TN_ECONNECT    ZooKeeper did not answer within connect_timeout_ms
 *   TN_EUNHEALTHY  a child failed beyond mending; the error names it and its log
 *   others         what `prepare` returned, or TN_EIO, TN_ENOMEM at start
 */
MUST_CHECK enum tn_status agent_run(const struct agent_config *config, struct agent_result *result,
                                    struct error *error);

#endif
