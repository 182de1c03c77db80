/*
 * coordinator/chief.h: every decision of the chief in office, as a pure state machine: events in,
 * actions out. It reads no clock, allocates nothing and sees neither ZooKeeper nor the network.
 *
 * It is level-triggered: after each event it compares what is (members, reports, time) with what
 * /run says and, where they differ, wants one new /run. A successor that reads /run in the middle
 * of anything goes on from there. All that a decision changes is one transaction, fenced by the
 * version of /chief; one is under way at a time. Rules (docs/protocol.md, section C):
 *
 *  C1   Every write is one transaction with a check of /chief. Refused by it, the chief ends. When
 *       the answer is lost the same write is tried again until /run shows it or another.
 *  C2   Taking office writes /run with the new epoch. With `restore_on_failover` a run that was
 *       under way is paused and restored; else nobody pauses.
 *  C3   forming -> loading when every ps has reported and `min_workers` workers are ready.
 *  C4   loading -> running when every ps reports the generation; a checkpoint that cannot be loaded
 *       falls back to the one before, in another generation; if there is none, to the initial
 *       values; if these cannot be made, the run has failed.
 *  C5   running, stopping -> paused when a ps is lost, reborn, or of another generation; then back
 *       to running if all ps hold the generation, else to loading, from the newest committed
 *       checkpoint.
 *  C6   A checkpoint is ordered a little ahead of the fastest ps, committed when every ps has saved
 *       it at that step, and ordered again under a new id when one missed it.
 *  C7   Evaluation is ordered for multiples of `evaluate_every` and for the end.
 *  C8   With `target_accuracy` nobody passes the next evaluation before it is known: so where the
 *       run ends does not depend on anybody's speed.
 *  C9   running -> stopping when every ps has reached the last step; stopping -> done when that
 *       step is committed and evaluated.
 *  C10  Slices go to the workers that are ready.
 *  C11  Epochs and checkpoint ids start above what any ps has on disk, also over a wiped ZooKeeper;
 *       there the checkpoint that all disks hold is the committed one.
 *
 * Threads: the owner's.
 */
#ifndef COORDINATOR_CHIEF_H
#define COORDINATOR_CHIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/manifest.h"
#include "common/cluster/report.h"
#include "common/cluster/run.h"
#include "common/cluster/znodes.h"

enum {
    CHIEF_HISTORY_MAX = 8,      /* Entries in one write. */
    CHIEF_QUEUE_MAX = 256,      /* Entries that wait for it; later ones are dropped. */
    CHIEF_CHECKPOINTS_MAX = 64, /* Committed and not yet deleted. */
    CHIEF_DELETE_MAX = 8,       /* In one action. */
    CHIEF_SOFT_MS = 200,        /* What nobody waits for is written this often at most. */
    CHIEF_RETRY_MS = 50,        /* After a write without an answer. */
    CHIEF_AHEAD_MS = 250,       /* How far ahead of the fastest ps a checkpoint is ordered ... */
    CHIEF_AHEAD_STEPS = 2,      /* ... and these steps more. */
    CHIEF_RATE_MS = 500,        /* Steps per second are measured over this. */
    CHIEF_HEARD_MS = 50,        /* An order has reached everybody, most of the time. */
    CHIEF_GOODBYE_MS = 3000,    /* After the end, for the others to leave. */
};

struct chief_config {
    struct task self;
    uint64_t pid;
    uint32_t ps, workers, min_workers, slices;
    uint64_t steps;
    uint64_t evaluate_every;         /* 0: only at the end. */
    uint64_t checkpoint_every_steps; /* 0: not by steps. */
    uint64_t checkpoint_every_ms;    /* 0: not by time. */
    uint32_t checkpoint_keep;        /* At least 1. */
    double target_accuracy;          /* 0: none. */
    bool restore_on_failover;
    struct manifest manifest; /* What is the same in every checkpoint; the rest is filled in. */
};

struct chief_checkpoint {
    uint64_t id, step, generation, epoch;
};

enum chief_event_type {
    CHIEF_EV_TICK,
    CHIEF_EV_OFFICE,  /* The first: we are in office, and this is what was read then. */
    CHIEF_EV_MEMBER,  /* What a seat's znode says; also once when it is first known. */
    CHIEF_EV_REPORT,  /* From a node. */
    CHIEF_EV_REQUEST, /* The oldest request that is there. May be repeated. */
    CHIEF_EV_WRITTEN, /* Answer to a write or to raising the epoch. */
};

