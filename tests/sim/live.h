/*
 * tests/sim/live.h: changes of the job while it runs (S14, P16). The agent's half has the code of
 * agent/job_change.h, agent/supervisor.h, agent/observe and cli/run/live_plan.h over a session of
 * its own; only the loop that connects them, that of agent/agent_change.c, is written again. The
 * commands that ask for changes are operators on another host.
 */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H

#include "agent/job_change.h"
#include "agent/observe/observer.h"
#include "checker/zk_tree.h"
#include "cli/run/live_plan.h"
#include "tests/sim/zk_model.h"

struct sim_cluster;

enum { SIM_AUTHORS_MAX = 9 };

/* The state of the agent. */
struct sim_changer {
    struct zk_client *zk; /* NULL: no agent runs, or the setup has no live changes. */
    struct zk_port port;
    bool connected, observing;
    struct job_change core;
    struct observer observer;
    /* The transaction, one request after the other. */
    enum { APPLY_IDLE, APPLY_SPEC, APPLY_RUN, APPLY_MEMBERS, APPLY_ELECTION, APPLY_WRITE } apply;
    uint64_t op; /* The request in flight; the next one has the next number. */
    struct live_view view;
    struct live_writes writes;
    struct job wanted;
    uint64_t starts; /* The number of starts of this half. */
};

/* A command that asks for a change. */
struct sim_author {
    struct sim_cluster *cluster;
    struct zk_client *zk;
    struct zk_port port;
    char path[ZK_PATH_MAX];
    struct change_request request;
    bool killed;
    uint64_t asked_ms, op;
    int32_t version;
    enum {
        AUTHOR_CREATES,
        AUTHOR_READS_OTHER, /* A request exists. */
        AUTHOR_REMOVES,     /* One that was answered. */
        AUTHOR_WAITS,
        AUTHOR_WITHDRAWS,
        AUTHOR_OVER
    } stage;
    enum { RESULT_NONE, RESULT_DONE, RESULT_REFUSED, RESULT_WITHDRAWN, RESULT_BUSY } result;
};

struct sim_live {
    struct sim_changer changer;
    uint32_t author_count;
    struct sim_author authors[SIM_AUTHORS_MAX];
    uint32_t agents_lost; /* With their half of changes. */
    uint32_t resumes;     /* Requests of operators to resume. */
    uint32_t unpaused;    /* Pauses that these requests ended. */
    uint32_t workers;     /* The number in the last request to scale; 0: none was made. */
    uint64_t scaled_ms;   /* The time of that request. */
    bool is_paused;
    bool to_group; /* The last change that was written is one to groups. */
};

/* The agent starts or dies. */
void sim_changer_start(struct sim_cluster *cluster);
void sim_changer_stop(struct sim_cluster *cluster);
/* The answer to DO_CHANGE. */
void sim_changer_nodes_left(struct sim_cluster *cluster);

/* A command asks for `ps`, with the borders that sim_rows_borders() draws. `dies_ms`: it is killed
 * after this time; 0: it is not. */
void sim_author_start(struct sim_cluster *cluster, uint32_t ps, uint32_t borders, uint64_t dies_ms);

/* A command asks for groups with `ps`. */
void sim_author_start_groups(struct sim_cluster *cluster, uint32_t ps);

/* A command asks for another fixed number of workers. */
void sim_author_start_workers(struct sim_cluster *cluster, uint32_t workers);

/* Follows the transactions: when the job is changed, nodes that start then have the new one. */
void sim_live_on_txn(struct sim_cluster *cluster, const struct zk_txn *txn);

#endif
