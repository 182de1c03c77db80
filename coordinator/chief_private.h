/* coordinator/chief_private.h: shared by the chief_*.c files; no other file includes it. */
#ifndef COORDINATOR_CHIEF_PRIVATE_H
#define COORDINATOR_CHIEF_PRIVATE_H

#include "coordinator/chief.h"
#include "coordinator/chief_strategy.h"

/* When a plan must be written: not at all, within CHIEF_SOFT_MS, or at once. */
enum urgency { PLAN_NOTHING, PLAN_SOFT, PLAN_HARD };

/* A write being planned. Planning does not change the chief, so a plan can be discarded and made
 * again later. */
struct plan {
    const struct chief *c;
    struct chief_write *w;
    struct run *run; /* &w->run. */
    enum urgency urgency;
    bool balances;     /* Slices may move for speed. */
    bool clears_lost;  /* The run resumes: losses of holders up to now are handled. */
    uint32_t survived; /* C21: the lost worker whose recovery is recorded, counted from 1; or 0. */
    bool missed;       /* A writer cannot save the ordered checkpoint, which is withdrawn. */
    bool late;         /* A writer had passed the step before it read the order. */
};

/* chief_plan.c: fills in the write that the known state calls for. */
void chief_plan(struct plan *p);

/* Workers pause from here on. `task` and `cause` become the reason, unless there is one already. */
void plan_interrupt(struct plan *p, enum recovery_kind kind, struct task task, const char *cause);
void plan_fail(struct plan *p, const char *why);
/* Set the text that explains to users what the run waits for; it is valid until the next phase. */
void plan_reason(struct plan *p, const char *text);
void plan_need(struct plan *p, enum urgency urgency);
/* A new entry in this write, with time, epoch, generation and step filled in. */
struct history_entry *plan_entry(struct plan *p, enum history_kind kind);

/* Enter a phase; its reason is empty. */
void plan_phase(struct plan *p, enum run_phase phase);
/* Every ps holds the generation: run, and record the recovery that ends here. */
void plan_resume(struct plan *p);
/* Record the end of the recovery of `run`. `restored`: by a load. */
void plan_recovered(struct plan *p, bool restored);

/* chief_load.c: which checkpoint a generation starts from. */
/* Order a new generation that starts from `from`; id 0: from the initial values. */
void plan_load(struct plan *p, struct chief_checkpoint from);
/* C11, C15: no checkpoint is known. If ZooKeeper was wiped, or /run is an old one that the chief
 * remembers, the newest checkpoint on any disk becomes the committed one. */
void plan_adopt_from_disks(struct plan *p);
void plan_watch_loading(struct plan *p);
void plan_watch_held(struct plan *p);
/* An operator's decisions while the run is held; otherwise they change nothing. */
void plan_restore(struct plan *p, const char *path);
void plan_accept_loss(struct plan *p, uint64_t step);
/* `checkpoint` was loaded (0: the initial values were made). */
void plan_note_loaded(struct plan *p, uint64_t checkpoint);

/* chief_drain.c: a ps that was asked to leave. */
/* The gate at which training stops, so that a checkpoint has every step. */
void plan_gate(struct plan *p);
/* Training has stopped at the gate, and its checkpoint is committed: pause, so that the ps can
 * leave. */
void plan_drained(struct plan *p);
/* The run is paused, and a ps that holds its values leaves. True: this determines the next
 * phase. */
bool plan_watch_leaving(struct plan *p);

/* chief_save.c: the orders for checkpoints. */
void plan_checkpoints(struct plan *p);
/* Order a checkpoint of `step`, which replaces the previous order. */
void plan_order(struct plan *p, uint64_t step, enum urgency urgency);
/* Withdraw the order to save; its step is due again. */
void plan_drop_order(struct plan *p);
/* A load was ordered: the first multiple of the interval after its step is due. */
void plan_first_due(struct plan *p);
/* The number of steps that an order must be ahead of the fastest ps, to reach every ps in time. */
uint64_t chief_lead(const struct chief *c);
/* Where training can be ordered to stop: `step`, or the first later one of which no checkpoint and
 * no evaluation was ordered before. A node that saves or evaluates the step must know that training
 * stops there. Otherwise, in async mode, the shards may already contain updates of later steps, and
 * an evaluation may lack some of this step. */
uint64_t chief_stop_step(const struct run *run, uint64_t step);
/* The first multiple of `every` that is greater than `step`. */
uint64_t chief_multiple_after(uint64_t step, uint64_t every);