enum chief_outcome {
    CHIEF_WRITE_OK,
    CHIEF_WRITE_DEPOSED,           /* /chief is another's. */
    CHIEF_WRITE_CONFLICT,          /* /run is not of the version expected. */
    CHIEF_WRITE_REQUEST_GONE,      /* The request to be deleted is not there. */
    CHIEF_WRITE_CHECKPOINT_EXISTS, /* A manifest of that id is there. */
    CHIEF_WRITE_UNKNOWN,
};

struct chief_event {
    enum chief_event_type type;
    uint64_t now_ms, wall_ms;
    union {
        struct {
            uint64_t epoch;
            uint64_t took_ms;
            const char *cause;
            bool has_run, has_assignment;
            const struct run *run;
            const struct assignment *assignment;
            const struct chief_checkpoint *checkpoints; /* In any order. */
            uint32_t checkpoint_count; /* The newest CHIEF_CHECKPOINTS_MAX count. */
        } office;
        struct {
            struct task task;
            bool present;
            uint64_t incarnation, pid;
            const char *cause; /* Of the end of the one before; NULL: unknown. */
        } member;
        const struct report *report;
        struct {
            uint64_t id;
            enum request_kind kind;
            const char *by;
        } request;
        struct {
            uint64_t op;
            enum chief_outcome outcome;
            const struct run *run; /* Unless OK: /run as read after that; NULL: there is none. */
        } written;
    };
};

/* One transaction. */
struct chief_write {
    uint64_t op;
    struct run run;
    uint32_t history_count;
    struct history_entry history[CHIEF_HISTORY_MAX];
    bool assigns;
    struct assignment assignment;
    bool commits;
    struct manifest manifest; /* To be created as /checkpoints/`manifest.id`. */
    bool answers;             /* A request is granted: it is to be deleted. */
    uint64_t request;
    uint32_t queued; /* Private: entries of the queue among `history`, the last ones. */
};

/* What one step asks for, in no order. Valid until the next step. */
struct chief_actions {
    const struct chief_write *write; /* NULL: none. Answered by CHIEF_EV_WRITTEN. */
    uint64_t raise_op, raise_epoch;  /* Rewrite /chief with this epoch; 0: do not. Answered, too. */
    uint32_t delete_count;           /* Checkpoints nobody needs any more. Not answered. */
    uint64_t deletes[CHIEF_DELETE_MAX];
    bool resign;   /* Leave the election and the process. */
    bool exits;    /* Leave the process ... */
    int exit_code; /* ... with this. */
};

struct chief_peer {
    bool known; /* Whether it is there has been read. */
    bool present;
    bool reported; /* `report` is of this incarnation. */
    bool lost;     /* It went, or was reborn, since workers last went on. */
    uint64_t incarnation, pid;
    struct report report;
    struct report early;      /* Came before its znode was read; or a zombie's. */
    char cause[RUN_TEXT_MAX]; /* Of its last end. */
};

struct chief_request {
    bool waits;
    uint64_t id;
    enum request_kind kind;
    char by[HOST_NAME_MAX_BYTES];
};

struct chief {
    /* Read by the driver: */
    bool in_office;
    uint64_t epoch;
    struct run run; /* As it is known to be in ZooKeeper. */
    /* Private: */
    struct chief_config config;
    uint64_t now_ms, wall_ms;
    struct chief_peer ps[PS_MAX], workers[WORKERS_MAX];
    struct assignment assignment;
    uint32_t checkpoint_count;
    struct chief_checkpoint checkpoints[CHIEF_CHECKPOINTS_MAX]; /* By id, rising. */
    bool inherited; /* The run was under way when we took office. */
    bool opened;    /* /run says our epoch. */
    bool counted;   /* /run counts our election. */
    struct chief_request request;
    bool resigning;
    uint32_t queue_count;
    struct history_entry queue[CHIEF_QUEUE_MAX];
    /* The write under way, or to be tried again. */
    uint64_t op;
    bool writing, retrying;
    struct chief_write write;
    uint64_t raising; /* The epoch being written; 0: none. */
    uint64_t retry_at_ms, written_at_ms;
    uint64_t revision;
    /* Speed, for orders ahead. */
    uint64_t rate_at_ms, rate_step, rate; /* Steps per second. */
    uint64_t boost;                       /* Added to the lead after an order came too late. */
    uint64_t ordered_at_ms;               /* Of the last checkpoint. */
    uint64_t ended_at_ms;
    uint64_t wake_at_ms;
};

void chief_init(struct chief *c, const struct chief_config *config);

/* Apply one event and fill `out` (old contents are discarded). Cannot fail: stale, repeated and
 * misplaced events are ignored. Before CHIEF_EV_OFFICE nothing is asked for. */
void chief_step(struct chief *c, const struct chief_event *event, struct chief_actions *out);

uint64_t chief_deadline_ms(const struct chief *c); /* UINT64_MAX: none. */

#endif
