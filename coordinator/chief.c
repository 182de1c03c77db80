/* The events of the chief; chief_plan.c decides what to write, chief_write.c writes it. */
#include "coordinator/chief.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"
#include "tanist/status.h"

/* ------------------------------------------------------------------ events */

/* Losses from before the election do not count. The members of an inherited run were recorded by
 * a former chief. */
static void record_members(struct chief *c, enum role role, struct chief_peer *peers,
                           uint32_t count)
{
    assert(c->elected);
    for (uint32_t i = 0; i < count; i++) {
        peers[i].lost = false;
        if (c->inherited || !peers[i].present) { continue; }
        chief_note(c, HISTORY_TASK_UP, (struct task){role, i}, peers[i].pid, 0, NULL);
    }
}

/* C12: the reports from before the election were kept without the orders to check them by. */
static void check_reports(struct chief *c, struct chief_peer *peers, uint32_t count)
{
    assert(c->elected);
    for (uint32_t i = 0; i < count; i++) {
        if (!peers[i].reported || chief_refuses_report(c, &peers[i].report) == NULL) { continue; }
        peers[i].report = (struct report){0};
        peers[i].reported = false;
    }
}

/* The interval of the checkpoints is the job's, whichever a former chief had. */
void chief_take_run(struct chief *c, const struct run *run)
{
    c->run = *run;
    if (c->config.checkpoint_every_steps == 0) { c->run.save_due = 0; }
    if (c->config.evaluators == 0) { c->run.evaluate_checkpoint = 0; }
    chief_best_adopt(c);
}

static void on_elected(struct chief *c, const struct chief_event *event)
{
    if (c->elected) { return; }
    assert(!c->writing && c->raising == 0);
    assert(!event->elected.has_run || event->elected.run != NULL);
    assert(!event->elected.has_assignment || event->elected.assignment != NULL);
    c->elected = true;
    c->epoch = event->elected.epoch;
    c->run = (struct run){.phase = RUN_FORMING, .evaluate_step = STEP_NONE};
    c->run.evaluation.step = STEP_NONE;
    c->run.best_checkpoint.metric = c->config.best;
    if (event->elected.has_run) { chief_take_run(c, event->elected.run); }
    if (event->elected.has_assignment) { c->assignment = *event->elected.assignment; }
    for (uint32_t i = 0; i < event->elected.checkpoint_count; i++) {
        chief_add_checkpoint(c, event->elected.checkpoints[i]);
    }
    if (c->run.committed_checkpoint == 0 && c->run.generation == 0 && c->checkpoint_count > 0) {
        const struct chief_checkpoint *newest = &c->checkpoints[c->checkpoint_count - 1];
        c->run.committed_checkpoint = newest->id;
        c->run.committed_step = newest->step;
    }
    if (event->elected.run_lost) { chief_take_over_lost_run(c); }
    check_reports(c, c->ps, c->config.ps);
    check_reports(c, c->workers, c->config.workers);
    check_reports(c, &c->evaluator, c->config.evaluators);
    c->inherited = c->run.epoch != 0 && c->run.phase != RUN_FORMING;
    c->rate_at_ms = c->ordered_at_ms = c->departs_ms = c->now_ms;
    c->balance_at_ms = c->now_ms + CHIEF_BALANCE_MS;
    c->rate_step = c->evaluates_step = STEP_NONE;
    chief_note(c, HISTORY_ELECTED, c->config.self, c->config.pid, event->elected.took_ms,
               event->elected.cause);
    record_members(c, ROLE_PS, c->ps, c->config.ps);
    record_members(c, ROLE_WORKER, c->workers, c->config.workers);
    record_members(c, ROLE_EVALUATOR, &c->evaluator, c->config.evaluators);
}

static void on_member(struct chief *c, const struct chief_event *event)
{
    assert(event->type == CHIEF_EV_MEMBER);
    struct chief_peer *peer = chief_peer_of(c, event->member.task);
    if (peer == NULL) { return; }
    bool same =
        peer->present && event->member.present && peer->incarnation == event->member.incarnation;
    bool lost = peer->present && !same;
    /* A member of an inherited run that is read for the first time joined before our term. */
    bool joined = c->elected && (peer->known || !c->inherited);
    peer->known = true;
    if (same) { return; }
    if (lost) {
        const bool leaving = peer->reported && peer->report.leaving != 0;
        const char *cause = event->member.cause;
        if (cause == NULL) { cause = leaving ? "left on request" : "session lost"; }
        text_set(peer->cause, sizeof peer->cause, cause);
        peer->lost = true;
        peer->left = event->member.task.role == ROLE_WORKER &&
                     chief_left_in_order(c, event->member.task.index);
        peer->lost_wall_ms = c->wall_ms;
        /* After the end nodes exit by themselves. */
        if (c->elected && !run_is_over(&c->run)) {
            chief_note(c, HISTORY_TASK_LOST, event->member.task, peer->pid, 0, peer->cause);
        }
    }
    peer->present = event->member.present;
    peer->reported = false;
    chief_forget_late(peer);
    if (!peer->present) { return; }
    if (peer->left) { peer->lost = peer->left = false; }
    peer->incarnation = event->member.incarnation;
    peer->pid = event->member.pid;
    const struct report *early = chief_early_report(peer, peer->incarnation);
    if (early != NULL && chief_refuses_report(c, early) == NULL) {
        chief_take_report(c, peer, early);
    }
    peer->heard_ms = 0; /* It may have sent that long ago. */
    if (joined) { chief_note(c, HISTORY_TASK_UP, event->member.task, peer->pid, 0, NULL); }
}

