/*
 * coordinator/chief.h: every decision of the chief, as a pure state machine: events in, actions
 * out. It reads no clock, allocates nothing and sees neither ZooKeeper nor the network.
 *
 * It is level-triggered: after each event it compares the observed state (members, reports, time)
 * with /run and, where they differ, asks for one new /run. A successor can take over from
 * /run at any point. All changes of one decision are one transaction, fenced by the version of
 * /chief; at most one transaction is in flight. Rules (docs/protocol.md, section C):
 *
 *  C1   Every write is one transaction with a check of /chief. When that check fails, the chief
 *       exits. When the answer is lost, the same write is repeated until /run shows it or another.
 *  C2   A new chief writes /run with its epoch. With `restore_on_failover` a run in progress is
 *       paused and restored; without it nothing is paused.
 *  C3   forming -> loading when every ps has reported and `min_workers` workers are ready.
 *  C4   loading -> running when every ps reports the generation. When the checkpoint is damaged, a
 *       new generation loads the previous one; without one, or when its files are missing, the run
 *       is held until a ps restarts or an operator decides. When a ps cannot make the initial
 *       values, the run fails.
 *  C5   running, stopping -> paused when a ps is lost, restarted, or of another generation; then
 *       back to running if every ps holds the generation, else to loading, from the newest
 *       committed checkpoint.
 *  C19  A ps that was lost and returns with the generation has kept its values: nothing is loaded.
 *  C6   A checkpoint is ordered for the next multiple of `checkpoint_every_steps`, or by time a
 *       little ahead of the fastest ps, and committed when every ps has saved it at that step and
 *       the evaluations up to it are known.
 *  C7   Every multiple of `evaluate_every` and the last step is evaluated, one after the other.
 *  C8   With `target_accuracy` or patience no node passes the next evaluation before its
 *       result is known, so the last step does not depend on the speed of any node.
 *  C9   running -> stopping when every ps has reached the last step; stopping -> done when that
 *       step is committed and evaluated.
 *  C10  Slices are assigned to the workers that are ready.
 *  C20  Slow workers get fewer slices, by the times that they report, with hysteresis.
 *  C11  Epochs and checkpoint ids start above those that any ps has on disk, also when ZooKeeper
 *       was wiped; then the newest checkpoint of all disks is the committed one.
 *  C14  A multiple is skipped, and counted, only when training waits for its order while the
 *       checkpoint before is still being written, or when a ps could not save it.
 *  C12  A report that no node of this run can send is ignored: of an incarnation that is registered
 *       as another task, of a step that no order allows, or of an epoch, generation or checkpoint
 *       id that leaves no room for later ones.
 *  C13  The fingerprint of the kernels and the digest of the data are those of the newest
 *       checkpoint, or else of the first ready worker. A worker that differs gets no slices.
 *  C15  What another program deletes or damages is written again: /run and /assignment from memory,
 *       manifests from memory, folders empty. A chief whose /chief is lost exits. A new chief that
 *       finds no /run uses what it remembers, and every ps loads again.
 *  C18  The evaluator is ordered to evaluate the newest committed checkpoint, one after the other.
 *       Nothing waits for its result, which counts once.
 *  C23  The slices of a worker that delays the others, by a step or by an evaluation that takes
 *       longer than expected, are given to them, until it reports again;
 *       M12: without ps, until it has their values, too.
 *  C22  With a range of workers, those of the lowest indexes are wanted, as many as an operator has
 *       asked for. The others get no slices, and their end does not count as a recovery.
 *  C16  When a ps is asked to leave, a gate a little ahead stops training at a checkpoint, and the
 *       write that commits it pauses the run. Workers that leave get no slices.
 *  C24  Without ps, a worker that leaves is released once others have its values.
 *
 * Threads: the owner's.
 */
#ifndef COORDINATOR_CHIEF_H
#define COORDINATOR_CHIEF_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/minmax.h"
#include "common/cluster/manifest.h"
#include "common/cluster/report.h"
#include "common/cluster/run.h"
#include "common/cluster/znodes.h"
#include "common/job/early_stop.h"
#include "common/job/strategy.h"

