/*
 * ps/step.h: how a parameter server handles orders, pushes and pulls, as a pure state machine:
 * events in, actions out. It reads no clock, allocates nothing and never sees a tensor: it decides
 * which buffers are kept, summed, sent and saved, and ps/ps.c moves them. Rules: docs/protocol.md,
 * section P.
 *
 *   NOTHING  --order to load-->              LOADING
 *   LOADING  --loaded-->                     SERVING
 *   LOADING  --failed-->                     NOTHING  (reported; waits for another order)
 *   SERVING  --order of a new generation-->  LOADING
 *
 * Sync: the pushes of step s are held until they cover all slices, then applied as one update. Each
 * connection that pushed is answered with the values of s + 1, once per step. Nodes of the tree are
 * nested or disjoint, so a push is either covered already (dropped: it has the same bits), or new,
 * or replaces held nodes below it.
 *
 * A push arrives in chunks, in their order and without gaps (common/net/chunks.h). Those of the
 * generation being served are collected; with the last chunk the push is decided on as a whole. A
 * generation that ends in between takes the collected chunks with it, and the last chunk is
 * refused. With `places`, the first chunk of a push of the present step ends the values of the step
 * before: such a push exists only if every ps has sent the present ones.
 *
 * Sync with norms: an update needs the norm of the whole gradient, of which each ps has a part. A
 * ps whose pushes cover all slices measures its own part and sends it to all other ps, and again on
 * each new connection to one. It applies the step when it holds the parts of all. A part of another
 * generation or of an earlier step is dropped; its sender keeps the parts of the current step and
 * of the one before, since no ps is more than one step behind another.
 *
 * With `chunks`, an update follows the pushes: what all slices have in common of the chunks that
 * have arrived, which are the last ones of the shard, is applied before the rest arrives, and sent.
 * From then on the update has begun, as that of a ps which continues below.
 *
 * With kept memory (ps/kept_memory.h) a ps that was killed continues: it serves the generation and
 * step that it had. If the update of the step had begun, it is completed when the pushes arrive
 * again, which the workers repeat: until then the values of the step are whole, but its state
 * cannot be saved. An order of another run with the same generation ends it.
 *
 * With tables of rows a push has gradients of rows, too, in frames that are collected like chunks
 * before it, and a lookup asks for rows of a step whose values can be pulled. One of the next step
 * waits for it, like a pull. Async: the rows are the newest ones.
 *
 * Async: a push is the gradient of one slice and an update of its own. Each slice has a clock, the
 * step of its next contribution: a push below the clock is a duplicate and dropped, one above it
 * would skip a contribution and is refused. The step of the shard is the smallest clock. A push is
 * parked, at most one per slice, while it is more than `max_staleness` steps ahead, or while it is
 * at or above the step of an ordered checkpoint that some slice has not reached: this way a
 * checkpoint contains the same contributions on every ps. Pushes are not answered. A pull of step w
 * is answered when no push of its connection below w is parked and w is at most `max_staleness`
 * ahead; if w is `until` or more, only when all contributions below `until` are applied, and so
 * with the end of training, which a gate can be below; and if the worker follows a newer order,
 * only when this ps follows it, too: `until` may be higher there.
 *
 * Threads: the owner's. Nothing fails: capacities are those of the transport and of the slices.
 */
#ifndef PS_STEP_H
#define PS_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/lateness.h"
#include "common/cluster/report.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/job/job.h"
#include "common/job/strategy.h"
#include "common/net/transport.h"
#include "common/net/wire.h"

struct ps_strategy; /* ps/step_private.h */

struct ps_step_config {
    enum strategy_kind strategy; /* STRATEGY_PS_SYNC or STRATEGY_PS_ASYNC. */
    uint32_t slices;             /* V, 1 to SLICES_MAX. */
    uint32_t ps, index;          /* The number of ps, and the index of this one. */
    bool norms;                  /* Sync: an update needs the norm of the whole gradient. */
    bool rows;                   /* The model has tables; one save is in progress at most. */
    bool places;            /* Sync: pushes are collected in the memory of previous values (P4). */
    uint32_t chunks;        /* Sync: of a push, if updates follow them (P17); 0: they do not. */
    uint64_t max_staleness; /* Async; STALENESS_FREE: unbounded. */
    /* Sync: values of multiples of these are kept; 0: none are. */
    uint64_t evaluate_every, checkpoint_every;
    bool best; /* C14: those of both are checkpoints that must not be skipped. */
};