static void on_report(struct chief *c, const struct report *report)
{
    assert(report != NULL);
    struct chief_peer *peer = chief_peer_of(c, report->task);
    if (peer == NULL || chief_refuses_report(c, report) != NULL) { return; }
    if (!peer->present || report->incarnation != peer->incarnation) {
        chief_keep_early(peer, report);
        return;
    }
    if (peer->reported && report->sequence < peer->report.sequence) { return; }
    chief_take_report(c, peer, report);
    chief_measure_rate(c, report);
}

static void on_request(struct chief *c, const struct chief_event *event)
{
    assert(event->request.kind < REQUEST_KINDS);
    if (c->request.waits) { return; }
    c->request =
        (struct chief_request){.waits = true, .id = event->request.id, .kind = event->request.kind};
    c->request.step = event->request.step;
    text_set(c->request.by, sizeof c->request.by, event->request.by);
    text_set(c->request.path, sizeof c->request.path, event->request.path);
}

/* --------------------------------------------------------------------- end */

static void on_lost(struct chief *c, unsigned lost, struct chief_actions *out)
{
    if (!chief_lost(c, lost, out)) { chief_exit(out, TN_EXIT_DEPOSED); }
}

/* After the end the chief leaves last, so that the others learn of it; but it does not wait for
 * them without limit. */
static void finish(struct chief *c, struct chief_actions *out)
{
    assert(run_is_over(&c->run));
    if (c->ended_at_ms == 0) { c->ended_at_ms = c->now_ms; }
    bool alone = c->opened;
    for (uint32_t i = 0; i < c->config.ps; i++) { alone = alone && !c->ps[i].present; }
    for (uint32_t i = 0; i < c->config.workers; i++) { alone = alone && !c->workers[i].present; }
    c->wake_at_ms = u64_min(c->wake_at_ms, c->ended_at_ms + CHIEF_LINGER_MS);
    if (!alone && c->now_ms < c->ended_at_ms + CHIEF_LINGER_MS) { return; }
    chief_exit(out, c->run.phase == RUN_DONE ? TN_EXIT_OK : TN_EXIT_ERROR);
}

/* -------------------------------------------------------------------- step */

void chief_init(struct chief *c, const struct chief_config *config)
{
    assert(config->ps <= PS_MAX);
    assert(config->ps > 0 || config->strategy == STRATEGY_MIRROR);
    assert(config->workers > 0 && config->workers <= WORKERS_MAX);
    assert(config->min_workers <= config->workers);
    assert(config->evaluators <= EVALUATORS_MAX);
    assert(config->checkpoint_keep > 0);
    assert(config->slices > 0 && config->slices <= SLICES_MAX);
    assert(config->steps > 0);
    c->config = *config;
    c->strategy = chief_strategy_of(config->strategy);
    c->balance_wait_ms = CHIEF_BALANCE_MS;
    c->wake_at_ms = UINT64_MAX;
}

void chief_step(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    assert(event->now_ms >= c->now_ms);
    assert(c->elected || (!c->writing && c->raising == 0));
    assert(!c->writing || c->raising == 0);
    c->now_ms = event->now_ms;
    c->wall_ms = event->wall_ms;
    *out = (struct chief_actions){0};
    switch (event->type) {
    case CHIEF_EV_TICK: break;
    case CHIEF_EV_ELECTED: on_elected(c, event); break;
    case CHIEF_EV_MEMBER: on_member(c, event); break;
    case CHIEF_EV_REPORT: on_report(c, event->report); break;
    case CHIEF_EV_REQUEST: on_request(c, event); break;
    case CHIEF_EV_WRITTEN: chief_written(c, event, out); break;
    case CHIEF_EV_LOST: on_lost(c, event->lost, out); break;
    case CHIEF_EV_LISTED: chief_listed(c, event->listed.ids, event->listed.count, out); break;
    }
    if (!c->elected || out->exits || out->resign) { return; }
    chief_pursue(c, out);
    if (run_is_over(&c->run) && !c->writing) { finish(c, out); }
}

uint64_t chief_deadline_ms(const struct chief *c)
{
    assert(c->elected || c->wake_at_ms == UINT64_MAX);
    return c->wake_at_ms;
}
