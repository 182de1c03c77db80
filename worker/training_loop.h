/*
 * worker/training_loop.h: the training loop as a pure state machine: events in, actions out. It
 * reads no clock, allocates nothing and never sees a tensor; worker/worker.c moves them. Rules:
 * docs/protocol.md, section W.
 *
 * There are two arrays of values: the current array, complete and of one step, and the next array,
 * which fills with shards as they arrive. The current array never changes during a step, so slices
 * that are assigned to this worker in the middle of a step are computed from the same values (W5).
 *
 *   IDLE     no orders, no slices, or paused before anything was gathered
 *   GATHER   pulling the newest values of every ps (W2). Sync: if their steps differ, the lowest
 *            step counts, and the ps that are ahead are asked for it, which they keep. Async:
 *            values of any steps are accepted.
 *   WHOLE    the current values are of `step`. While it is below `until`, the owned slices are
 *            computed and pushed; the answers are the values of step + 1: then the arrays are
 *            swapped (W4).
 *
 *   IDLE -> GATHER    the run is running or stopping, and this worker owns slices
 *   GATHER -> WHOLE   every ps has sent values
 *   WHOLE -> WHOLE    every ps has sent values of step + 1
 *   WHOLE -> GATHER   a ps no longer keeps our step; the run is stopping and this worker is behind
 *                     (W8); sync: an earlier step must be evaluated; async: slices were assigned to
 *                     this worker
 *   any -> IDLE       another generation (W1), or no slices are left
 *
 * Values arrive in chunks, in order and without gaps (common/net/chunks.h). They count when the
 * last one was taken; chunks taken before the round or the connection changed are overwritten (W3,
 * W10).
 *
 * Sync: gradients leave while they are computed (W11). Each ps that holds all earlier ones gets
 * their parts as they become final; any other gets them whole afterwards.
 *
 * With tables of rows the rows are looked up before they are used: those of the missing slices
 * before a computation, those of the test set before an evaluation. The driver lists them, then
 * each ps that has some is asked, piece by piece. One lookup is in progress at a time, and ends
 * with the round, unless it is of the next step: it begins once all gradients of the present step
 * are computed. Gradients are sent after they are computed, since their rows come before them.
 *
 * A request is sent again when its connection is new, or some time after the ps refused it (W6).
 * The ps ignores duplicates.
 *
 * Threads: the owner's. Nothing fails.
 */
#ifndef WORKER_TRAINING_LOOP_H
#define WORKER_TRAINING_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/cluster/task.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"
#include "common/job/strategy.h"
#include "common/net/wire.h"

enum {
    LOOP_REFUSED_RETRY_MS = 20, /* A ps that is loading refuses at once and is asked again. */
    LOOP_GONE_RETRY_MS = 10,
};

struct training_loop_config {
    enum strategy_kind strategy; /* STRATEGY_PS_SYNC or STRATEGY_PS_ASYNC. */
    uint32_t slices;             /* V */
    uint32_t ps;                 /* 1 to PS_MAX. */
    uint32_t index;              /* Index of this worker. */
    uint64_t evaluate_every;     /* 0: only the last step is evaluated. */
    bool rows;                   /* The model has tables. */
    bool whole_pushes;           /* Gradients are sent only once all of them are computed. */
};

enum loop_event_type {
    LOOP_EV_RUN,
    LOOP_EV_ASSIGNMENT,
    LOOP_EV_LINK_UP,   /* A new connection to `ps`, on which nothing was sent yet. */
    LOOP_EV_LINK_DOWN, /* Frames sent on it may be lost. */
    LOOP_EV_VALUES,    /* A chunk of values of `generation` and `step`; the driver has checked the
                          size and the order of chunks. */
    LOOP_EV_REFUSED,   /* For the reason `refusal`; `generation` and `step` are the ps's own. */
    LOOP_EV_LISTED,    /* The last LOOP_DO_LIST is done: the ps in `ps_set` have rows of it. */
    LOOP_EV_ROWS,      /* The rows of the last LOOP_DO_LOOKUP of `ps`; `more`: others are left. */
    LOOP_EV_COMPUTED,  /* The last LOOP_DO_COMPUTE is done. */
    LOOP_EV_EVALUATED, /* The last LOOP_DO_EVALUATE is done. */
    LOOP_EV_RESET,     /* All that was computed, gathered and asked for is lost, with each
                          connection; no computation or evaluation is in progress. */
    LOOP_EV_TICK,      /* training_loop_deadline_ms() has passed. */
};

struct loop_event {
    enum loop_event_type type;
    uint64_t now_ms;
    uint32_t ps;
    uint64_t generation, step;
    uint64_t round;  /* VALUES: of the request that they answer. */
    uint32_t chunk;  /* VALUES: the place of the chunk, */
    uint32_t number; /* and how many of the answer have arrived before it. */
    bool growing;    /* VALUES: they come from the last chunk to the first one. */
    bool more;       /* VALUES: other chunks follow. */
    uint64_t ps_set; /* LISTED: a bit for each ps. */
    enum refusal refusal;
    const struct run *run;
    const struct assignment *assignment;
};