enum ps_event_type {
    PS_EV_RUN,  /* `run` is the present content of /run. */
    PS_EV_PUSH, /* A chunk of one. The driver has checked that it is a node (async: one slice), the
                   size, and the order of the chunks. */
    PS_EV_PULL, /* `step` may be STEP_LATEST. */
    PS_EV_LOOKUP, /* With tables. The driver has checked the body. */
    PS_EV_PART, /* The part of ps `first` of the norm of `step`; the driver has checked its size. */
    PS_EV_LINK_UP,     /* A new connection to ps `first`, on which nothing was sent yet. */
    PS_EV_CONN_CLOSED, /* Frames can no longer be sent to `conn`. */
    PS_EV_MEASURED,    /* The part of the last PS_DO_MEASURE is known. */
    PS_EV_APPLIED,     /* The update of the last PS_DO_APPLY is in the arrays. */
    PS_EV_LOADED,      /* The last PS_DO_LOAD succeeded; its arrays wait for PS_DO_ADOPT. */
    PS_EV_LOAD_FAILED,
    PS_EV_SAVED, /* This ps's shard of `checkpoint` is durable. */
    PS_EV_SAVE_FAILED,
};

struct ps_event {
    enum ps_event_type type;
    uint64_t now_ms;
    conn_id conn;
    uint64_t generation;
    uint64_t step;       /* PUSH, PULL, LOOKUP, PART. */
    uint64_t round;      /* PUSH, PULL, LOOKUP: the sender's; returned with the answer. */
    uint64_t checkpoint; /* SAVED, SAVE_FAILED. */
    uint32_t first, count;
    uint32_t chunk;           /* PUSH: the number of the chunk, by arrival. */
    bool more;                /* PUSH: other chunks follow. */
    bool by_lane;             /* PUSH, PULL: the connection is one through shared memory. */
    uint64_t epoch, revision; /* PULL: of the order that the worker follows. */
    bool last;                /* PULL: `step` is the last one of that order. */
    const struct run *run;
    enum load_missing missing; /* LOAD_FAILED */
    const uint64_t *clocks; /* LOADED, async: the `slices` clocks stored with the shard, or NULL. */
};

enum ps_action_type {
    PS_DO_PLACE,   /* Release the previous values, and collect the push of `conn` there. */
    PS_DO_COLLECT, /* Keep the event's body behind the chunks collected from `conn`. */
    PS_DO_HOLD,    /* Put these and the event's body into slot `first`, in place of its content. */
    PS_DO_DROP,    /* Release these and the event's body. */
    PS_DO_RELEASE, /* Release slot `first`. */
    PS_DO_RELEASE_ALL,  /* Release every slot and all collected chunks. */
    PS_DO_MEASURE,      /* Compute this ps's part of the norm of the sum of `parts`. */
    PS_DO_SEND_PART,    /* Send it, or with `previous` that of the step before, to ps `first`. */
    PS_DO_HOLD_PART,    /* Keep the event's body as the part of ps `first`. */
    PS_DO_APPLY,        /* Update the values by the sum of `parts`; release their slots. */
    PS_DO_APPLY_CHUNKS, /* Update no more than the last `count` chunks, and release nothing; begin
                           the update, or continue it. Answered by APPLIED. */
    PS_DO_KEEP, /* Keep the current arrays, of `step`, as `kept`, in place of those kept before. */
    PS_DO_UNKEEP,        /* Release the arrays kept as `kept`. */
    PS_DO_ANSWER,        /* Send values to `conn` as those of `step`: which ones is in `values`. */
    PS_DO_ANSWER_CHUNKS, /* Send `count` chunks of the values of `step`, after the `first` last ones
                            of them, to `conn`. The update may still be making the others. */
    PS_DO_KEEP_LOOKUP,   /* Keep the event's body as the waiting lookup of `conn`. */
    PS_DO_ANSWER_LOOKUP, /* Send the rows of `step` that the event's body, or that of the waiting
                            lookup, names to `conn`. */
    PS_DO_REFUSE,        /* Send a refusal to `conn`, with this ps's generation and step. */
    PS_DO_LOAD,          /* Load `checkpoint` (0: initial values); one load at a time. */
    PS_DO_ADOPT,         /* The loaded arrays become the shard, which then has no previous step. */
    PS_DO_DISCARD,       /* The loaded arrays are no longer needed: release them. */
    PS_DO_FORGET,        /* The shard's arrays are no longer needed: release them. */
    PS_DO_SAVE,          /* Write arrays as `checkpoint` of `step`: which ones is in `values`. */
};

