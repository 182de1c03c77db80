/*
 * group/group_private.h: shared by the files of a group's worker; no other file includes it.
 *
 *   group_worker.c     the reactor
 *   group_head.c       the head: the training loop, its actions, orders to compute
 *   group_values.c     values and gradients of a member, and its connections to its ps
 *   group_evaluate.c   evaluations: the head's, and a member's part in them
 *   group_results.c    the head's sums of the results of an evaluation, and the metrics
 *   group_digest.c     the digest of the values that are evaluated
 */
#ifndef GROUP_GROUP_PRIVATE_H
#define GROUP_GROUP_PRIVATE_H

#include "common/base/digest.h"
#include "common/net/assembly.h"
#include "common/node/membership.h"
#include "common/node/peer_links.h"
#include "common/node/worker_watch.h"
#include "group/chunk_evaluation.h"
#include "group/examples.h"
#include "group/group_worker.h"
#include "group/layout.h"
#include "group/member.h"
#include "group/value_labels.h"
#include "model/training.h"
#include "worker/evaluation_details.h"
#include "worker/evaluation_timer.h"
#include "worker/gradients.h"
#include "worker/recent_losses.h"
#include "worker/slice_timer.h"
#include "worker/training_loop.h"

/* The answers of a ps. */
struct group_answer {
    struct assembly assembly;
    struct buffer *values; /* The newest ones that were not taken, with one reference; or NULL. */
};

/* At the head: the nodes that are computed one after the other. */
struct group_orders {
    bool is_active, is_done; /* `is_done`: all members have computed the present one. */
    uint64_t generation, step;
    uint32_t next, count;
    struct slice_node nodes[SLICES_MAX];
    uint64_t since_ns, slices;
};

/* At the head: an evaluation. First the chunks, then the digest, variable by variable. */
struct group_evaluating {
    bool is_active;
    struct value_label label;
    uint32_t chunk;
    struct evaluation_sum sum;
    struct evaluation_details details;
    struct digest_stream digest;
    uint32_t variable;
    uint64_t at;       /* The first float of it that is not in the digest. */
    bool is_requested; /* Its member was asked for the next floats. */
    uint64_t begun_ns;
};

struct group_worker {
    struct worker_config config;
    struct node_ports ports;
    struct membership membership;
    struct worker_watch watch;
    struct links links;                  /* To all ps; only those of this member are used. */
    uint32_t index, members, first_task; /* In its group. */
    struct training_cut cut;
    struct evaluation_cut evaluation_cut;
    struct group_layout layout;
    struct group_member *member;
    struct group_examples examples;
    struct error error; /* The error of the event that is being handled. */

    /* Values of this member, and what it has computed of the step of the current ones. */
    struct buffer *current, *next;
    struct value_labels labels; /* The steps of these values. */
    struct group_answer answers[PS_MAX];
    struct gradients gradients; /* The gradients of labels.nodes[]. */
    double losses[SLICES_MAX];

    /* The head's. */
    struct training_loop core;
    struct loop_actions actions;
    struct value_label feeding; /* The label of the values that the core decides on. */
    struct group_orders orders;
    struct slice_timer timer;
    struct evaluation_timer evaluation_timer;
    struct recent_losses recent;
    struct evaluation evaluation; /* The newest of this generation. */
    struct group_evaluating evaluating;
    const char *metrics[METRICS_OWN_MAX + 1];
    double target_spread;
    struct buffer *test_labels,
        *test_targets; /* For one chunk; NULL: the model does not read them. */
    struct tn_view labels_view, targets_view;

    struct chunk_evaluation *evaluator; /* NULL: the data have no test set. */
    uint64_t now_ms;
    uint64_t wait_since_ms, wait_logged_at_ms;
    uint64_t drain_until_ms; /* Latest time to leave after a request; 0: there was none. */
    bool finished;
    int exit_code;
};

static inline bool group_is_head(const struct group_worker *worker)
{
    return worker->index == 0;
}

/* Whether the current values of this member are those of the label's step. */
static inline bool group_has_values_of(const struct group_worker *worker,
                                       const struct schedule_label *label)
{
    return value_labels_are_current(&worker->labels,
                                    (struct value_label){label->generation, label->step});
}

/* The node leaves with the first code. */
void group_finish(struct group_worker *worker, int exit_code);
/* An error of a computation: log it and leave. */
void group_failed(struct group_worker *worker, enum tn_status status);
uint32_t group_owner_of(const struct group_worker *worker, uint32_t ps);

/* group_head.c */
void group_feed(struct group_worker *worker, struct loop_event event);
/* Something that a ps of the group has answered: VALUES that its owner has, or REFUSED. */
void group_head_answer(struct group_worker *worker, uint32_t ps, const struct frame_header *header);
/* An order is done by all members: continue with the next one. */
void group_head_continue(struct group_worker *worker);

/* group_values.c */
MUST_CHECK enum tn_status group_values_open(struct group_worker *worker, struct error *error);
void group_values_close(struct group_worker *worker);
/* An attempt is over. */
void group_values_reset(struct group_worker *worker);
/* An event of the connection to a ps of this member. */
void group_values_transport(struct group_worker *worker, uint32_t ps,
                            const struct transport_event *event);
/* The connection to a ps was closed, because it is another process. */
void group_values_lost(struct group_worker *worker, uint32_t ps);
/* Send a PUSH or PULL. */
void group_values_send(struct group_worker *worker, uint32_t ps, struct frame_header header);
/* False: these values have not arrived. */
bool group_values_take(struct group_worker *worker, uint32_t ps, struct value_label label);
bool group_values_swap(struct group_worker *worker, struct value_label label);
void group_values_forget(struct group_worker *worker);
/* Calls of the member. */
enum member_answer group_values_prepare(void *ctx, struct computation_order *order);
void group_values_computed(void *ctx, const struct computation_order *order, double loss);

/* group_evaluate.c */
MUST_CHECK enum tn_status group_evaluate_open(struct group_worker *worker, struct error *error);
void group_evaluate_close(struct group_worker *worker);
void group_evaluate_reset(struct group_worker *worker);
/* At the head: LOOP_DO_EVALUATE. */
void group_evaluate_begin(struct group_worker *worker, const struct loop_action *action);
uint64_t group_evaluate_expects(void *ctx, uint32_t peer, const struct member_frame *message);
/* Whether the head has all that an evaluation needs; group_evaluate_end() sets the result. */
bool group_evaluate_is_over(const struct group_worker *worker);
void group_evaluate_end(struct group_worker *worker);
/* EVALUATE, RESULT, READ, FLOATS. Why it is not valid, or NULL. */
const char *group_evaluate_message(struct group_worker *worker, const struct member_frame *message,
                                   struct buffer *body);

/* group_results.c, all at the head */
MUST_CHECK enum tn_status group_results_open(struct group_worker *worker, struct error *error);
void group_results_close(struct group_worker *worker);
/* All members have computed the chunk: add its results to the sums. */
MUST_CHECK enum tn_status group_results_add(struct group_worker *worker);
/* All chunks are added and the digest is complete: set `worker->evaluation`. */
void group_results_end(struct group_worker *worker);

/* group_digest.c */
/* At the head: add own variables, and ask the member that has the next one for its values. */
void group_digest_continue(struct group_worker *worker);
bool group_digest_is_complete(const struct group_worker *worker);
/* READ, at any member, and FLOATS, at the head. Why the message is not valid, or NULL. */
const char *group_digest_read(struct group_worker *worker, const struct member_frame *message);
const char *group_digest_floats(struct group_worker *worker, const struct member_frame *message,
                                const struct buffer *body);

#endif