/* chief_evaluate.c: the orders for evaluations, and their results. */
void plan_evaluation(struct plan *p);
/* The next evaluation to order; call it when the last result or `until` has changed. */
void plan_next_evaluation(struct plan *p);
/* The first step at which all nodes stop: the end, or with a target the next evaluation. */
uint64_t plan_boundary(const struct chief *c, uint64_t step);

/* chief_evaluator.c: the orders for the evaluator, and its results. */
/* The result comes first, so that a checkpoint that is committed in the same write names the best
 * one. */
void plan_evaluator_result(struct plan *p);
void plan_evaluator_order(struct plan *p);
/* The ordered checkpoint of the ps is committed. */
void plan_evaluator_committed(struct plan *p);
/* A new generation starts from `checkpoint`. */
void plan_evaluator_rewound(struct plan *p, uint64_t checkpoint);

/* chief_best.c: the best checkpoint. */
/* The evaluator has evaluated `checkpoint`, and `run` has the result. */
void plan_best_of_checkpoint(struct plan *p, uint64_t checkpoint);
/* Called when `run` gets the result of an evaluation, or an order for a checkpoint, or when that
 * order is withdrawn. */
void plan_best_evaluated(struct plan *p);
void plan_best_ordered(struct plan *p);
void plan_best_dropped(struct plan *p);
/* The ordered checkpoint is committed. */
void plan_best_committed(struct plan *p);
/* A new generation starts from `checkpoint`; 0: from the initial values. */
void plan_best_rewound(struct plan *p, uint64_t checkpoint);
/* The chief takes over /run, perhaps of a former start of the run. */
void chief_best_adopt(struct chief *c);
/* Whether a checkpoint is the best one, or was the best one when one of the newest checkpoints,
 * which are kept, was committed. */
bool chief_best_keeps(const struct chief *c, uint64_t checkpoint);
/* P14: whether a checkpoint is the newest loadable one that shares no file of table rows with the
 * newest loadable one. */
bool chief_chain_keeps(const struct chief *c, uint64_t checkpoint);
/* The same among all committed checkpoints, whether or not they are loadable. */
bool chief_committed_chain_keeps(const struct chief *c, uint64_t checkpoint);

/* chief_inputs.c: the arithmetic and the data of the run. */
void plan_inputs(struct plan *p);
/* Whether the worker is ready and has the inputs of the run. */
bool chief_worker_agrees(const struct chief *c, const struct run *run, uint32_t index);

/* chief_requests.c */
void plan_requests(struct plan *p);
/* End the run at a step that is far enough ahead that no node has passed it when it reads the
 * order. */
void plan_end_soon(struct plan *p);

/* chief_scale.c: C22. */
/* The number of workers in /run is one of the range that the job declares. */
void plan_workers(struct plan *p);
/* An operator requests `workers`; a number outside the range changes nothing. */
void plan_scale(struct plan *p, uint64_t workers, const char *by);
/* Whether the worker, now lost, had reported that it leaves, and owned no slices. */
bool chief_left_in_order(const struct chief *c, uint32_t worker);

/* chief_assign.c */
void plan_assignment(struct plan *p);
/* The assignment is in ZooKeeper now. */
void chief_take_assignment(struct chief *c, const struct assignment *assignment);
/* The plan is complete, and will be carried out if it assigns slices: set the time of the next
 * check. */
void chief_assigned(struct chief *c, const struct plan *p);

/* chief_depart.c: C24. */
/* Without ps: whether the worker has the values, is in time, and neither leaves nor has to. */
bool chief_keeps(const struct chief *c, const struct run *run, uint32_t worker);
/* Whether the worker can compute steps as well: a member of a group that is not its head cannot
 * (M13). */
bool chief_stays(const struct chief *c, const struct run *run, uint32_t worker);
/* Whether workers that stay are waited for until they have the values, and until when; UINT64_MAX:
 * they are not. */
bool chief_waits_for_fetch(const struct chief *c);
uint64_t chief_fetch_deadline_ms(const struct chief *c);
/* Whether workers stay that have the values and can compute, and are known to live since the last
 * worker began to leave. With ps: always. */
bool plan_may_depart(const struct plan *p);
/* Training continues without the workers that leave; with ps, it waits if all do. One that leaves
 * because the run is to have fewer workers keeps its slices until another can take them (C22). */
