/*
 * ps/step_private.h: what the files of the ps core share; private to them. step.c handles orders,
 * loads and saves; step_recover.c the return of a killed ps; step_chunks.c the chunks of pushes;
 * step_parts.c updates that follow them; step_sync.c and step_async.c are the strategies,
 * step_norm.c the parts of norms.
 */
#ifndef PS_STEP_PRIVATE_H
#define PS_STEP_PRIVATE_H

#include "ps/step.h"

/* Append an action, zeroed except for its type. */
struct ps_action *ps_act(struct ps_actions *out, enum ps_action_type type);
void ps_refuse(struct ps_actions *out, conn_id conn, enum refusal why);
/* The push of `conn` is not needed. */
void ps_drop(struct ps_actions *out, conn_id conn);
void ps_answer(const struct ps_step *s, struct ps_actions *out, conn_id conn, uint64_t round,
               uint64_t step, enum ps_values values);

/* Send the rows that a lookup names: that of the event, or one that waits. */
void ps_answer_lookup(const struct ps_step *s, conn_id conn, const struct ps_lookup *lookup,
                      struct ps_actions *out);

/* The peer of `conn`, added if it is new. NULL: the table is full. */
struct ps_peer *ps_peer_of(struct ps_step *s, conn_id conn);

/* Whether a save is ordered and neither begun nor missed yet. */
bool ps_save_pending(const struct ps_step *s);
/* Whether the arrays of `step` are needed until its save has ended: the next process begins the
 * save again if this one dies (C14, P13). */
bool ps_awaits_save(const struct ps_step *s, uint64_t step);
/* Begin the ordered save, or report it missed, if its step is reached. */
void ps_save_if_due(struct ps_step *s, struct ps_actions *out);

/* P10: whether updates of `step` wait because a ps leaves. */
bool ps_gate_is_closed(const struct ps_step *s, uint64_t step);

/* A chunk that is not the last: collect it, if it is of the generation being served and all chunks
 * before it are collected. */
void ps_collect(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
/* The last chunk: whether all chunks before it are collected. They are not if they arrived before
 * the generation was loaded. */
bool ps_collect_last(struct ps_step *s, const struct ps_event *event);

/* The part that depends on the strategy. A generation is being served. */
struct ps_strategy {
    /* The caller has checked that the event is of the generation being served. */
    void (*push)(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
    void (*pull)(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
    /* NULL: no tables are trained. */
    void (*lookup)(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
    void (*applied)(struct ps_step *s, struct ps_actions *out);
    /* Do everything that has become possible: save, release kept values, apply pushes, answer. */
    void (*advance)(struct ps_step *s, struct ps_actions *out);
    /* Whether the shard contains contributions at or above `step` already. */
    bool (*is_past)(const struct ps_step *s, uint64_t step);
    /* The shard was loaded at its step. `clocks`: those stored with it, or NULL. */
    void (*loaded)(struct ps_step *s, const uint64_t *clocks);
    void (*conn_closed)(struct ps_step *s, conn_id conn); /* In any state. */
};

extern const struct ps_strategy ps_strategy_sync, ps_strategy_async;

/* Name the held pushes, which cover all slices, in `parts`. */
void ps_sync_list(const struct ps_step *s, struct ps_actions *out);

/* P17. How many chunks can be updated because all slices have them, if more can than are; fewer
 * than all. 0: no answer would come sooner, or the update does not follow the chunks. */
uint32_t ps_parts_ready(const struct ps_step *s);
/* Name the nodes of which the last `chunks` chunks are held or collected in `parts`. */
void ps_parts_list(const struct ps_step *s, uint32_t chunks, struct ps_actions *out);
/* The chunks of the last APPLY_CHUNKS are updated: send them. */
void ps_parts_applied(struct ps_step *s, struct ps_actions *out);
/* The step was applied: send the chunks of its values that the connection lacks. False: it has
 * none. */
bool ps_parts_answer_rest(struct ps_step *s, struct ps_peer *peer, struct ps_actions *out);

/* P11. The pushes cover all slices: whether the norm of the step is known; if not, get it. */
bool ps_norm_known(struct ps_step *s, struct ps_actions *out);
/* PS_EV_MEASURED, PS_EV_PART and PS_EV_LINK_UP: send own parts, hold those of other ps, apply the
 * step once all have arrived. */
void ps_norm_measured(struct ps_step *s, struct ps_actions *out);
void ps_norm_part(struct ps_step *s, const struct ps_event *event, struct ps_actions *out);
void ps_norm_link_up(struct ps_step *s, uint32_t ps, struct ps_actions *out);
/* The step was applied. */
void ps_norm_applied(struct ps_step *s);
/* A load begins: the parts of the old generation no longer count. */
void ps_norm_forget(struct ps_step *s);

#endif
