/*
 * mirror/replica.h: one replica of all values, in the process of a worker that trains without ps,
 * as a pure state machine: events in, actions out. It reads no clock, allocates nothing, draws no
 * random number and never sees a tensor; the driver (mirror/mirror_worker.h) moves tensors.
 *
 * Each worker keeps all values (parameters and optimizer state) of one step. The vector is cut into
 * `ranges` ranges, and each has an owner, which adds the gradients of the slices along the fixed
 * tree (A5) and gives the sum to each worker that asks (M3). All apply the same sums to the same
 * values, so all values have the same bits. Gradients, sums and values are functions of the job
 * (M1, A2 to A6): two owners, a former owner or a late frame can only repeat the same bits. So a
 * range moves by one /assignment, without a handshake, and its new owner has nothing to take over.
 * Workers of one host push to a relay instead, which adds for the owner (M14).
 *
 *   EMPTY   no values. Loads the ordered checkpoint, or asks a peer for its values.
 *   WHOLE   the values of `step`. Below the limit of the orders it computes its slices, pushes them
 *           to the owner of each range, or to the relay of its host (a push is also the question
 *           for the sum), collects the sums of all ranges and applies them: step + 1.
 *
 *   EMPTY -> WHOLE   the ordered checkpoint is loaded; the values of a peer have arrived
 *   WHOLE -> WHOLE   all sums of the step, or the values of a peer that is further, have arrived
 *   any -> EMPTY     another generation is ordered
 *
 * Nothing else releases values: while one worker has them, no step is lost. Rules:
 * docs/protocol.md, section M.
 *
 * Threads: the owner's. Nothing fails.
 */
#ifndef MIRROR_REPLICA_H
#define MIRROR_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/lateness.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/cluster/task.h"
#include "common/cluster/znodes.h"
#include "mirror/ranges.h"

enum {
    REPLICA_KEEP_MAX = 3,       /* Steps back whose sums are kept. */
    REPLICA_WAITERS_MAX = 1024, /* Questions that wait for a sum; others are refused. */
    REPLICA_RETRY_MS = 20,
    REPLICA_NONE = UINT16_MAX,       /* As a worker. */
    REPLICA_ALL_RANGES = UINT16_MAX, /* As a range: refusals of questions for values. */
    REPLICA_NOT_OWN = UINT16_MAX,    /* As an own node. */
};

enum replica_refusal {
    REPLICA_NOT_HERE,  /* Another generation, no values, or behind: ask again later. */
    REPLICA_NOT_OWNER, /* In its view of /assignment: ask again later. */
    REPLICA_GONE,      /* The peer no longer keeps the sums of that step: ask for its values. */
};

enum replica_event_type {
    REPLICA_EV_RUN,
    REPLICA_EV_ASSIGNMENT,
    REPLICA_EV_LINK_UP,     /* A new connection to `peer`, on which nothing was sent yet, with
                               `is_near`. */
    REPLICA_EV_LINK_DOWN,   /* Frames sent on it may be lost. */
    REPLICA_EV_CONN_CLOSED, /* Connection `conn`, on which a peer asked, is over. */
    /* Questions of worker `peer`, on `conn`. */
    REPLICA_EV_PUSH,        /* The gradient of `node`, `range`, from the values of `step`. */
    REPLICA_EV_PULL,        /* Asks for the sum of `range` and `step`. */
    REPLICA_EV_PULL_VALUES, /* `step`: its own, or STEP_NONE without values. */
    /* Answers, from `peer`. */
    REPLICA_EV_SUM,     /* The sum of `range` and `step`. */
    REPLICA_EV_VALUES,  /* The values of `step`. */
    REPLICA_EV_REFUSED, /* `generation` and `step` are those of `peer`. */
    /* The end of an action. */
    REPLICA_EV_COMPUTED,
    REPLICA_EV_EVALUATED,
    REPLICA_EV_ABLE, /* The group can compute gradients, or cannot: M13. A computation that runs
                        when it becomes unable has no result. */
    REPLICA_EV_UNABLE,
    REPLICA_EV_LOADED, /* `generation` and `step` are those of the order. */
    REPLICA_EV_TICK,   /* replica_deadline_ms() has passed. */
};

/* Bodies of frames stay with the driver. Questions and answers are whole: the driver has collected
 * their chunks, and has checked sizes, ranges and nodes. */
