/*
 * worker/training_loop.h: the training loop as a pure state machine: events in, actions out. It
 * reads no clock, allocates nothing and never sees a tensor; worker/worker.c moves them. Rules:
 * docs/protocol.md, section W.
 *
 * There are two arrays of values: the current one, whole and of one step, and the next one, which
 * fills with the shards as they come. So slices that become ours in the middle of a step are
 * computed from values that nobody overwrites.
 *
 *   IDLE     no orders, no slices, or an order to stand still before anything was gathered
 *   GATHER   pulling the newest values of every ps. Sync: where they differ, the least step counts
 *            and the ps ahead are asked for that one (they keep it). Async: any will do.
 *   WHOLE    the current values are of `step`. Below `until` the slices we own are computed and
 *            pushed; the answers are the values of step + 1: then the arrays are flipped.
 *
 *   IDLE -> GATHER    running or stopping, and slices are ours
 *   GATHER -> WHOLE   every ps has given values
 *   WHOLE -> WHOLE    every ps has given values of step + 1
 *   WHOLE -> GATHER   a ps says that our step is long gone; async: slices came when we were done
 *   any -> IDLE       another generation, or no slices any more
 *
 * Whatever a ps still needs is asked for again when its connection is new, or some time after it
 * refused. Duplicates are harmless there.
 *
 * Threads: the owner's. Nothing fails.
 */
#ifndef WORKER_TRAINING_LOOP_H
#define WORKER_TRAINING_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/job.h"
#include "common/cluster/run.h"
#include "common/cluster/slices.h"
#include "common/cluster/task.h"
#include "common/cluster/znodes.h"
#include "common/net/wire.h"

enum {
    LOOP_REFUSED_RETRY_MS = 20, /* A ps that loads says so at once and is asked again. */
    LOOP_GONE_RETRY_MS = 10,
};

struct training_loop_config {
    enum train_mode mode;
    uint32_t slices; /* V */
    uint32_t ps;     /* 1 to PS_MAX. */
    uint32_t index;  /* Which worker we are. */
};

enum loop_event_type {
    LOOP_EV_RUN,
    LOOP_EV_ASSIGNMENT,
    LOOP_EV_LINK_UP,   /* A new connection to `ps`: nothing was sent on it yet. */
    LOOP_EV_LINK_DOWN, /* What was sent may be lost. */
    LOOP_EV_VALUES,    /* Of `generation` and `step`; the driver has checked the size. */
    LOOP_EV_REFUSED,   /* For `refusal`; `generation` and `step` are the ps's own. */
    LOOP_EV_COMPUTED,  /* The last LOOP_DO_COMPUTE is done. */
    LOOP_EV_EVALUATED, /* The last LOOP_DO_EVALUATE is done. */
    LOOP_EV_TICK,      /* training_loop_deadline_ms() has passed. */
};

struct loop_event {
    enum loop_event_type type;
    uint64_t now_ms;
    uint32_t ps;
    uint64_t generation, step;
    uint64_t round; /* VALUES: of the question. */
    enum refusal refusal;
    const struct run *run;
    const struct assignment *assignment;
};

enum loop_action_type {
    LOOP_DO_TAKE,     /* Copy this event's body into the next values. Without it: ignore it. */
    LOOP_DO_SWAP,     /* The next values are whole: they become the current ones. */
    LOOP_DO_FORGET,   /* Release all gradients. */
    LOOP_DO_COMPUTE,  /* From the current values, of `step`: gradients of nodes[first_node
                                  ...]. */
    LOOP_DO_PUSH,     /* Send the gradients of nodes[first_node ...] to `ps`. */
    LOOP_DO_PULL,     /* Ask `ps` for `step`. */
    LOOP_DO_EVALUATE, /* The current values, of `step`. */
};

struct loop_action {
    enum loop_action_type type;
    uint32_t ps;
    uint64_t generation, step;
    uint64_t round; /* PUSH, PULL: to be sent, and to come back with the answer. */
    uint32_t first_node, node_count;
};

enum { LOOP_ACTIONS_MAX = 2 * PS_MAX + 8 };

/* To be carried out in this order; only COMPUTE and EVALUATE are awaited, by their events. */
struct loop_actions {
    uint32_t count;
    struct loop_action items[LOOP_ACTIONS_MAX];
};

enum loop_state { LOOP_IDLE, LOOP_GATHER, LOOP_WHOLE };

struct loop_ps {
    bool up;
    bool held; /* The next values have its shard ... */
    uint64_t held_step;
    bool asked;    /* GATHER: a pull is under way on this connection. */
    uint32_t sent; /* WHOLE: nodes sent on this connection. */
    uint64_t retry_at_ms;
};

struct training_loop {
    /* For reports, log lines and the driver. */
    enum loop_state state;
    uint64_t generation;                 /* That it works in; 0: none yet. */
    uint64_t round;                      /* Counts beginnings; answers to older ones are ignored. */
    uint64_t step;                       /* Of the current values; kept while gathering. */
    uint64_t progress_ms;                /* When state or step changed last. */
    struct slice_node nodes[SLICES_MAX]; /* Gradients made for `step`, in the order of making. */
    uint32_t node_count;
    struct loop_ps ps[PS_MAX];
    /* Private. */
    struct training_loop_config config;
    enum run_phase phase;
    uint64_t until, evaluate_step;
    uint64_t gather_step; /* STEP_LATEST or the least. */
    struct slice_set owned, done;
    bool computing, evaluating;
    uint64_t evaluated_step; /* In this generation; STEP_NONE: never. */
};

void training_loop_init(struct training_loop *loop, const struct training_loop_config *config);
/* `actions` is overwritten. */
void training_loop_handle(struct training_loop *loop, const struct loop_event *event,
                          struct loop_actions *actions);
uint64_t training_loop_deadline_ms(const struct training_loop *loop); /* UINT64_MAX: none. */

/* Is it bound to have the values of ps `index` next? For "waiting for ps:1". */
bool training_loop_waits_for(const struct training_loop *loop, uint32_t index);

#endif
