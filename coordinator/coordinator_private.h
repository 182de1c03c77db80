/* coordinator/coordinator_private.h: what the files of the driver share; nobody else includes it.
 */
#ifndef COORDINATOR_COORDINATOR_PRIVATE_H
#define COORDINATOR_COORDINATOR_PRIVATE_H

#include "common/cluster/roster.h"
#include "common/node/membership.h"
#include "coordinator/coordinator.h"
#include "coordinator/election.h"

enum { OFFICE_READS_MAX = 2 + CHIEF_CHECKPOINTS_MAX, OFFICE_RETRY_MS = 50, TRIM_EVERY = 64 };

/* A seat of the roster, as the chief was told of it. */
struct seat_told {
    bool known, present;
    uint64_t incarnation;
    uint64_t note_op; /* Its exit note is being read; 0: no. */
};

/* Becoming chief: the office is ours, the state is being read. */
enum office_stage {
    OFFICE_NONE,
    OFFICE_READING_TREE,        /* /run, /assignment, the list of checkpoints. */
    OFFICE_READING_CHECKPOINTS, /* Their manifests. */
    OFFICE_HELD,                /* The chief decides. */
    OFFICE_LEAVING,             /* Resigning: a note, then our znode in the election. */
};

struct office_reading {
    uint64_t run_op, assignment_op, list_op; /* 0: answered. */
    bool has_run, has_assignment;
    struct run run;
    struct assignment assignment;
    uint32_t expected, answered; /* Manifests. */
    uint64_t first_op;           /* Of their reads, consecutive. */
    uint32_t found;
    struct chief_checkpoint checkpoints[CHIEF_CHECKPOINTS_MAX];
};

/* The chief's transaction on its way, or the reading that tells what became of it. */
struct writing {
    uint64_t zk_op; /* 0: none. */
    uint64_t chief_op;
    bool raises; /* /chief, not /run. */
    bool reads;  /* `zk_op` is the reading. */
    enum chief_outcome outcome;
    const struct chief_write *write;
    int32_t request_at, manifest_at; /* Their places in the transaction; -1: not in it. */
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
    struct seat_told told[TASKS_MAX];
    struct chief chief;

    /* Standing for election. */
    struct election election;
    uint64_t election_zk_op, election_op; /* Under way: ours with ZooKeeper, and the core's. */
    enum election_action_type election_asked;
    char watched[ZK_PATH_MAX]; /* Our predecessor's path. */
    uint64_t cause_op;         /* The former chief's exit note is being read. */
    char cause[RUN_TEXT_MAX];  /* Why he is gone, if known. */
    struct office office;      /* As we wrote it. */

    /* In office. */
    enum office_stage stage;
    int32_t fence; /* Version of /chief. */
    bool run_exists;
    int32_t run_version;
    uint64_t took_ms;
    struct office_reading reading;
    uint64_t retry_at_ms; /* Of reading the office, or what became of a write. */
    struct writing writing;
    struct mirror requests;
    uint64_t request_op;
    uint64_t request_id;
    char request_name[ZK_PATH_MAX]; /* The one being read or granted. */
    uint64_t trim_op;
    uint32_t entries_until_trim;
    uint64_t leave_op;

    /* Texts of one transaction. */
    char run_text[ZNODE_JSON_MAX], assignment_text[ZNODE_JSON_MAX];
    char history_text[CHIEF_HISTORY_MAX][ZNODE_JSON_MAX];
};

/* coordinator.c */
void coordinator_finish(struct coordinator *c, int exit_code);
uint64_t coordinator_read(struct coordinator *c, const char *rest, bool watch);
/* Show the chief an event (time is filled in) and do what it wants. */
void coordinator_decide(struct coordinator *c, struct chief_event event);
/* The request that was read last was granted or is gone. */
void coordinator_request_done(struct coordinator *c);

/* coordinator_office.c: election, taking office, leaving it. */
void office_stand(struct coordinator *c);
void office_handle(struct coordinator *c, const struct zk_event *event);
void office_tick(struct coordinator *c);
uint64_t office_deadline_ms(const struct coordinator *c);
void office_resign(struct coordinator *c);

/* coordinator_write.c: the chief's transactions. */
void write_start(struct coordinator *c, const struct chief_write *write);
void write_raise(struct coordinator *c, uint64_t op, uint64_t epoch);
void write_deletes(struct coordinator *c, const uint64_t *ids, uint32_t count);
void write_handle(struct coordinator *c, const struct zk_event *event);
void write_tick(struct coordinator *c);

#endif
