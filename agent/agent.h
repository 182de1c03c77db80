/*
 * agent/agent.h: the parent of the nodes on one host. It starts the nodes (and the servers of a
 * local ensemble), reaps those that die, restarts them, and ends with the job. agent/supervisor.h
 * decides; this module drives it with real processes.
 *
 * When a child dies, in order of time: its pidfd wakes the loop; the requests that record its exit
 * and delete its ephemeral znodes go out over the agent's own open session (agent/node_reaper.h);
 * the child is restarted; when the deletion is answered, a thread of its own closes the dead
 * session. Nothing on that path polls or waits.
 *
 * Threads: agent_run() must be called on the main thread (agent/process.h has the reason).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/ensemble/ensemble.h"
#include "agent/ensemble/networks.h"
#include "agent/observe/observer.h"
#include "common/base/error.h"
#include "common/cluster/change_request.h"
#include "common/job/job.h"

enum agent_event_type {
    AGENT_WAITING, /* `text` names what the agent waits for, and since when. Every 3 s of a wait. */
    AGENT_CONNECTED, /* ZooKeeper answers. */
    AGENT_DISCONNECTED,
    AGENT_SETTLED,     /* The observer has reported all that existed at the start. */
    AGENT_RUN,         /* observer->run has changed. */
    AGENT_HISTORY,     /* observer->entry is the next entry. */
    AGENT_CHILD_DIED,  /* `text`: "ps:1 (pid 123): signal 9 (Killed); restarting". */
    AGENT_UNREACHABLE, /* `text`: "ps:0 on alpha registered tcp://127.0.0.1:4000, ...". */
    AGENT_SPARE,       /* `text`: "worker:0 is held by pid 7 on alpha at ...". */
    AGENT_SIGNAL_SENT, /* `text`: "SIGKILL sent to ps:1 (pid 123), requested by pid 7 on alpha". */
    AGENT_DRAINING,    /* `text`: "leaving as soon as no step is lost, within 25 s". */
    AGENT_CHANGING,    /* `text`: what happens to a request to change the job. */
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
    const char *job_file;     /* For the nodes: the job with flags and environment applied. */
    const char *connect;      /* ZooKeeper. */
    const char *credentials;  /* NULL: none. Nodes get them in their environment. */
    char *const *environment; /* More for nodes: "NAME=VALUE", NULL-terminated; read at a start. */
    const char *listen_host;  /* Nodes listen on it, each on a port of its own: "127.0.0.1". */
    const struct networks *networks; /* For the children; NULL or empty: the agent's, for all. */
    const struct ensemble *ensemble; /* Servers to run as well; NULL: none. */
    const struct task *tasks;
    uint32_t task_count;
    const char *log_format, *log_level; /* Passed to the nodes; NULL: defaults. */
    uint64_t log_bytes;                 /* A log of a child is rotated before it becomes larger. */
    bool many_hosts;   /* Others run the other tasks: wait as a spare for those that they hold (S9),
                        * and check that all hosts can reach each other (R9). */
    bool allow_chaos;  /* Carry out the requests in /kills to signal a node. */
    uint32_t drain_ms; /* After a signal, the nodes have this long to leave without loss. */
    uint32_t connect_timeout_ms; /* For the first answer of ZooKeeper. */
    /* Called once ZooKeeper answers, after the sessions of a former agent in `dir` were closed:
     * create or check the cluster. Nodes start when it returns TN_OK. Called again after
     * TN_ECONNECT, TN_ETIMEDOUT and TN_EEXPIRED, within connect_timeout_ms, and after TN_EAGAIN,
     * for as long as it returns it. May block for a bounded time. */
    enum tn_status (*prepare)(void *ctx, struct error *error);
    /* Called after the agent's session was lost and a new one is connected: the servers may have
     * lost their data, so create the missing znodes of the cluster again, with the same key. Blocks
     * for a few seconds at most. It is called again after TN_ECONNECT, TN_ETIMEDOUT and
     * TN_EEXPIRED; any other failure stops the agent. */
    enum tn_status (*restore)(void *ctx, struct error *error);
    /* S14: whether the job can be changed as requested, `run` being /run; `text` names the change.
     * NULL: no change while it runs. May block for a bounded time. */
    enum tn_status (*check_change)(void *ctx, const struct change_request *request,
                                   const struct run *run, char text[static CHANGE_TEXT_MAX],
                                   struct error *error);
    /* No node runs: change the job, in ZooKeeper and `*job`. `*generation` is that of /run before.
     * Called again after TN_EEXIST, TN_EREFUSED, and after TN_ECONNECT, TN_ETIMEDOUT, TN_EEXPIRED,
     * which may have changed it; after any other failure nothing was changed. Blocks for a few
     * seconds at most. */
    enum tn_status (*apply_change)(void *ctx, const struct change_request *request,
                                   uint64_t *generation, struct error *error);
    void (*notify)(void *ctx, const struct agent_event *event);
    void *ctx;
};

struct agent_result {
    int signal;     /* The signal that asked the agent to leave; 0: none. */
    bool drained;   /* The nodes left such that no step is lost. */
    bool job_ended; /* /run has been done or failed: see `run`. */
    bool has_run;
    struct run run; /* Last seen. */
};

/*
 * Run the agent. Returns when none of its children runs any longer, also after a failure.
 *
 *   TN_OK          the job ended, or a signal arrived: see `*result`
 *   TN_ECONNECT    ZooKeeper did not answer within connect_timeout_ms
 *   TN_EUNHEALTHY  a child failed and a restart cannot help; the error names it and its log
 *   others         the failure of `prepare` or `restore`, or TN_EIO, TN_ENOMEM at the start
 */
MUST_CHECK enum tn_status agent_run(const struct agent_config *config, struct agent_result *result,
                                    struct error *error);

#endif
