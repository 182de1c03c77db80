/* worker/worker_private.h: shared by worker.c (the reactor), worker_actions.c (the actions of the
 * core) and worker_push.c (pushes); no other file includes it. */
#ifndef WORKER_WORKER_PRIVATE_H
#define WORKER_WORKER_PRIVATE_H

#include "common/net/chunks.h"
#include "common/node/membership.h"
#include "common/node/peer_links.h"
#include "common/node/worker_watch.h"
#include "worker/compute.h"
#include "worker/evaluation_timer.h"
#include "worker/gradients.h"
#include "worker/row_lookup.h"
#include "worker/slice_timer.h"
#include "worker/training_loop.h"
#include "worker/value_array.h"
#include "worker/worker.h"

enum { FOLLOW_UPS_MAX = 4 };

/* The gradient that is being computed and sent. */
struct push_ahead {
    const struct loop_action *action; /* NULL: none. */
    uint32_t node;
    const float *sum;
    bool diverged;           /* Some element is not finite. */
    uint64_t unsent[PS_MAX]; /* Floats of each shard that were not sent, from its beginning on. */
};

struct worker {
    struct worker_config config;
    struct node_ports ports;
    struct membership membership;
    struct worker_watch watch;
    struct links links;
    struct chunks answers[PS_MAX]; /* The chunks of answers on each link. */
    struct training_loop core;
    struct loop_actions actions;
    struct compute compute;
    struct placement places[PS_MAX];
    bool has_averages; /* The ps send a moving average with the values. */
    /* All parameters, and behind them their averages; see worker/training_loop.h. */
    struct value_array arrays[2], *current, *next;
    struct gradients gradients; /* The gradients of core.nodes. */
    struct push_ahead ahead;
    double losses[SLICES_MAX];             /* Their losses. */
    struct row_lookup *lookup;             /* NULL: the model has no tables. */
    uint32_t lookup_numbers[PS_MAX];       /* Numbers of the last LOOKUP frames, by ps. */
    bool lookup_asked[PS_MAX];             /* Such a frame has no answer yet. */
    struct row_sums node_rows[SLICES_MAX]; /* The gradients of rows of core.nodes. */
    struct slice_timer timer;
    struct evaluation_timer evaluation_timer;
    struct evaluation evaluation; /* The newest of this generation. */
    uint64_t now_ms;
    struct loop_event follow_ups[FOLLOW_UPS_MAX];
    uint32_t follow_up_count;
    uint64_t wait_logged_at_ms;
    uint64_t drain_until_ms; /* Latest time to leave after a request; 0: there was none. */
    bool finished;
    int exit_code;
};

/* The node leaves with the first code. */
void worker_finish(struct worker *worker, int exit_code);

/* Send a frame to a ps. */
void worker_send(struct worker *worker, uint32_t ps, struct frame_header header,
                 struct buffer *body);
/* The connection to a ps has opened. False: the job demands shared memory, so it is being
 * closed. */
bool worker_accepts_lane(struct worker *worker, uint32_t ps, bool by_lane);
/* As struct gradient_places of `worker`. */
struct buffer *worker_reserve(void *worker, uint32_t ps, uint32_t line, size_t bytes);
/* Memory for gradients ran out: log it and leave. */
void worker_out_of_memory(struct worker *worker);

/* `event` is what the core handles next. */
void worker_follow_up(struct worker *worker, struct loop_event event);

/* worker_rows.c: rows of tables. Without tables, opening, closing, pushing and
 * worker_rows_computed() do nothing. */
MUST_CHECK enum tn_status worker_rows_open(struct worker *worker, struct error *error);
void worker_rows_close(struct worker *worker);
/* Rows of a lookup may have arrived at other workers, and a question may have ended: `*event` is
 * the next event for the core. False: there is none. Call it after each event until then. */
bool worker_rows_follow(struct worker *worker, struct loop_event *event);
/* LOOP_DO_LIST, LOOP_DO_LOOKUP. */
void worker_rows_list(struct worker *worker, const struct loop_action *action);
void worker_rows_look_up(struct worker *worker, const struct loop_action *action);
/* Why a frame ROWS is not valid, or NULL. `*wanted`: its rows were taken, and `*more` is whether
 * others are left; else it answers an older question. */
const char *worker_rows_take(struct worker *worker, uint32_t ps,
                             const struct transport_event *event, bool *wanted, bool *more);
/* Send the gradients of the rows of a node that `ps` has; `header`: of the push that follows. */
void worker_rows_push(struct worker *worker, uint32_t ps, uint32_t node,
                      const struct frame_header *header);
/* A node was computed: keep the gradients of its rows. False: they are not finite. */
bool worker_rows_computed(struct worker *worker, uint32_t node);

/* LOOP_DO_PUSH. */
void worker_push(struct worker *worker, const struct loop_action *action);
/* LOOP_DO_COMPUTE computes node number `node` into `sum`. */
void worker_push_ahead_begin(struct worker *worker, const struct loop_action *action, uint32_t node,
                             const float *sum);
/* A compute_watch: of the sum, elements [first, end) are final. */
void worker_push_ahead(void *worker, uint64_t first, uint64_t end);

/* `body` is that of the event that the core has handled; it is only read, and may stay in use. */
void worker_carry_out(struct worker *worker, const struct loop_action *action, struct buffer *body);

#endif
