/* ps/step_private.h: between the files of the ps core; nobody else's. step.c: orders, loads, saves.
 * step_sync.c, step_async.c: pushes and pulls of each mode. */
#ifndef PS_STEP_PRIVATE_H
#define PS_STEP_PRIVATE_H

#include "ps/step.h"

/* One more action, all zero but for its type. */
struct ps_action *ps_act(struct ps_actions *out, enum ps_action_type type);
void ps_refuse(struct ps_actions *out, conn_id conn, enum refusal why);
void ps_answer(const struct ps_step *s, struct ps_actions *out, conn_id conn, uint64_t round,
               uint64_t step, bool previous);

/* The peer of `conn`, new if need be; NULL when there is room for no more. */
struct ps_peer *ps_peer_of(struct ps_step *s, conn_id conn);

/* Is there an order to save that has not been begun yet? */
bool ps_save_pending(const struct ps_step *s);
/* Begin or miss the ordered save, if its step has come. */
void ps_save_if_due(struct ps_step *s, struct ps_actions *out);

/* The generation is ours and nothing is being loaded: that is checked before these. */
void ps_sync_push(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
void ps_sync_pull(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
void ps_sync_applied(struct ps_step *s, struct ps_actions *out);

void ps_async_push(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
void ps_async_pull(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
void ps_async_applied(struct ps_step *s, struct ps_actions *out);
/* Whatever may go on now: save, unpark one push, answer pulls. */
void ps_async_advance(struct ps_step *s, struct ps_actions *out);
/* The shard was loaded at `step`. */
void ps_async_loaded(struct ps_step *s, const uint64_t *clocks);
void ps_async_conn_closed(struct ps_step *s, conn_id conn);

#endif
