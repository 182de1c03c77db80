/* worker/training_loop_private.h: what the files of the training loop share; private to them.
 * training_loop_rows.c has the lookups of rows of tables, training_loop_wait.c the deadlines. */
#ifndef WORKER_TRAINING_LOOP_PRIVATE_H
#define WORKER_TRAINING_LOOP_PRIVATE_H

#include "worker/training_loop.h"

/* Append an action, zeroed except for its type. */
struct loop_action *loop_act(struct loop_actions *out, enum loop_action_type type);

/* Whether the orders require values. */
bool loop_is_active(const struct training_loop *loop);

/* Whether gradients of the present step are sent. Async: the end may have moved back to the step,
 * or before it. Then they are kept until it moves on, since a ps that had not read of that would
 * apply them. */
bool loop_may_push(const struct training_loop *loop);

/* Owned slices whose gradients of the present step are not computed yet. */
struct slice_set loop_missing(const struct training_loop *loop);

/* Begin another lookup, of the rows of `step`, in place of the one in progress. */
void loop_begin_lookup(struct training_loop *loop, enum loop_lookup lookup, uint64_t step,
                       struct loop_actions *out);
void loop_end_lookup(struct training_loop *loop);
/* Begin a lookup of the next step, once all gradients of the present one are computed. No
 * computation is in progress. */
void loop_look_ahead(struct training_loop *loop, struct loop_actions *out);
/* Whether the lookup in progress is one of the next step. */
bool loop_looks_ahead(const struct training_loop *loop);
void loop_listed(struct training_loop *loop, const struct loop_event *event);
/* The driver has taken these rows: they answer the last question to this ps. */
void loop_rows(struct training_loop *loop, const struct loop_event *event);
/* Whether all rows of such a lookup have arrived. */
bool loop_has_rows(const struct training_loop *loop, enum loop_lookup lookup);
/* Whether ps `index` lacks a question for rows, and the question. */
bool loop_must_look_up(const struct training_loop *loop, uint32_t index);
void loop_look_up(struct training_loop *loop, uint32_t index, struct loop_actions *out);

#endif