/* Which arrays. The kept ones are those of the last multiple of an interval: a worker may still
 * have to evaluate them, and an order to save them may still arrive. */
enum ps_values { VALUES_CURRENT, VALUES_PREVIOUS, VALUES_EVALUATION, VALUES_CHECKPOINT };

struct ps_action {
    enum ps_action_type type;
    conn_id conn;
    uint64_t generation;
    uint64_t step;
    uint64_t round; /* ANSWER, ANSWER_LOOKUP: of the question. */
    uint64_t checkpoint;
    uint32_t first, count;
    enum refusal refusal;
    enum ps_values values; /* ANSWER, SAVE, KEEP, UNKEEP; of the last two, a kept one. */
    bool previous;         /* SEND_PART. */
    bool waiting;          /* ANSWER_LOOKUP: the body is that of the waiting lookup. */
};

enum { PS_ACTIONS_MAX = SLICES_MAX + 2 * TRANSPORT_CONNECTIONS_MAX + 16, PS_SAVES_MAX = 2 };

/* To be carried out in this order. None can fail at once; MEASURE, APPLY, LOAD and SAVE are
 * answered by events. At most one action is an APPLY, APPLY_CHUNKS or MEASURE, whose parts are in
 * `parts`. */
struct ps_actions {
    uint32_t count;
    struct ps_action items[PS_ACTIONS_MAX];
    uint32_t part_count;
    struct slice_node parts[SLICES_MAX];
    /* APPLY_CHUNKS: the connections whose collected chunks they are; 0: they are in their slots. */
    conn_id part_conns[SLICES_MAX];
};

/* The state with which a ps continues with the arrays of a former process (P13). */
struct ps_memory {
    uint64_t generation, run_ms, step;
    bool begun, has_previous;
    uint64_t kept_evaluation, kept_checkpoint; /* The steps of what the driver keeps; 0: none. */
    uint64_t save_handled, saved_checkpoint, saved_step;
};

/* A lookup that waits for its step. */
struct ps_lookup {
    uint64_t step;
    uint64_t round;
    uint32_t number;
    bool waits; /* False: none does. */
};

/* A connection that pushed, pulled or looked up rows. */
struct ps_peer {
    conn_id conn;
    uint64_t wanted;          /* The step it waits for; 0: none. */
    uint64_t epoch, revision; /* The order that its last pull follows. */
    bool last;                /* `wanted` is the last step of that order. */
    uint64_t round;           /* In its last push or pull. */
    uint64_t answered;        /* The last step its pushes were answered with; 0: none. */
    uint32_t collected;       /* Chunks of the push that it is sending, */
    uint64_t pushed_step;     /* and the step and slices of that push. */
    struct slice_node pushed;
    bool by_lane;         /* Its last push or pull came through shared memory. */
    uint32_t grown;       /* Chunks of the values of the next step that were sent; 0: none. */
    uint64_t grown_round; /* Their round. */
    struct ps_lookup lookup;
};