void plan_take_slices(const struct plan *p, struct assignment *assignment);
/* Workers that leave may go, once others have their values and they own no slices. */
void plan_release(struct plan *p);

/* chief_late.c: C23. */
/* Find workers whose slices are late, and those that work again. */
void chief_watch_late(struct chief *c);
/* Another process is the member, or none. */
void chief_forget_late(struct chief_peer *peer);
uint64_t chief_late_deadline_ms(const struct chief *c); /* UINT64_MAX: none. */

/* chief_mirror_late.c: M12. */
/* Whether a worker that is in time has completed the step of the worker that judges. */
bool chief_is_behind(const struct chief *c, uint64_t step);
/* Whether the worker may still be fetching the values of its first steps; others are late after
 * `after_ms`. */
bool chief_may_join(const struct chief *c, uint32_t worker, uint64_t after_ms);
/* Whether a worker that was late has the values of a later step. */
bool chief_has_caught_up(const struct chief *c, const struct chief_peer *peer);

/* chief.c */
/* Decisions continue from `run`: this chief inherited it, or another program wrote it. */
void chief_take_run(struct chief *c, const struct run *run);

/* chief_write.c */
/* Queue an entry of the history for the next write. `cause` may be NULL. */
void chief_note(struct chief *c, enum history_kind kind, struct task task, uint64_t pid,
                uint64_t took_ms, const char *cause);
/* Insert a committed checkpoint into the list, which is in the order of ids. */
void chief_add_checkpoint(struct chief *c, struct chief_checkpoint checkpoint);
/* C6: whether the ps may have deleted the files of a checkpoint, because enough newer ones were
 * committed. Its manifest can remain if the chief that committed them died before deleting it. */
bool chief_is_superseded(const struct chief *c, uint64_t checkpoint);
/* The write or the raise of the epoch that is in flight has an outcome. */
void chief_written(struct chief *c, const struct chief_event *event, struct chief_actions *out);
/* Compare the observed state with /run and begin the next write, or set the time to do so. */
void chief_pursue(struct chief *c, struct chief_actions *out);
void chief_exit(struct chief_actions *out, int exit_code);

/* chief_lost.c */
/* False: the chief must leave. */
bool chief_lost(struct chief *c, unsigned lost, struct chief_actions *out);
void chief_listed(const struct chief *c, const uint64_t *ids, uint32_t count,
                  struct chief_actions *out);
void chief_take_over_lost_run(struct chief *c);

/* chief_peers.c: the state of the members. */
/* The member that fills a task; NULL: the task is not one of this job, or a coordinator. */
struct chief_peer *chief_peer_of(struct chief *c, struct task task);
/* The report kept from an incarnation before it was a member; NULL: none. */
const struct report *chief_early_report(const struct chief_peer *peer, uint64_t incarnation);
void chief_keep_early(struct chief_peer *peer, const struct report *report);
bool chief_worker_ready(const struct chief_peer *peer);
/* The holders: the nodes that may hold values, by the strategy. */
uint32_t chief_holder_count(const struct chief *c);
const struct chief_peer *chief_holder(const struct chief *c, uint32_t index);
struct task chief_holder_task(const struct chief *c, uint32_t index);
bool chief_holder_reported(const struct chief *c, uint32_t index);
/* Whether all holders that are awaited have reported. */
bool chief_has_reported(const struct chief *c, const struct run *run);
/* Whether the holder is present and has the values of `run`'s generation. */
bool chief_holds(const struct chief *c, const struct run *run, uint32_t index);
/* Whether the holder cannot load the checkpoint that `run` orders. */
bool chief_load_failed(const struct chief *c, const struct run *run, uint32_t index);
/* The highest step that is known to be reached in `run`'s generation: a report has it, or /run. */
uint64_t chief_max_step(const struct chief *c, const struct run *run);
/* M8: /run is known to equal `c->run` now; orders may show a pause from now on. */
void chief_note_pause(struct chief *c);
/* The report of a peer that is present; C24: it may be the first one in which the peer leaves. */
void chief_take_report(struct chief *c, struct chief_peer *peer, const struct report *report);
/* The speed of the run, from the reports of its holders. */
void chief_measure_rate(struct chief *c, const struct report *report);
/* Writes into `reason` the tasks for which the run waits, as far as they fit. False: it waits for
 * none. */
bool chief_name_missing(const struct chief *c, const struct run *run,
                        char reason[static RUN_TEXT_MAX]);

#endif