enum {
    CHIEF_HISTORY_MAX = 8, /* Entries in one write. */
    CHIEF_QUEUE_MAX = 256, /* Entries waiting for a write; further ones are dropped. */
    CHIEF_CHECKPOINTS_MAX = CHECKPOINTS_MAX, /* Committed and not yet deleted. */
    CHIEF_DELETE_MAX = 8,                    /* Checkpoints deleted in one step. */
    CHIEF_SOFT_MS = 200,                     /* Between two writes that no node waits for. */
    CHIEF_RETRY_MS = 50,                     /* After a write without an answer. */
    /* A checkpoint is ordered this far ahead of the fastest ps, and these steps more. */
    CHIEF_AHEAD_MS = 250,
    CHIEF_AHEAD_STEPS = 2,
    CHIEF_RATE_MS = 500,    /* The interval over which steps per second are measured. */
    CHIEF_EARLY_MAX = 4,    /* Early reports of one task, each of another incarnation. */
    CHIEF_DEPART_MS = 200,  /* Reports after it were sent by workers that live. */
    CHIEF_FETCH_MS = 10000, /* A worker has this time to fetch the values of one that leaves. */
    /* Slices that were moved stay this long, unless a worker leaves. The time doubles, up to the
     * second number, each time they move for speed. */
    CHIEF_BALANCE_MS = 2000,
    CHIEF_BALANCE_MAX_MS = 300000,
    /* A worker that was late gets no slices for this time. The time doubles, up to the second
     * number, if the worker is late again within CHIEF_LATE_GOOD times as long. */
    CHIEF_LATE_MS = 1000,
    CHIEF_LATE_MAX_MS = 300000,
    CHIEF_LATE_GOOD = 8,
    CHIEF_LATE_JOIN = 4, /* M12: a worker that gets its first slices may need this many limits. */
    /* An evaluation may take this many times as long as the longest so far; the first one at least
     * CHIEF_LATE_FIRST_MS. */
    CHIEF_LATE_EVALUATION = 4,
    CHIEF_LATE_FIRST_MS = 1000,
    CHIEF_EVALUATION_MAX_MS = 86400000, /* A longer evaluation that is reported counts as this. */
    CHIEF_LINGER_MS = 3000, /* The chief waits for the others after the end, at most this long. */
};

/* C12: the report of a disk can raise the epochs, generations and ids of the chief at most to this
 * number, which leaves the same quantity for the rest of the run. */
#define CHIEF_RAISE_MAX (COUNTER_MAX / 2)
/* No order is further ahead. */
#define CHIEF_LEAD_MAX (COUNTER_MAX / 8)

/* C15: what another program deleted or damaged. */
enum chief_lost {
    CHIEF_LOST_CHIEF = 1 << 0,
    CHIEF_LOST_RUN = 1 << 1,
    CHIEF_LOST_ASSIGNMENT = 1 << 2,
    CHIEF_LOST_SPEC = 1 << 3,
    CHIEF_LOST_ELECTION = 1 << 4,
    CHIEF_LOST_MEMBERS = 1 << 5,
    CHIEF_LOST_EXITS = 1 << 6,
    CHIEF_LOST_HISTORY = 1 << 7,
    CHIEF_LOST_CHECKPOINTS = 1 << 8,
    CHIEF_LOST_REQUESTS = 1 << 9,
    CHIEF_LOST_KILLS = 1 << 10,
    CHIEF_LOST_DRAINS = 1 << 11,
    CHIEF_LOST_VERIFICATIONS = 1 << 12,
};

struct chief_config {
    struct task self;
    enum strategy_kind strategy;
    uint64_t pid;
    uint32_t ps, workers, min_workers, slices;
    uint32_t workers_least; /* C22: `workers` is a range that begins here; 0: a single number. */
    uint32_t evaluators;    /* 0 or 1. */
    uint64_t steps;
    uint64_t evaluate_every;         /* 0: only at the end. */
    uint64_t checkpoint_every_steps; /* 0: not by steps. */
    uint64_t checkpoint_every_ms;    /* 0: not by time. */
    uint32_t checkpoint_keep;        /* At least 1. */
    bool has_rows;                   /* Tables: checkpoints can have files in common. */
    double target_accuracy;          /* 0: no target. */
    struct early_stop early_stop;
    enum best_metric best; /* By which the best checkpoint is kept (C17). */
    uint64_t push_ns;      /* The cost of a push, to assign slices; 0: their number is fixed. */
    bool restore_on_failover;
    bool same_bits;           /* Workers of another fingerprint get no slices (C13). */
    struct manifest manifest; /* The fields common to all checkpoints; the rest is filled in. */
};

struct chief_strategy; /* coordinator/chief_strategy.h */

struct chief_checkpoint {
    uint64_t id, step;
    struct inputs inputs;
    struct best best; /* As of it. */
};

