/* coordinator/coordinator_private.h: shared by the coordinator_*.c files; no other file includes
 * it.
 */
#ifndef COORDINATOR_COORDINATOR_PRIVATE_H
#define COORDINATOR_COORDINATOR_PRIVATE_H

#include "common/cluster/roster.h"
#include "common/node/membership.h"
#include "coordinator/coordinator.h"
#include "coordinator/election.h"

enum {
    LEADERSHIP_RETRY_MS = 50,
    LOOK_AGAIN_MS = 3000, /* C15: whether what was missing exists now. */
    TRIM_EVERY = 64,
    KEPT_MANIFESTS = CHIEF_CHECKPOINTS_MAX + CHIEF_DELETE_MAX,
};

/* The contents of a znode, to be restored if another program deletes it (C15). */
struct kept_text {
    uint64_t id; /* The checkpoint; 0: none, or not a manifest. */
    char *text;  /* Owned. */
    size_t size;
};

/* The way to write a znode, which may be missing, or whose ACL may forbid a change. */
enum write_form { WRITE_SET, WRITE_CREATE, WRITE_REPLACE };

/* A task of the roster, as last reported to the chief. */
struct reported_task {
    bool known, present;
    uint64_t incarnation;
    uint64_t note_op; /* Its exit note is being read; 0: no. */
};

enum leadership_stage {
    LEADERSHIP_NONE,     /* Not the chief. */
    LEADERSHIP_READING,  /* Elected; reading /run, /assignment and the checkpoints. */
    LEADERSHIP_ACTIVE,   /* The chief decides. */
    LEADERSHIP_RESIGNING /* Writing the exit note; then the process ends. */
};

/* The state that a new chief reads. */
struct leadership_reading {
    uint64_t run_op, assignment_op, list_op, spec_op; /* 0: answered. */
    bool has_run, has_assignment;
    bool run_lost;          /* /run cannot be read: `run`, if any, is the copy that this process
                             * remembers. */
    struct error run_error; /* Why. */
    struct run run;
    struct assignment assignment;
    uint32_t expected, answered; /* Manifests. */
    uint64_t first_op;           /* The first of their reads; the numbers are consecutive. */
    uint32_t found;
    struct chief_checkpoint checkpoints[CHIEF_CHECKPOINTS_MAX];
};

/* The chief's transaction in flight, or the read that shows whether it was applied. */
struct writing {
    uint64_t zk_op; /* 0: none. */
    uint64_t chief_op;
    bool raises; /* The write in flight raises the epoch in /chief. */
    bool reads;  /* `zk_op` is the read. */
    enum chief_outcome outcome;
    const struct chief_write *write;
    /* Their places in the transaction; -1: not in it. */
    int32_t run_at, assignment_at, request_at, manifest_at, history_at;
};

struct coordinator {
    struct coordinator_config config;
    struct node_identity identity;
    const struct node_ports *ports;
    uint64_t now_ms, wall_ms;
    bool finished;
    int exit_code;
    struct membership membership;
    bool roster_started;
    struct roster roster;
    struct reported_task reported[TASKS_MAX];
    struct chief chief;

    /* Election. */
    struct election election;
    uint64_t election_zk_op, election_op; /* The request in flight: its number, the core's. */
    enum election_action_type election_asked;
    char watched[ZK_PATH_MAX];  /* The predecessor's path. */
    uint64_t cause_op;          /* The former chief's exit note is being read; 0: no. */
    char cause[RUN_TEXT_MAX];   /* Why the former chief ended; "": unknown. */
    struct chief_record record; /* /chief, as we wrote it. */

    /* Leadership. */
    enum leadership_stage stage;
    int32_t fence;               /* Version of /chief. */
    char candidate[ZK_PATH_MAX]; /* Our znode in /election, the other part of the fence (C1). */
    enum write_form run_form, assignment_form;
    int32_t run_version;
    uint64_t took_ms;
    struct leadership_reading reading;
    uint64_t retry_at_ms; /* When to repeat a new chief's reads, or the read after a write. */
    struct writing writing;
    struct znode_watch requests;
    uint64_t request_op; /* The request is being read or deleted; 0: neither. */
    bool request_drops;  /* It is being deleted, without being granted. */
    uint64_t request_id;
    char request_name[ZK_PATH_MAX];   /* The request being read, granted or deleted; "": none. */
    char request_passed[ZK_PATH_MAX]; /* This one and those before it are passed over; "": none. */
    uint64_t trim_op;
    uint32_t entries_until_trim;
    uint64_t leave_op;

