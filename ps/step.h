/*
 * ps/step.h: what a parameter server does with orders, pushes and pulls, as a pure state machine:
 * events in, actions out. It reads no clock, allocates nothing and never sees a tensor: it says
 * which buffers are kept, summed, sent and saved, and ps/ps.c moves them. Rules: docs/protocol.md,
 * section P.
 *
 *   NOTHING  --order to load-->  LOADING  --loaded-->  SERVING  --order of a new generation-->
 * LOADING LOADING  --failed-->  NOTHING (reported; waits for another order)
 *
 * Sync: the pushes of step s are held until they cover all slices, then applied as one update; who
 * pushed is answered with the values of s + 1, once a connection and step. Nodes of the tree are
 * nested or disjoint, so a push is either known already (dropped: same bits), or new, or takes the
 * place of held nodes below it.
 *
 * Async: a push is one slice's gradient and an update of its own. Each slice has a clock, the step
 * it contributes to next: a push below it is a duplicate and dropped, one above it would leave
 * something out and is refused. The shard's step is the smallest clock. A push is parked, at most
 * one a slice, while it is more than `max_staleness` steps ahead, or at or beyond the step of an
 * ordered checkpoint that some slice has not reached: so a checkpoint holds the same contributions
 * on every ps. Pushes are not answered; a pull of step w is, when nothing of its connection is
 * parked and w is at most `max_staleness` ahead; of the step where training stands, when it is
 * whole.
 *
 * Threads: the owner's. Nothing fails: capacities are those of the transport and of the slices.
 */
#ifndef PS_STEP_H
#define PS_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/job.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/net/transport.h"
#include "common/net/wire.h"

struct ps_step_config {
    enum train_mode mode;
    uint32_t slices;        /* V, 1 to SLICES_MAX. */
    uint64_t max_staleness; /* Async; STALENESS_FREE: unbounded. */
};

enum ps_event_type {
    PS_EV_RUN,  /* `run` is what /run says now. */
    PS_EV_PUSH, /* The driver has checked that it is a node (async: one slice) and its size. */
    PS_EV_PULL, /* `step` may be STEP_LATEST. */
    PS_EV_CONN_CLOSED, /* Nothing can be sent there any more. */
    PS_EV_APPLIED,     /* The update of the last PS_DO_APPLY is in the arrays. */
    PS_EV_LOADED,      /* The last PS_DO_LOAD is done; its arrays wait for PS_DO_ADOPT. */
    PS_EV_LOAD_FAILED,
    PS_EV_SAVED, /* Checkpoint `checkpoint` is durable here. */
    PS_EV_SAVE_FAILED,
};

struct ps_event {
    enum ps_event_type type;
    conn_id conn;
    uint64_t generation;
    uint64_t step;       /* PUSH, PULL. */
    uint64_t round;      /* PUSH, PULL: the sender's, to be given back with the answer. */
    uint64_t checkpoint; /* SAVED, SAVE_FAILED. */
    uint32_t first, count;
    const struct run *run;
    const uint64_t *clocks; /* LOADED, async: `slices` clocks kept with the shard, or NULL. */
};

enum ps_action_type {
    PS_DO_HOLD,        /* Keep this event's body in slot `first`, instead of what is there. */
    PS_DO_DROP,        /* Release this event's body. */
    PS_DO_RELEASE,     /* Release slot `first`. */
    PS_DO_RELEASE_ALL, /* Release every slot. */
    PS_DO_APPLY,       /* Make the next values of the sum of `parts`; release their slots. */
    PS_DO_ANSWER,      /* Send values to `conn`, labelled `step`: current or `previous`. */
    PS_DO_REFUSE,      /* Send a refusal to `conn`, with our generation and step. */
    PS_DO_LOAD,        /* Get `checkpoint` (0: initial values); one load at a time. */
    PS_DO_ADOPT,       /* What was loaded is now the shard; there is no previous step. */
    PS_DO_DISCARD,     /* What was loaded is not wanted any more. */
    PS_DO_FORGET,      /* The shard's values are of no use any more: release them. */
    PS_DO_SAVE,        /* Write the current arrays as `checkpoint` of `step`. */
};

struct ps_action {
    enum ps_action_type type;
    conn_id conn;
    uint64_t generation;
    uint64_t step;
    uint64_t round; /* ANSWER: of the push or pull. */
    uint64_t checkpoint;
    uint32_t first, count;
    enum refusal refusal;
    bool previous;
};

enum { PS_ACTIONS_MAX = SLICES_MAX + TRANSPORT_CONNECTIONS_MAX + 16 };

/* To be carried out in this order; none can fail, none is awaited but APPLY, LOAD and SAVE, by
 * their events. At most one of these is an APPLY: its parts are below. */
struct ps_actions {
    uint32_t count;
    struct ps_action items[PS_ACTIONS_MAX];
    uint32_t part_count;
    struct slice_node parts[SLICES_MAX];
};

/* A connection that has pushed or pulled. */
struct ps_peer {
    conn_id conn;
    uint64_t wanted;   /* Step it waits for; 0: none. */
    uint64_t round;    /* Of what it sent last. */
    uint64_t answered; /* Last step its pushes were answered with; 0: none. */
};

struct ps_step {
    /* For reports and frames. */
    uint64_t generation; /* Loaded and whole; 0: none. */
    uint64_t step;       /* Updates applied (async: by the slowest slice). */
    uint64_t saved_checkpoint, saved_step;
    uint64_t missed_checkpoint, late_checkpoint; /* Missed, and for which reason. */
    uint64_t failed_load, failed_load_generation;
    uint64_t loading_generation; /* 0: nothing is being loaded. */
    uint64_t loading_checkpoint, loading_step;
    /* Async: to be kept with a saved shard. */
    uint64_t clock[SLICES_MAX];
    /* Private. */
    struct ps_step_config config;
    enum run_phase phase; /* Of the last order. */
    uint64_t ordered_generation, ordered_checkpoint, ordered_step;
    uint64_t save_checkpoint, save_step;
    uint64_t until;        /* Async: a step that is answered only when it is whole. */
    uint64_t save_handled; /* Highest order begun or missed. */
    uint32_t saves;        /* In the store's hands ... */
    struct {
        uint64_t checkpoint, step;
    } saving[2]; /* ... these. */
    bool applying, has_previous;
    struct slice_set covered;        /* Sync: slices in the slots. */
    uint32_t held_count[SLICES_MAX]; /* Count of the node in slot i; 0: empty. */
    uint64_t parked_step[SLICES_MAX];
    conn_id parked_conn[SLICES_MAX];
    uint32_t applying_slice;
    uint64_t applying_step;
    uint32_t peer_count;
    struct ps_peer peers[TRANSPORT_CONNECTIONS_MAX];
};

void ps_step_init(struct ps_step *step, const struct ps_step_config *config);

/* `actions` is overwritten. */
void ps_step_handle(struct ps_step *step, const struct ps_event *event, struct ps_actions *actions);

#endif