struct replica_event {
    enum replica_event_type type;
    uint64_t now_ms;
    uint32_t conn, peer;
    uint64_t generation, step;
    uint32_t range;
    bool is_near;           /* LINK_UP: the peer is on the host of this worker. */
    uint64_t evaluation_ms; /* COMPUTED: about as long as an evaluation takes here; 0: unknown. */
    struct slice_node node;
    enum replica_refusal refusal;
    const struct run *run;
    const uint16_t *writers; /* RUN: of each range of the ordered checkpoint. */
    const struct assignment *assignment;
};

enum replica_action_type {
    REPLICA_DO_HOLD,   /* Keep the event's gradient for (range, step, node.first). */
    REPLICA_DO_REDUCE, /* Add `part_count` parts to the sum of (range, step). The gradients that are
                          held for it can be released. */
    REPLICA_DO_TAKE,   /* The event's body is the sum of (range, step). */
    REPLICA_DO_APPLY,  /* Apply the sums of `step`: the values of step + 1. Release the gradients
                          held for `step`, and the sums that are no longer kept. */
    REPLICA_DO_FORGET, /* Release the own gradients. */
    REPLICA_DO_DROP,   /* Release all gradients held for steps below `step`; STEP_NONE: all. */
    REPLICA_DO_ANSWER, /* Send the sum of (range, step) on `conn`. */
    REPLICA_DO_REFUSE, /* On `conn`, with the own generation and step. */
    REPLICA_DO_COMPUTE,     /* The gradients of nodes[first_node ...], from the values of `step`. */
    REPLICA_DO_PUSH,        /* The gradients of nodes[first_node ...], `range`, to `peer`. */
    REPLICA_DO_FORWARD,     /* Add `part_count` parts up to the fewest nodes of (range, step), hold
                               these in place of the parts, and push them to `peer`. */
    REPLICA_DO_PULL,        /* The sum of (range, step), from `peer`. */
    REPLICA_DO_PULL_VALUES, /* From `peer`. */
    REPLICA_DO_SEND_VALUES, /* The values of `step`, on `conn`, all of one step. */
    REPLICA_DO_ADOPT,       /* The event's body replaces the values; they are of `step`. */
    REPLICA_DO_LOAD,        /* `checkpoint`, of `step`; 0: make the initial values. */
    REPLICA_DO_SAVE,        /* `range` of the values, as part of `checkpoint`. */
    REPLICA_DO_MISS,        /* `range` of `checkpoint` cannot be saved: its step is over. */
    REPLICA_DO_EVALUATE,    /* The values, which are of `step`. */
};

struct replica_action {
    enum replica_action_type type;
    enum replica_refusal refusal;
    uint32_t conn, peer, range;
    uint64_t generation, step, checkpoint;
    struct slice_node node;
    uint32_t first_node, node_count; /* COMPUTE, PUSH. */
    uint32_t first_part, part_count; /* REDUCE, FORWARD: of parts[]. */
};

/* A term of a sum: an own gradient, or one that is held in the slot of its first slice. */
struct replica_part {
    uint16_t first, count; /* Slices. */
    uint16_t own;          /* Index in nodes[]; REPLICA_NOT_OWN: it is held. */
};

enum {
    REPLICA_ACTIONS_MAX = REPLICA_WAITERS_MAX + 13 * RANGES_MAX + 16,
    REPLICA_PARTS_MAX = 3 * RANGES_MAX * SLICES_MAX,
};

/* To be carried out in this order. COMPUTE, EVALUATE and LOAD are answered by events, and nothing
 * else is awaited. A LOAD that fails is not answered. */
struct replica_actions {
    uint32_t count, part_count;
    struct replica_action items[REPLICA_ACTIONS_MAX];
    struct replica_part parts[REPLICA_PARTS_MAX];
};

struct replica_config {
    uint32_t workers, ranges, slices, index;
    uint32_t keep_sums; /* Sums of this number of steps back are kept, 0 to REPLICA_KEEP_MAX. */
    bool begins_unable; /* The replica computes nothing before REPLICA_EV_ABLE. */
};

/* The question for the sum of a range at the current step. */
struct replica_ask {
    uint16_t to;                /* REPLICA_NONE: not asked. */
    uint16_t sent;              /* Nodes pushed there. */
    uint16_t held;              /* Own nodes that were considered for the own sum. */
    bool pulled;                /* Asked by a pull, without a push. */
    uint64_t again_ms;          /* The question is not repeated before this time. */
    struct slice_set forwarded; /* Held gradients that were pushed there. */
    /* M14: */
    bool is_direct;    /* The owner is asked for the rest of the step, not the relay. */
    uint64_t since_ms; /* The own gradients are complete since then; 0: not yet. */
};