enum loop_action_type {
    LOOP_DO_TAKE,    /* Copy the event's chunk into the next values. Without this: ignore it. */
    LOOP_DO_SWAP,    /* The next values are complete: they become the current ones. */
    LOOP_DO_FORGET,  /* Release all gradients. */
    LOOP_DO_COMPUTE, /* Compute the gradients of nodes[first_node ...] from the current values; send
                        them meanwhile, as parts of them become final, to the ps in `push_to`. */
    LOOP_DO_PUSH,    /* Send the gradients of nodes[first_node ...] to `ps`. */
    LOOP_DO_PULL,    /* Ask `ps` for the values of `step`. */
    LOOP_DO_LIST,    /* List the rows that the slices in `sought` read at `step`, or with `test`
                        those of the test set. */
    LOOP_DO_LOOKUP,  /* Ask `ps` for the next of the listed rows, as of `step`. */
    LOOP_DO_EVALUATE, /* Evaluate the current values as those of `step`. */
};

struct loop_action {
    enum loop_action_type type;
    uint32_t ps;
    uint64_t generation, step;
    uint64_t round;   /* COMPUTE, PUSH, PULL: to be sent, and returned with the answer. */
    uint64_t push_to; /* COMPUTE: a bit for each ps. */
    uint32_t first_node, node_count;
    uint32_t chunk, number; /* TAKE. */
    bool growing;
    uint64_t epoch, revision; /* PULL: of the order that the loop follows. */
    bool last;                /* PULL: `step` is the last one of that order. */
    bool test;                /* LIST. */
};

enum { LOOP_ACTIONS_MAX = 3 * PS_MAX + 8 };

/* To be carried out in this order. COMPUTE and EVALUATE are answered by events. */
struct loop_actions {
    uint32_t count;
    struct loop_action items[LOOP_ACTIONS_MAX];
};

enum loop_state { LOOP_IDLE, LOOP_GATHER, LOOP_WHOLE };

/* The use of the rows of the lookup in progress. */
enum loop_lookup { LOOKUP_NONE, LOOKUP_SLICES, LOOKUP_TEST };

struct loop_ps {
    bool up;
    bool held;          /* The next values contain its shard. */
    uint64_t held_step; /* The step of that shard. */
    uint32_t taken;     /* Not held: chunks of `held_step` that were taken, in their order. */
    bool asked;         /* GATHER: a pull is in progress on this connection. */
    uint32_t sent;      /* WHOLE: nodes sent on this connection, or being computed and sent. */
    bool looked_up;     /* The ps has answered with all rows of the lookup, or has none of them. */
    bool lookup_sent;   /* A piece of it is asked for on this connection. */
    uint64_t retry_at_ms;
};

struct training_loop {
    /* For reports, log lines and the driver. */
    enum loop_state state;
    uint64_t generation;  /* In which it works; 0: none yet. */
    uint64_t round;       /* Counts changes of state and step; older answers are ignored. */
    uint64_t step;        /* Step of the current values; kept while gathering. */
    uint64_t progress_ms; /* Time of the last change of state or step. */
    struct slice_node nodes[SLICES_MAX]; /* With gradients of `step`, in order of computation. */
    uint32_t node_count;
    struct loop_ps ps[PS_MAX];
    /* Private. */
    struct training_loop_config config;
    const struct strategy *strategy;
    enum run_phase phase;
    uint64_t until, evaluate_step, epoch, revision; /* In the last order. */
    uint64_t gather_step;                           /* STEP_LATEST, or the lowest step of the ps. */
    struct slice_set owned, done;
    bool computing, evaluating;
    enum loop_lookup lookup;
    uint64_t lookup_step;    /* The present one, or for LOOKUP_SLICES the next one. */
    bool listed;             /* The driver knows the rows of the lookup. */
    struct slice_set sought; /* LOOKUP_SLICES. */
    bool went_back;          /* Sync: this step was gathered to be evaluated; the ps are past it. */
    bool end_moved; /* Async: the end was moved back; earlier answers may lack contributions. */
    uint64_t evaluated_step; /* The last one of this generation; STEP_NONE: none. */
};

void training_loop_init(struct training_loop *loop, const struct training_loop_config *config);
/* `actions` is overwritten. */
void training_loop_handle(struct training_loop *loop, const struct loop_event *event,
                          struct loop_actions *actions);
uint64_t training_loop_deadline_ms(const struct training_loop *loop); /* UINT64_MAX: none. */

/* Whether the loop waits for values of ps `index`; for log lines. */
bool training_loop_waits_for(const struct training_loop *loop, uint32_t index);

#endif
