/*
 * agent/job_change.h: the request to change the job while it runs (S14), as the agent that carries
 * it out sees it: which request it answers, its progress, and what its znode is to contain. Pure
 * but for the port.
 *
 *     IDLE ─► ANSWERING ─► STOPPING ─► APPLYING ─► STARTING ─► IDLE
 *
 * Every state but IDLE may return to IDLE by job_change_refuse(). The author may have given up
 * meanwhile: then the znode is missing, and nothing is written.
 *
 * Threads: the owner's only.
 */
#ifndef AGENT_JOB_CHANGE_H
#define AGENT_JOB_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/change_request.h"
#include "common/zk/znode_watch.h"

/* ZooKeeper ends sessions only at its ticks, and while it elects a leader it ends none. */
enum { JOB_CHANGE_MARGIN_MS = 16000 };

enum job_change_order {
    JOB_CHANGE_NOTHING,
    JOB_CHANGE_CHECK, /* `request` is new: call job_change_accept() or job_change_refuse(). */
    JOB_CHANGE_BEGIN, /* The acceptance is in ZooKeeper: let the nodes leave. */
};

struct job_change {
    struct znode_watch watch;
    uint64_t next_op, write_op; /* write_op: the newest write. */
    uint64_t agent;             /* This agent's incarnation. */
    enum {
        JOB_CHANGE_IDLE,
        JOB_CHANGE_ANSWERING, /* Accepted, not confirmed by ZooKeeper. */
        JOB_CHANGE_STOPPING,  /* The nodes leave. */
        JOB_CHANGE_APPLYING,  /* No node runs. */
        JOB_CHANGE_STARTING,  /* The nodes of the changed job start. */
    } stage;
    struct change_request request; /* The wanted contents of the znode. */
    uint64_t created_zxid;         /* Identifies it; 0: there was none. */
    int32_t version;               /* The version of the znode when it was last read. */
    uint64_t generation;           /* STARTING: that of /run before the change. */
    uint64_t retry_at_ms;          /* APPLYING; the owner's. */
    uint64_t give_up_ms;           /* APPLYING: until then a registered node is waited for. */
    bool delay_reported;           /* APPLYING; the owner's. */
};

/* Follow the requests. `agent` is a random number. It uses request numbers from `next_op` to
 * next_op + 2^32. */
void job_change_start(struct job_change *change, const char *cluster, uint64_t agent,
                      uint64_t next_op, const struct zk_port *zk, uint64_t now_ms);
/* Continue with a new session, in which all znodes are read again. */
void job_change_restart(struct job_change *change, const struct zk_port *zk, uint64_t now_ms);

/* Pass every ZooKeeper event. */
enum job_change_order job_change_handle(struct job_change *change, const struct zk_event *event,
                                        const struct zk_port *zk, uint64_t now_ms);

/* Answers to JOB_CHANGE_CHECK, and the later reports. `text` is cut to fit. The reason of a refusal
 * is TN_EINVAL, the job can never be changed so, or TN_EUNHEALTHY, it cannot now. */
void job_change_accept(struct job_change *change, const char *text, const struct zk_port *zk);
void job_change_refuse(struct job_change *change, enum tn_status reason, const char *text,
                       const struct zk_port *zk);
/* STOPPING -> APPLYING. A node that was killed and whose session was not closed is registered for
 * `session_timeout_ms`, that of the job, after it died. `give_up_ms` is JOB_CHANGE_MARGIN_MS
 * later. */
void job_change_stopped(struct job_change *change, uint64_t now_ms, uint32_t session_timeout_ms);
/* APPLYING -> STARTING. `generation` is that of /run before. */
void job_change_applied(struct job_change *change, uint64_t generation, const struct zk_port *zk);
/* STARTING -> IDLE, if `entry` is the end of the pause. True: it is. */
bool job_change_note(struct job_change *change, const struct history_entry *entry,
                     const struct zk_port *zk);

#endif
