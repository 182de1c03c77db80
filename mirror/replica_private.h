/* mirror/replica_private.h: shared by the replica*.c files; no other file includes it. */
#ifndef MIRROR_REPLICA_PRIVATE_H
#define MIRROR_REPLICA_PRIVATE_H

#include "mirror/replica.h"

/* Append an action, zeroed except for its type. */
struct replica_action *replica_act(struct replica_actions *out, enum replica_action_type type);

/* Whether the orders let it train. */
bool replica_is_active(const struct replica *r);
/* Its values are being read by a computation. */
bool replica_is_busy(const struct replica *r);
/* The sum of a range at the current step or the next one. */
struct replica_sum *replica_sum_of(struct replica *r, uint32_t range, uint64_t step);
/* The step that is not passed: M9. */
uint64_t replica_limit(const struct replica *r);
/* The current step is over, or was abandoned. */
void replica_forget_step(struct replica *r, struct replica_actions *out);

/* replica_sums.c: the terms of a sum, and the questions that wait for it. */
/* Nodes are nested or disjoint. False: the slices are covered, so the gradient is not needed. */
bool replica_hold(struct replica_sum *sum, struct slice_node node, uint16_t own);
/* M4: make the sum of the current step, once all slices are covered. */
void replica_reduce(struct replica *r, uint32_t range, struct replica_actions *out);
/* The sum of the current step is known: send it to the replicas that wait for it. */
void replica_answer_waiters(struct replica *r, uint32_t range, struct replica_actions *out);
/* False: too many wait. */
bool replica_add_waiter(struct replica *r, uint32_t conn, uint32_t range, uint64_t step);
void replica_remove_waiter(struct replica *r, uint32_t index);
void replica_answer(const struct replica *r, uint32_t conn, uint32_t range, uint64_t step,
                    struct replica_actions *out);
void replica_refuse(const struct replica *r, uint32_t conn, uint32_t range,
                    enum replica_refusal refusal, struct replica_actions *out);

/* replica_frames.c: the frames of peers. */
void replica_on_question(struct replica *r, const struct replica_event *event,
                         struct replica_actions *out);
void replica_on_pull_values(struct replica *r, const struct replica_event *event,
                            struct replica_actions *out);
void replica_on_sum(struct replica *r, const struct replica_event *event,
                    struct replica_actions *out);
void replica_on_values(struct replica *r, const struct replica_event *event,
                       struct replica_actions *out);
void replica_on_refused(struct replica *r, const struct replica_event *event);

/* replica_questions.c: the questions to peers. */
/* The gradients of the current step that the owner of the range lacks, or the question for its
 * sum. */
void replica_ask(struct replica *r, uint32_t range, struct replica_actions *out);
/* Nothing was asked of `peer`, which may be REPLICA_NONE, on its present connection. */
void replica_turn_to(struct replica_ask *ask, uint32_t peer);
/* M6. */
void replica_ask_around(struct replica *r, struct replica_actions *out);
/* Ask a peer for its values, if they are needed. */
void replica_fetch(struct replica *r, struct replica_actions *out);

/* replica_relay.c: M14. */
bool replica_is_relay(const struct replica *r, uint32_t range);
/* Note since when the own gradients of the step are complete. Before each question. */
void replica_note_ready(struct replica *r, uint32_t range);
/* When a relay no longer waits for other workers, nor they for the relay; UINT64_MAX: the range has
 * no relay, or the own gradients are not complete. */
uint64_t replica_relay_due_ms(const struct replica *r, uint32_t range);
/* At the relay: push the gradients that the owner lacks, in the fewest nodes, once it has those
 * of its host. */
void replica_forward(struct replica *r, uint32_t range, struct replica_actions *out);

/* replica_evaluate.c: M9, M12. After each event. */
void replica_evaluate(struct replica *r, struct replica_actions *out);
/* When it evaluates the current step if no other worker has done so; UINT64_MAX: never. */
uint64_t replica_evaluation_due_ms(const struct replica *r);

/* replica_able.c: M13. */
/* A computation that runs has no result, and its slices are computed again once the replica is able
 * to. Earlier gradients of the step count. */
void replica_become_unable(struct replica *r, struct replica_actions *out);

/* replica_late.c: M12. */
/* Whether the replica waits for other workers, so that it may judge whether they are late. */
bool replica_awaits(const struct replica *r);
/* After each event: note the gradients and sums of the current step that have arrived. */
void replica_watch_late(struct replica *r);

#endif