enum chief_event_type {
    CHIEF_EV_TICK,
    CHIEF_EV_ELECTED, /* This process became chief and has read the state. Counts once. */
    CHIEF_EV_MEMBER,  /* A task's znode as it is now; also when it is first read. */
    CHIEF_EV_REPORT,  /* From a node. */
    CHIEF_EV_REQUEST, /* The oldest request of an operator. May be repeated. */
    CHIEF_EV_WRITTEN, /* Answer to a write, or to raising the epoch. */
    CHIEF_EV_LOST,    /* Znodes are missing or unreadable. May be repeated. */
    CHIEF_EV_LISTED,  /* The names below /checkpoints. */
};

enum chief_outcome {
    CHIEF_WRITE_OK,
    CHIEF_WRITE_DEPOSED,           /* /chief names another process. */
    CHIEF_WRITE_CONFLICT,          /* /run does not have the expected version. */
    CHIEF_WRITE_REQUEST_GONE,      /* The request to be deleted does not exist. */
    CHIEF_WRITE_CHECKPOINT_EXISTS, /* A manifest with that id exists. */
    CHIEF_WRITE_UNKNOWN,           /* Written or not: the answer was lost. */
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
            bool run_lost; /* `run`, if any, is what this process remembers. */
            const struct run *run;
            const struct assignment *assignment;
            const struct chief_checkpoint *checkpoints; /* In any order. */
            uint32_t checkpoint_count; /* Only the newest CHIEF_CHECKPOINTS_MAX are used. */
        } elected;
        struct {
            struct task task;
            bool present;
            uint64_t incarnation, pid;
            const char *cause; /* Why the previous process ended; NULL: unknown. */
        } member;
        const struct report *report;
        struct {
            uint64_t id;
            enum request_kind kind;
            const char *by;
            uint64_t step;    /* ACCEPT_LOSS, SCALE. */
            const char *path; /* RESTORE; NULL otherwise. */
        } request;
        struct {
            uint64_t op;
            enum chief_outcome outcome;
            /* Unless OK: /run as read afterwards; NULL: it does not exist. */
            const struct run *run;
        } written;
        unsigned lost; /* Bits of enum chief_lost. */
        struct {
            const uint64_t *ids;
            uint32_t count;
        } listed;
    };
};

/* One transaction. */
struct chief_write {
    uint64_t op;
    uint64_t first_revision; /* The first attempt's; `run` has the last one's. */
    struct run run;
    uint32_t history_count;
    struct history_entry history[CHIEF_HISTORY_MAX];
    bool assigns;
    bool for_speed; /* Slices move for speed alone. */
    struct assignment assignment;
    bool commits;
    struct manifest manifest; /* Created as /checkpoints/`manifest.id`, unless `published`. */
    bool published;           /* An earlier attempt has created the manifest. */
    bool answers;             /* Request `request` is granted, and deleted with this write. */
    uint64_t request;
    uint32_t queued; /* Private: how many of `history`, the first ones, are from the queue. */
};

/* The results of one step, to be carried out in any order. Valid until the next step. */
struct chief_actions {
    const struct chief_write *write; /* NULL: none. Answered by CHIEF_EV_WRITTEN. */
    uint64_t raise_op, raise_epoch;  /* Rewrite /chief with this epoch; 0: none. Answered, too. */
    uint32_t delete_count;           /* Checkpoints no longer needed. Not answered. */
    uint64_t deletes[CHIEF_DELETE_MAX];
    unsigned restore;         /* C15: create these znodes: bits of enum chief_lost. Not answered. */
    uint32_t republish_count; /* Create the manifests of these checkpoints again. No event answers
                               * this. */
    uint64_t republish[CHIEF_CHECKPOINTS_MAX];
    bool resign; /* Leave the election and the process. */
    bool exits;  /* Leave the process with `exit_code`. */
    int exit_code;
};

/* C23: a worker that was late. */
struct chief_straggler {
    bool is_late; /* The worker gets no slices from `since_ms` on. */
    uint64_t since_ms;
    uint64_t until_ms; /* The worker gets no slices before this time; once it is not late: when it
                          got some. */
    uint64_t wait_ms;  /* From `since_ms` to `until_ms`; 0: it was never late. */
    uint64_t generation, step; /* Where training was then. */
};

