/*
 * agent/supervisor_private.h: what the files of the supervisor share: how a child ended
 * (supervisor_faults.c), and changes of the job (supervisor_change.c). Private to
 * agent/supervisor*.c. Pure.
 */
#ifndef AGENT_SUPERVISOR_PRIVATE_H
#define AGENT_SUPERVISOR_PRIVATE_H

#include "agent/supervisor.h"

/* Whether the child has a process, or will have one as soon as the system has started it. */
bool supervised_runs(const struct supervised *child);

/* S3: whether the child ended with an exit code that a restart cannot repair. */
bool supervised_is_permanent(const struct supervised *child);

/* S1, S2: count an end. `gpus`: the job uses GPUs (S3). Sets when the child may restart; returns
 * whether it is in a crash loop. */
bool supervised_count_end(struct supervised *child, uint64_t now_ms, bool gpus);

/* Add an action. */
void supervisor_act(struct supervisor_actions *out, enum supervisor_action_type type,
                    uint32_t child, enum supervisor_verdict verdict);
/* Send SIGKILL to a child that runs, once. */
bool supervisor_kill(struct supervisor *supervisor, uint32_t index, struct supervisor_actions *out);
/* Whether a child of this kind has a process, or is being started. */
bool supervisor_any_runs(const struct supervisor *supervisor, enum child_kind kind);
/* Start the wanted children of a kind that do not run. */
void supervisor_start(struct supervisor *supervisor, enum child_kind kind,
                      struct supervisor_actions *out);

/* S14: note a drain, and for what it is. False: it is ignored. */
bool supervisor_may_drain(struct supervisor *supervisor, const struct supervisor_event *event);
/* The deadline of a drain for a change has passed: kill the nodes that are left. */
void supervisor_kill_late(struct supervisor *supervisor, struct supervisor_actions *out);
/* All nodes were asked to leave: ask for the change when none runs. */
void supervisor_ask_change(struct supervisor *supervisor, struct supervisor_actions *out);
/* The owner has made the change: the nodes start. */
void supervisor_changed(struct supervisor *supervisor, uint64_t now_ms,
                        struct supervisor_actions *out);

#endif