    /* C15. */
    struct znode_watch root, assignment, checkpoints;
    struct kept_text spec, manifests[KEPT_MANIFESTS];
    uint64_t restore_op;    /* The last creation of a znode that was missing. */
    bool restore_denied;    /* An ACL forbids one. */
    uint64_t look_again_ms; /* When to list the folders again. */

    /* Texts of one transaction. */
    char run_text[ZNODE_JSON_MAX], assignment_text[ZNODE_JSON_MAX];
    char history_text[CHIEF_HISTORY_MAX][ZNODE_JSON_MAX];
};

/* coordinator.c */
void coordinator_finish(struct coordinator *c, int exit_code);
uint64_t coordinator_read(struct coordinator *c, const char *rest, bool watch);
/* Pass an event to the chief (the time is filled in) and carry out its actions. */
void coordinator_decide(struct coordinator *c, struct chief_event event);

/* coordinator_requests.c: requests of operators. */
void requests_start(struct coordinator *c);
/* The request that was read last was granted, no longer exists, or was passed over. */
void requests_next(struct coordinator *c);
/* The request that was read last is not considered again until /requests changes. Then call
 * requests_next(). */
void requests_pass_over(struct coordinator *c, const char *why);
void requests_handle(struct coordinator *c, const struct zk_event *event);
void requests_tick(struct coordinator *c);
uint64_t requests_deadline_ms(const struct coordinator *c);

/* coordinator_restore.c: C15. */
/* Takes a copy; `size` 0: nothing is kept. */
void kept_text_set(struct kept_text *kept, uint64_t id, const void *data, size_t size);
void restore_keep_manifest(struct coordinator *c, uint64_t id, const void *data, size_t size);
void restore_free(struct coordinator *c);
void coordinator_restore_folder(struct coordinator *c, const char *name);
void restore_plain(struct coordinator *c, unsigned lost);
void restore_manifests(struct coordinator *c, const uint64_t *ids, uint32_t count);
/* Start to follow what may be lost. */
void restore_start(struct coordinator *c);
void restore_membership_changed(struct coordinator *c, unsigned changes);
void restore_handle(struct coordinator *c, const struct zk_event *event);
void restore_tick(struct coordinator *c);
uint64_t restore_deadline_ms(const struct coordinator *c);
/* An ACL forbids writing `path`, and the znode cannot be replaced: report this until a write
 * succeeds. */
void coordinator_denied(struct coordinator *c, const char *path);

/* coordinator_leadership.c: election, reading the state as a new chief, resigning. */
void leadership_start_election(struct coordinator *c);
void leadership_handle(struct coordinator *c, const struct zk_event *event);
void leadership_tick(struct coordinator *c);
uint64_t leadership_deadline_ms(const struct coordinator *c);
void leadership_resign(struct coordinator *c);

/* coordinator_log.c: logs a write that has succeeded. */
void log_written(const struct coordinator *c, const struct chief_write *write);

/* coordinator_write.c: the chief's transactions. */
void write_start(struct coordinator *c, const struct chief_write *write);
void write_raise(struct coordinator *c, uint64_t op, uint64_t epoch);
void write_deletes(struct coordinator *c, const uint64_t *ids, uint32_t count);
void write_manifest(struct coordinator *c, const char *path, const struct kept_text *manifest);
/* False: a read failed without showing whether the znode exists, and is to be repeated. */
bool read_is_answered(const struct zk_event *event);
/* C15: an answer to a read of /run determines how the next attempt writes it. */
void write_run_seen(struct coordinator *c, const struct zk_event *event);
void write_handle(struct coordinator *c, const struct zk_event *event);
void write_tick(struct coordinator *c);

#endif
