/*
 * common/node/membership.h: what all roles do alike: register in /members, follow /chief and /run,
 * and report to the chief. A part of each role's driver, not a thread; pure but for the ports.
 *
 * It logs what happens, and every 3 s what it waits for.
 *
 * Bodies of frames stay with the role: it releases the body of every NODE_TRANSPORT event that it
 * does not keep, also of those meant for the membership.
 *
 * Registration: an ephemeral /members/ROLE-INDEX. If one is there already that is not our
 * session's, it is a leftover of our predecessor (it vanishes within a session timeout, or
 * milliseconds when an agent closes the dead session) or a living node: after a session timeout and
 * 2 s more the node ends with TN_EXIT_TASK_TAKEN, naming the other.
 */
#ifndef COMMON_NODE_MEMBERSHIP_H
#define COMMON_NODE_MEMBERSHIP_H

#include "common/cluster/report.h"
#include "common/node/node.h"
#include "common/zk/mirror.h"

enum {
    REPORT_RESEND_MS = 200,   /* Until acknowledged. */
    REPORT_REFRESH_MS = 2000, /* Even when nothing changed. */
    CHIEF_REDIAL_MS = 20,     /* First; doubles up to CHIEF_REDIAL_MAX_MS. */
    CHIEF_REDIAL_MAX_MS = 500,
    REPORT_STEP_MS = 100,     /* At most this often for a step alone, unless it is the last. */
    REGISTER_GRACE_MS = 2000, /* Beyond a session timeout, for a leftover to vanish. */
    REGISTER_RETRY_MS = 200,
    WAIT_SAY_MS = 3000,
};

/* What changed, or-ed together, as answers to membership_handle(). */
enum membership_news {
    MEMBERSHIP_REGISTERED = 1, /* First registration is confirmed. */
    MEMBERSHIP_CHIEF = 2,      /* `office` is new. */
    MEMBERSHIP_RUN = 4,        /* `run` is new. */
    MEMBERSHIP_ENDED = 8,      /* `exit_code` is set: session lost, or the task is taken. */
};

struct membership {
    /* Read by the role: */
    struct node_identity identity;
    uint64_t session; /* 0 before the first ZK_CONNECTED. */
    bool registered;
    bool zk_connected;
    bool has_chief, has_run;
    struct chief_record chief;
    struct run run;      /* Last readable /run. */
    int32_t run_version; /* Znode version of it. */
    int exit_code;
    char why[RUN_TEXT_MAX]; /* What is waited for, or why it ended; for log lines. */
    /* Private: see membership.c. */
    const struct node_ports *ports;
    uint64_t next_op;
    struct mirror self_mirror, chief_mirror, run_mirror;
    uint64_t register_op;
    uint64_t taken_since_ms; /* Somebody else's registration is in our place; 0: no. */
    bool taken_asked;        /* Our patience is over: a last look is under way. */
    uint64_t register_retry_ms;
    conn_id link;
    bool link_open;
    uint64_t redial_at_ms;
    uint32_t redial_delay_ms;
    struct report report;
    bool urgent;           /* `report` changed in more than its step. */
    uint64_t sent;         /* Sequence of the last report sent on `link`. */
    uint64_t acknowledged; /* Sequence of the last report the present chief acknowledged. */
    uint64_t sent_at_ms;
    uint64_t waiting_since_ms, say_at_ms;
    uint64_t now_ms, wall_ms;
};

/* `ports` must outlive the membership. Nothing is asked before NODE_START. */
void membership_init(struct membership *m, const struct node_identity *identity,
                     const struct node_ports *ports);

/* Show it every node event, before the role looks at it. Returns a set of `enum membership_news`.
 */
unsigned membership_handle(struct membership *m, const struct node_event *event);

/* The node's present state; sent when it differs from the last one, and again as rules require.
 * `task`, `incarnation`, `sequence` and `epoch` are filled in here. Cheap: call it after every
 * event. */
void membership_report(struct membership *m, const struct report *report);

uint64_t membership_deadline_ms(const struct membership *m);

/* A new request number, for the role's own ZooKeeper requests. */
uint64_t membership_next_op(struct membership *m);

#endif