struct chief_peer {
    bool known; /* Its znode has been looked for. */
    bool present;
    bool reported; /* `report` is of this incarnation. */
    bool lost;     /* Lost or restarted since the workers last resumed. */
    bool left; /* Before it was lost, it had reported that it leaves, and owned no slices (C22). */
    uint64_t incarnation, pid;
    struct report report;
    uint64_t heard_ms; /* When `report` came. */
    uint64_t judged;   /* A holder: the report whose late slices were used last. */
    uint64_t own_step; /* C24: a worker that leaves makes no step above it alone. */
    /* A worker: when it got its first slices, and the step that training had reached then. */
    uint64_t joined_ms, joined_step;
    uint64_t evaluates_ms; /* Since when it is to evaluate `evaluates_step`; 0: it is not. */
    struct chief_straggler straggler;
    /* The last reports of incarnations that are not the current member. The report of an
     * incarnation that registers later stays among them, even if its predecessors send late
     * reports, because a node does not repeat reports that were acknowledged. */
    struct report early[CHIEF_EARLY_MAX];
    uint32_t early_next;      /* The entry that the next incarnation replaces. */
    char cause[RUN_TEXT_MAX]; /* Why the last process ended. */
    uint64_t lost_wall_ms;    /* When that was noticed. */
};

struct chief_request {
    bool waits;
    uint64_t id;
    enum request_kind kind;
    char by[HOST_NAME_MAX_BYTES];
    uint64_t step;
    char path[RESTORE_PATH_MAX];
};

struct chief {
    /* Read by the driver: */
    bool elected; /* CHIEF_EV_ELECTED was handled. */
    uint64_t epoch;
    struct run run; /* The last /run known to be in ZooKeeper. */
    /* Private: */
    struct chief_config config;
    const struct chief_strategy *strategy;
    uint64_t now_ms, wall_ms;
    struct chief_peer ps[PS_MAX], workers[WORKERS_MAX], evaluator;
    struct assignment assignment;
    uint32_t checkpoint_count;
    struct chief_checkpoint checkpoints[CHIEF_CHECKPOINTS_MAX]; /* In ascending order of id. */
    bool inherited; /* The run had begun before this chief was elected. */
    bool committed; /* This chief has committed a checkpoint in its epoch. */
    bool opened;    /* /run has our epoch. */
    bool counted;   /* /run counts our election. */
    struct chief_request request;
    uint32_t queue_count;
    struct history_entry queue[CHIEF_QUEUE_MAX];
    /* The write in flight, or to be repeated. */
    uint64_t op;
    bool writing, retrying;
    struct chief_write write;
    unsigned lost;    /* C15: to be written again: bits of enum chief_lost. */
    uint64_t raising; /* The epoch being written to /chief; 0: none. */
    uint64_t retry_at_ms, written_at_ms;
    uint64_t revision;
    /* M8: the first write of this chief since the run is paused or held; 0: neither. */
    uint64_t pause_epoch, pause_revision;
    uint64_t departs_ms; /* When a worker was last known to leave, or this chief was elected. */
    /* Speed, for orders ahead. */
    uint64_t rate_at_ms, rate_step, rate; /* Steps per second. */
    uint64_t boost;                       /* Added to the lead after a late order. */
    /* C20: the time from which slices may move for speed, and the time between two checks. */
    uint64_t balance_at_ms, balance_wait_ms;
    uint64_t assigned_ms; /* When slices were assigned last. */
    /* C23: the step whose evaluation is ordered, once it is reached; STEP_NONE: none. The worker
     * that has to evaluate it, and the longest time that one has needed so far; 0: unknown. */
    uint64_t evaluates_step;
    uint32_t evaluator_worker;
    uint64_t evaluation_ms;
    uint64_t ordered_at_ms; /* When the last checkpoint was ordered. */
    uint64_t ended_at_ms;
    uint64_t wake_at_ms;
};

/* `*c` must be zero: it is large, and little of it is used by a small job. */
void chief_init(struct chief *c, const struct chief_config *config);

/* Apply one event and fill `out` (old contents are discarded). Cannot fail: stale, repeated and
 * misplaced events are ignored. The chief acts only after CHIEF_EV_ELECTED. */
void chief_step(struct chief *c, const struct chief_event *event, struct chief_actions *out);

/* C12: the reason why the chief ignores a report, for the log; NULL: it accepts the report. Static
 * storage. */
const char *chief_refuses_report(const struct chief *c, const struct report *report);

uint64_t chief_deadline_ms(const struct chief *c); /* UINT64_MAX: none. */

/* Whether /run, as it was read, is that of an attempt of the write: it was carried out. */
bool chief_write_is_done(const struct chief_write *write, const struct run *seen);

#endif
