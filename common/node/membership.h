/*
 * common/node/membership.h: the part that all roles share: register in /members, follow /chief and
 * /run, and report to the chief (R1 to R7). A part of each role's driver, not a thread; pure but
 * for the ports.
 *
 * It logs changes, and every 3 s what it waits for.
 *
 * The role owns the bodies of frames: it releases the body of every NODE_TRANSPORT event that it
 * does not keep, also of frames for the membership.
 *
 * Registration is an ephemeral /members/ROLE-INDEX. If it exists already and belongs to another
 * session, it is either a leftover of a former process, which disappears within a session timeout
 * (within milliseconds if an agent closes the dead session), or of a running node. After a session
 * timeout and 2 s more the node ends with TN_EXIT_TASK_TAKEN and names the other.
 */
#ifndef COMMON_NODE_MEMBERSHIP_H
#define COMMON_NODE_MEMBERSHIP_H

#include "common/cluster/report.h"
#include "common/node/node.h"
#include "common/zk/znode_watch.h"

enum {
    REPORT_RESEND_MS = 200,   /* Until acknowledged. */
    REPORT_REFRESH_MS = 2000, /* Even when nothing changed. */
    CHIEF_REDIAL_MS = 20,     /* First; doubles up to CHIEF_REDIAL_MAX_MS. */
    CHIEF_REDIAL_MAX_MS = 500,
    REPORT_STEP_MS = 100,     /* At most this often for a step alone, unless it is the last. */
    REGISTER_GRACE_MS = 2000, /* Beyond a session timeout, for a leftover to vanish. */
    REGISTER_RETRY_MS = 200,
    WAIT_LOG_MS = 3000,
};

/* A set of them is returned by membership_handle(). */
enum membership_change {
    MEMBERSHIP_REGISTERED = 1,  /* The first registration is confirmed. */
    MEMBERSHIP_CHIEF = 2,       /* `chief` is new. */
    MEMBERSHIP_RUN = 4,         /* `run` is new. */
    MEMBERSHIP_ENDED = 8,       /* `exit_code` is set: session lost, or the task is taken. */
    MEMBERSHIP_CHIEF_LOST = 16, /* /chief does not exist, is empty or unreadable. */
    MEMBERSHIP_RUN_LOST = 32,   /* /run does not exist, or is unreadable. */
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
    int32_t run_version; /* The version of its znode. */
    /* The transaction that wrote it, because versions begin again after a wipe. */
    uint64_t run_zxid;
    int exit_code;
    char why[RUN_TEXT_MAX]; /* The reason for waiting, or for the end; for the log. */
    /* Private: see membership.c. */
    const struct node_ports *ports;
    uint64_t next_op;
    struct znode_watch self_watch, chief_watch, run_watch;
    uint64_t register_op;    /* A write of the registration in progress; 0: none. */
    bool replaces;           /* It deletes and creates the znode. */
    uint64_t taken_since_ms; /* Since when another process holds our task; 0: none does. */
    bool taken_rechecked;    /* The grace period has ended; a last read is under way. */
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
    uint64_t waiting_since_ms, next_log_ms;
    uint64_t since_wall_ms;           /* The time of the registration. */
    char problem[MEMBER_PROBLEM_MAX]; /* As registered; "": none. */
    uint64_t problem_log_ms;          /* When to log it next. */
    uint64_t now_ms, wall_ms;
};

/* `ports` must outlive the membership. Nothing is sent before NODE_START. */
void membership_init(struct membership *m, const struct node_identity *identity,
                     const struct node_ports *ports);

/* Call it with every node event, before the role handles it. Returns a set of `enum
 * membership_change`. */
unsigned membership_handle(struct membership *m, const struct node_event *event);

/* Pass the node's present state, after every event; it is sent when it differs from the last
 * report, and repeated until it is acknowledged. `task`, `incarnation`, `sequence` and `epoch` are
 * filled in. */
void membership_report(struct membership *m, struct report *report);

/* Set the reason why this node cannot work, with the remedy; "": none. It is logged at once and
 * every 3 s, and shown by `tanist status` and `tanist watch`. */
void membership_set_problem(struct membership *m, const char *text);

uint64_t membership_deadline_ms(const struct membership *m);

/* A new request number, for the role's own ZooKeeper requests. */
uint64_t membership_next_op(struct membership *m);

#endif
