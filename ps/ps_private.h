/* ps/ps_private.h: shared by ps.c (the reactor) and ps_actions.c (the actions of the core); no
 * other file includes it. */
#ifndef PS_PS_PRIVATE_H
#define PS_PS_PRIVATE_H

#include "common/node/membership.h"
#include "ps/checkpoint_client.h"
#include "ps/losses.h"
#include "ps/norms.h"
#include "ps/ps.h"
#include "ps/ps_clients.h"
#include "ps/ps_peers.h"
#include "ps/shard.h"
#include "ps/shard_rows.h"
#include "ps/step.h"

enum { FOLLOW_UPS_MAX = 4 };

struct ps {
    struct ps_config config;
    struct node_ports ports;
    struct membership membership;
    struct ps_step core;
    struct ps_actions actions;
    struct shard shard;
    struct shard_rows rows;
    struct ps_clients clients;
    struct norms norms;
    struct kept_memory *kept;                  /* NULL: nothing outlives this process. */
    uint64_t kept_evaluation, kept_checkpoint; /* The steps of what the shard keeps; 0: nothing. */
    struct losses own_losses, *losses;         /* These, or those in `kept`. */
    struct losses_observer observer;
    struct ps_peers peers;
    struct checkpoint_client checkpoints;
    uint64_t now_ms;
    /* Results of actions that complete at once; the core handles them next. */
    struct ps_event follow_ups[FOLLOW_UPS_MAX];
    uint32_t follow_up_count;
    uint64_t clocks[SLICES_MAX];
    bool has_clocks;
    uint64_t incoming_updates; /* Updates in the arrays that wait to be adopted. */
    uint64_t load_began_ms;
    uint64_t leave_at_ms;    /* Latest time to leave after the run's end. UINT64_MAX: no end yet. */
    uint64_t drain_until_ms; /* Latest time to leave after a request; 0: there was none. */
    uint64_t refusals, log_refusals_at_ms;
    double frame_loss; /* The loss in the frame that is being handled. */
    uint8_t frame_type;
    bool is_probe; /* The frame being handled only asks for this ps's step. */
    bool finished;
    int exit_code;
    char place[sizeof((struct report *)0)->place];
};

/* ps_kept.c: P13. */
/* Continue from the state of a former process, if all of it was kept. */
void ps_kept_recover(struct ps *ps);
/* The shard and the core are at `step` now or, if an update has begun, about to leave it. */
void ps_kept_write(struct ps *ps, uint64_t step);
/* The kept memory is empty from now on: a successor finds no state. */
void ps_kept_clear(struct ps *ps);

/* Keep or release arrays of the shard, as PS_DO_KEEP and PS_DO_UNKEEP request; `step` 0:
 * release. */
void ps_kept_arrays(struct ps *ps, enum ps_values values, uint64_t step);

/* ps_rows.c: frames with rows of tables. */
/* Why a LOOKUP or PUSH_ROWS is not valid, or NULL: then it is counted in `begun`. */
const char *ps_rows_fault(struct ps *ps, const struct transport_event *event,
                          struct ps_client *client);
/* Why a frame of another type may not follow the rows that `begun` has, or NULL. */
const char *ps_rows_order_fault(const struct ps_client *client, const struct frame_header *header);
/* PS_DO_COLLECT of a PUSH_ROWS, PS_DO_ANSWER_LOOKUP, and the rows of PS_DO_APPLY. Out of memory:
 * the ps has finished. */
void ps_rows_collect(struct ps *ps, struct ps_client *client, const struct buffer *body);
/* Move the rows of the push into slot `first`. */
void ps_rows_hold(struct ps *ps, uint32_t first, struct ps_client *client);
void ps_rows_answer(struct ps *ps, const struct ps_action *action, const struct buffer *body);
bool ps_rows_apply(struct ps *ps, uint64_t step);
/* Answer an observer's request for statistics. */
void ps_rows_answer_tables(struct ps *ps, const struct transport_event *event);
/* The loads of its buckets of rows, to an observer; none if the model has no tables. */
void ps_rows_answer_buckets(struct ps *ps, const struct transport_event *event);

/* Send a frame under the newest epoch that this ps knows. Takes one reference of `body`, which may
 * be NULL. */
void ps_send(struct ps *ps, conn_id conn, struct frame_header header, struct buffer *body);

/* The node leaves with the first code. */
void ps_finish(struct ps *ps, int exit_code);
/* The node leaves because memory ran out, or the GPU of its shard failed. */
void ps_shard_failed(struct ps *ps);

/* `*body` is that of the event that the core has handled; NULL afterwards if the shard holds it. */
void ps_carry_out(struct ps *ps, const struct ps_action *action, struct buffer **body);

/* Answer an observer's request for losses. */
void ps_answer_losses(struct ps *ps, const struct transport_event *event);

#endif