/* The gradients held for one range and step. */
struct replica_sum {
    struct slice_set covered;
    uint16_t count[SLICES_MAX]; /* Slices of the node in this slot; 0: none. */
    uint16_t own[SLICES_MAX];   /* Its index in nodes[], or REPLICA_NOT_OWN. */
};

struct replica_waiter {
    uint32_t conn, range;
    uint64_t step;
};

struct replica {
    /* For reports, log lines and the driver. */
    bool whole;
    uint64_t generation, step;
    uint64_t epoch, revision; /* The number of the last order (M8). */
    uint64_t progress_ms;     /* When `whole`, `generation` or `step` changed last. */
    bool computing, evaluating;
    struct slice_node nodes[SLICES_MAX]; /* With gradients of `step`, in order of computation. */
    uint32_t node_count;
    /* Private. */
    struct replica_config config;
    bool is_able;
    uint32_t computing_count; /* The last ones of nodes[], whose gradients are being computed. */
    uint64_t now_ms;
    struct run run;
    uint16_t writers[RANGES_MAX];
    struct slice_set owned;
    uint16_t owners[RANGES_MAX]; /* The owner of each range, or REPLICA_NONE. */
    uint16_t relays[RANGES_MAX]; /* The relays of this host, or REPLICA_NONE. */
    bool is_near[WORKERS_MAX];   /* On this host, when it was connected last. */
    struct assignment assignment;
    bool link_up[WORKERS_MAX];
    struct slice_set done; /* Slices of `step` that are in nodes[]. */
    bool have[RANGES_MAX]; /* The sums of `step`. */
    uint64_t kept_from;    /* The sums of [kept_from, step) are kept. */
    struct replica_ask asks[RANGES_MAX];
    struct replica_sum sums[RANGES_MAX][2]; /* The sums of `step` and the next one, by parity. */
    uint32_t waiter_count;
    struct replica_waiter waiters[REPLICA_WAITERS_MAX];
    uint16_t ahead;       /* A peer that is further (M5), or REPLICA_NONE. */
    uint16_t donor;       /* The peer that is asked for values, or is next. */
    bool fetching;        /* It was asked. */
    bool is_behind;       /* The sums that it lacks are no longer kept (M7). */
    uint64_t fetch_at_ms; /* The next peer is not asked before this time. */
    uint64_t probe_at_ms; /* M6; 0: the step has just begun. */
    uint16_t probed;      /* The peer asked last. */
    /* Peers that have not answered since they were asked, at this step and on this connection. */
    bool is_probed[WORKERS_MAX];
    struct lateness lateness; /* The time of the other workers (M12). */
    uint64_t loading_generation;
    uint64_t handled_checkpoint; /* The last order that was carried out. */
    uint64_t evaluated_step;     /* The last one of this generation; STEP_NONE: none. */
    bool awaits_evaluation;      /* The evaluation of `step`, since `evaluation_since_ms`. */
    uint64_t evaluation_since_ms, evaluation_ms;
};

void replica_init(struct replica *r, const struct replica_config *config);
/* `actions` is overwritten. Cannot fail: late, repeated and misplaced events change nothing. */
void replica_handle(struct replica *r, const struct replica_event *event,
                    struct replica_actions *actions);
uint64_t replica_deadline_ms(const struct replica *r); /* UINT64_MAX: none. */

/* C16: the gate of the last order, if the values do not and will not belong to a later step;
 * otherwise 0. For reports. */
uint64_t replica_gate(const struct replica *r);
/* The step of a checkpoint that is due but neither ordered nor skipped, if this replica waits for
 * the order; otherwise 0. For reports. */
uint64_t replica_waits_for_checkpoint(const struct replica *r);
/* C23, M12: the slices whose workers delay the current step at `now_ms`. Returns how many times
 * `*after_ms` they have been late; 0: none is. */
uint64_t replica_late(const struct replica *r, uint64_t now_ms, struct slice_set *late,
                      uint64_t *after_ms);
/* The first range whose sum is lacking, and the worker that owns it, or REPLICA_NONE; false: it
 * waits for no sum. For log lines and reports. */
bool replica_waits_for(const struct replica *r, uint32_t *range, uint32_t *worker);

#endif