struct ps_step {
    /* For reports and frames. */
    uint64_t generation; /* The one being served; 0: none. */
    uint64_t step;       /* Updates applied (async: of the slowest slice). */
    uint64_t saved_checkpoint, saved_step;
    uint64_t missed_checkpoint;    /* The newest that was not saved. */
    uint64_t late_checkpoint;      /* The newest whose order arrived after its step. */
    uint64_t waits_for_checkpoint; /* Training waits until this step is ordered or skipped; 0: for
                                      none. */
    uint64_t failed_load, failed_load_generation;
    enum load_missing failed_load_missing;
    uint64_t loading_generation; /* 0: no load is in progress. */
    uint64_t loading_checkpoint, loading_step;
    /* Async: to be stored with a saved shard. */
    uint64_t clock[SLICES_MAX];
    /* Private. */
    struct ps_step_config config;
    const struct ps_strategy *strategy;
    enum run_phase phase; /* In the last order. */
    uint64_t ordered_generation, ordered_checkpoint, ordered_step;
    uint64_t run_ms, ordered_run_ms; /* When the run of the generation, of the order began. */
    /* P13, P17: the update of the current step has begun, here or in a previous process. The
     * state of the step can no longer be saved; its values are complete and can be sent. */
    bool begun;
    uint32_t parts_done;      /* The last chunks that are updated, in this process, */
    uint32_t parts_applying;  /* and after the last APPLY_CHUNKS; 0: none is in progress. */
    bool recovered;           /* The generation is one of a previous process. */
    uint64_t epoch, revision; /* The last order. */
    uint64_t save_checkpoint, save_step;
    uint64_t end, gate;    /* In the last order. */
    uint64_t until;        /* The lower one of both. */
    uint64_t save_handled; /* Newest checkpoint whose save was begun or missed. */
    uint64_t interrupted;  /* The checkpoint that a former process was saving; 0: none. */
    uint32_t saves;        /* The number of entries of `saving`. */
    struct {
        uint64_t checkpoint, step;
    } saving[PS_SAVES_MAX]; /* In progress. */
    bool applying, has_previous;
    uint64_t evaluate_step, save_due;          /* In the last order. */
    uint64_t kept_evaluation, kept_checkpoint; /* Sync: the steps of the kept arrays; 0: none. */
    struct slice_set covered;                  /* Sync: the slices whose gradients are held. */
    struct lateness lateness;                  /* Sync: of the others. */
    uint64_t now_ms;                           /* The time of the last event. */
    uint32_t held_count[SLICES_MAX];           /* Slices of the node in slot i; 0: empty. */
    bool measuring, measured;                  /* The own part of the current step's norm. */
    bool has_previous_part;                    /* The driver keeps that of the step before. */
    uint64_t parts_held;                       /* A bit for each ps whose part has arrived. */
    uint64_t parked_step[SLICES_MAX];
    conn_id parked_conn[SLICES_MAX];
    uint32_t applying_slice;
    uint64_t applying_step;
    uint32_t peer_count;
    struct ps_peer peers[TRANSPORT_CONNECTIONS_MAX];
};

void ps_step_init(struct ps_step *step, const struct ps_step_config *config);

/* P13: continue from the state of a former process. Only in sync mode, before any event was
 * handled. */
void ps_step_recover(struct ps_step *step, const struct ps_memory *memory);

/* `actions` is overwritten. */
void ps_step_handle(struct ps_step *step, const struct ps_event *event, struct ps_actions *actions);

/* A bit for each other ps for whose part this ps waits. */
uint64_t ps_step_awaited_parts(const struct ps_step *step);

/* C23, sync: the slices of the current step that are late at `now_ms`. Returns how many times the
 * limit they have been late; 0: none is late. */
uint64_t ps_step_late(const struct ps_step *step, uint64_t now_ms, struct slice_set *late);
/* When that changes by itself; UINT64_MAX: never. */
uint64_t ps_step_deadline_ms(const struct ps_step *step, uint64_t now_ms);

/* Whether the last order has a gate. */
bool ps_step_has_gate(const struct ps_step *step);

/* The gate of the last order, if the shard contains nothing of a later step; otherwise 0. */
uint64_t ps_step_gate(const struct ps_step *step);

/* Whether the shard contains a part of the next step, so that the present one cannot be saved: a
 * begun update (P17), or async the updates of some slices. */
bool ps_step_is_beyond(const struct ps_step *step);

#endif
