/* The chief's events and its one write at a time; chief_plan.c decides what to write. */
#include "coordinator/chief.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"
#include "tanist/status.h"

/* ----------------------------------------------------------------- history */

static void queue_entry(struct chief *c, enum history_kind kind, struct task task, uint64_t pid,
                        uint64_t took_ms, const char *cause)
{
    assert(c->queue_count <= CHIEF_QUEUE_MAX);
    if (c->queue_count == CHIEF_QUEUE_MAX) { return; }
    struct history_entry *entry = &c->queue[c->queue_count++];
    *entry = (struct history_entry){
        .kind = kind,
        .wall_ms = c->wall_ms,
        .epoch = c->epoch,
        .generation = c->run.generation,
        .step = chief_max_step(c, &c->run),
        .task = task,
        .pid = pid,
        .took_ms = took_ms,
    };
    text_set(entry->cause, sizeof entry->cause, cause);
}

static void drop_queued(struct chief *c, uint32_t count)
{
    assert(count <= c->queue_count);
    c->queue_count -= count;
    memmove(c->queue, c->queue + count, c->queue_count * sizeof c->queue[0]);
}

/* ------------------------------------------------------------- checkpoints */

static void add_checkpoint(struct chief *c, struct chief_checkpoint checkpoint)
{
    assert(c->checkpoint_count <= CHIEF_CHECKPOINTS_MAX);
    uint32_t at = c->checkpoint_count;
    while (at > 0 && c->checkpoints[at - 1].id > checkpoint.id) { at--; }
    if (at > 0 && c->checkpoints[at - 1].id == checkpoint.id) { return; }
    if (c->checkpoint_count == CHIEF_CHECKPOINTS_MAX) {
        if (at == 0) { return; /* Full, and this one is the oldest. */ }
        memmove(c->checkpoints, c->checkpoints + 1, (--at) * sizeof c->checkpoints[0]);
    } else {
        memmove(c->checkpoints + at + 1, c->checkpoints + at,
                (c->checkpoint_count - at) * sizeof c->checkpoints[0]);
        c->checkpoint_count++;
    }
    c->checkpoints[at] = checkpoint;
}

/* Call it only after a commit. What could not be loaded stays: its files may come back; and so do
 * the checkpoints that a load in progress and the evaluator read. */
static void collect_checkpoints(struct chief *c, struct chief_actions *out)
{
    assert(c->config.checkpoint_keep > 0);
    uint32_t loadable = 0, left = 0;
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        loadable += !run_is_unloadable(&c->run, c->checkpoints[i].id);
    }
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        uint64_t id = c->checkpoints[i].id;
        bool wanted = run_is_unloadable(&c->run, id) ||
                      (c->run.phase == RUN_LOADING && id == c->run.load_checkpoint);
        bool old = !wanted && loadable > c->config.checkpoint_keep;
        bool kept = old && (id == c->run.evaluate_checkpoint || chief_best_keeps(c, id));
        loadable -= kept;
        if (old && !kept && out->delete_count < CHIEF_DELETE_MAX) {
            out->deletes[out->delete_count++] = id;
            loadable--;
        } else {
            c->checkpoints[left++] = c->checkpoints[i];
        }
    }
    c->checkpoint_count = left;
}

/* ------------------------------------------------------------------ events */

static void record_members(struct chief *c)
{
    assert(c->elected);
    for (uint32_t i = 0; i < c->config.ps; i++) {
        c->ps[i].lost = false;
        if (c->inherited || !c->ps[i].present) { continue; }
        queue_entry(c, HISTORY_TASK_UP, (struct task){ROLE_PS, i}, c->ps[i].pid, 0, NULL);
    }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        c->workers[i].lost = false;
        if (c->inherited || !c->workers[i].present) { continue; }
        queue_entry(c, HISTORY_TASK_UP, (struct task){ROLE_WORKER, i}, c->workers[i].pid, 0, NULL);
    }
    if (c->inherited || !c->evaluator.present) { return; }
    queue_entry(c, HISTORY_TASK_UP, (struct task){ROLE_EVALUATOR, 0}, c->evaluator.pid, 0, NULL);
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
static void take_run(struct chief *c, const struct run *run)
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
    if (event->elected.has_run) { take_run(c, event->elected.run); }
    if (event->elected.has_assignment) { c->assignment = *event->elected.assignment; }
    for (uint32_t i = 0; i < event->elected.checkpoint_count; i++) {
        add_checkpoint(c, event->elected.checkpoints[i]);
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
    c->rate_at_ms = c->ordered_at_ms = c->now_ms;
    c->balance_at_ms = c->now_ms + CHIEF_BALANCE_MS;
    c->rate_step = STEP_NONE;
    queue_entry(c, HISTORY_ELECTED, c->config.self, c->config.pid, event->elected.took_ms,
                event->elected.cause);
    record_members(c);
}

static struct chief_peer *peer_of(struct chief *c, struct task task)
{
    if (task.role == ROLE_PS && task.index < c->config.ps) { return &c->ps[task.index]; }
    if (task.role == ROLE_WORKER && task.index < c->config.workers) {
        return &c->workers[task.index];
    }
    if (task.role == ROLE_EVALUATOR && task.index < c->config.evaluators) { return &c->evaluator; }
    return NULL;
}

static void on_member(struct chief *c, const struct chief_event *event)
{
    assert(event->type == CHIEF_EV_MEMBER);
    struct chief_peer *peer = peer_of(c, event->member.task);
    if (peer == NULL) { return; }
    bool same =
        peer->present && event->member.present && peer->incarnation == event->member.incarnation;
    bool lost = peer->present && !same;
    /* A member of an inherited run that is read for the first time joined before our term. */
    bool joined = c->elected && (peer->known || !c->inherited);
    peer->known = true;
    if (same) { return; }
    if (lost) {
        const char *cause = event->member.cause;
        text_set(peer->cause, sizeof peer->cause, cause != NULL ? cause : "session lost");
        peer->lost = true;
        peer->lost_wall_ms = c->wall_ms;
        /* After the end nodes exit by themselves. */
        if (c->elected && !run_is_over(&c->run)) {
            queue_entry(c, HISTORY_TASK_LOST, event->member.task, peer->pid, 0, peer->cause);
        }
    }
    peer->present = event->member.present;
    peer->reported = false;
    if (!peer->present) { return; }
    peer->incarnation = event->member.incarnation;
    peer->pid = event->member.pid;
    const struct report *early = chief_early_report(peer, peer->incarnation);
    if (early != NULL && chief_refuses_report(c, early) == NULL) {
        peer->report = *early;
        peer->reported = true;
    }
    if (joined) { queue_entry(c, HISTORY_TASK_UP, event->member.task, peer->pid, 0, NULL); }
}

static void on_report(struct chief *c, const struct report *report)
{
    assert(report != NULL);
    struct chief_peer *peer = peer_of(c, report->task);
    if (peer == NULL || chief_refuses_report(c, report) != NULL) { return; }
    if (!peer->present || report->incarnation != peer->incarnation) {
        chief_keep_early(peer, report);
        return;
    }
    if (peer->reported && report->sequence < peer->report.sequence) { return; }
    peer->report = *report;
    peer->reported = true;
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

/* ------------------------------------------------------------------ writes */

/* The write in flight is in ZooKeeper now. */
static void write_done(struct chief *c, struct chief_actions *out)
{
    const struct chief_write *w = &c->write;
    assert(c->writing);
    assert(c->raising == 0);
    assert(!w->answers || c->request.waits);
    assert(w->queued <= w->history_count);
    c->writing = false;
    c->opened = c->counted = true;
    c->written_at_ms = c->now_ms;
    c->run = w->run;
    chief_note_pause(c);
    drop_queued(c, w->queued);
    if (w->assigns) { c->assignment = w->assignment; }
    if (w->commits) {
        c->committed = true;
        add_checkpoint(c, (struct chief_checkpoint){.id = w->manifest.id,
                                                    .step = w->manifest.step,
                                                    .epoch = w->manifest.epoch,
                                                    .inputs = w->run.inputs,
                                                    .best = w->manifest.best});
        collect_checkpoints(c, out);
    }
    if (!w->answers) { return; }
    out->resign = c->request.kind == REQUEST_RESIGN;
    c->request.waits = false;
}

static void try_again(struct chief *c)
{
    assert(c->writing);
    c->retrying = true;
    c->retry_at_ms = c->now_ms + CHIEF_RETRY_MS;
}

static void exit_with(struct chief_actions *out, int exit_code)
{
    assert(!out->exits);
    out->exits = true;
    out->exit_code = exit_code;
}

/* Programs that operators start change /run only from its present contents. */
static bool is_successor(const struct chief *c, const struct run *seen)
{
    assert(c->elected);
    return seen->epoch >= c->run.epoch && seen->generation >= c->run.generation;
}

/* Another program, started by an operator, changed /run: decisions continue from its contents. */
static void adopt(struct chief *c, const struct run *run)
{
    assert(c->writing);
    c->writing = false;
    take_run(c, run);
    c->opened = false;
    c->pause_epoch = c->pause_revision = 0;
}

static void not_done(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    assert(c->writing);
    assert(event->written.outcome != CHIEF_WRITE_OK);
    const struct run *seen = event->written.run;
    const bool gone = event->written.outcome == CHIEF_WRITE_REQUEST_GONE;
    if (seen != NULL && seen->epoch > c->epoch) {
        exit_with(out, TN_EXIT_DEPOSED);
    } else if (seen != NULL && seen->epoch == c->write.run.epoch &&
               seen->revision == c->write.run.revision) {
        write_done(c, out);
    } else if (seen != NULL && is_successor(c, seen) &&
               (seen->epoch != c->run.epoch || seen->revision != c->run.revision)) {
        if (gone) { c->request.waits = false; }
        adopt(c, seen);
    } else if (event->written.outcome == CHIEF_WRITE_CHECKPOINT_EXISTS && seen == NULL) {
        /* The write was applied, its answer was lost, and then /run was. */
        c->write.published = true;
        try_again(c);
    } else if (event->written.outcome == CHIEF_WRITE_CHECKPOINT_EXISTS) {
        c->writing = false; /* The id is in use: order again, with the next id. */
        struct plan plan = {.c = c, .w = &c->write, .run = &c->run};
        plan_drop_order(&plan);
    } else if (gone && seen != NULL) { /* It was withdrawn: decide again, without its effect. */
        c->write.answers = c->request.waits = c->writing = false;
    } else {
        /* Without /run the write may have been applied, and have deleted the request itself. */
        if (gone) { c->write.answers = c->request.waits = false; }
        try_again(c);
    }
}

static void on_written(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    if (event->written.op != c->op || (!c->writing && c->raising == 0)) { return; }
    assert(!c->writing || c->raising == 0);
    if (event->written.outcome == CHIEF_WRITE_DEPOSED) {
        exit_with(out, TN_EXIT_DEPOSED);
    } else if (c->raising != 0) {
        if (event->written.outcome == CHIEF_WRITE_OK) {
            c->epoch = c->raising;
            c->committed = false;
        }
        if (event->written.outcome != CHIEF_WRITE_OK) {
            c->retry_at_ms = c->now_ms + CHIEF_RETRY_MS;
        }
        c->raising = 0;
        c->opened = false;
    } else if (event->written.outcome == CHIEF_WRITE_OK) {
        write_done(c, out);
    } else {
        not_done(c, event, out);
    }
}

static void on_lost(struct chief *c, unsigned lost, struct chief_actions *out)
{
    if (!chief_lost(c, lost, out)) { exit_with(out, TN_EXIT_DEPOSED); }
}

static void emit_write(struct chief *c, struct chief_actions *out)
{
    assert(out->write == NULL);
    assert(c->raising == 0);
    assert(c->write.run.epoch == c->epoch);
    c->writing = true;
    c->retrying = false;
    c->write.op = ++c->op;
    out->write = &c->write;
}

/* C11: the highest epoch on any disk. 0 if it is the epoch of this chief and this chief has
 * committed a checkpoint: then the disks have it from this chief. */
static uint64_t epoch_on_disks(const struct chief *c)
{
    assert(c->elected);
    uint64_t highest = 0;
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        const struct chief_peer *holder = chief_holder(c, i);
        if (holder->reported) { highest = u64_max(highest, holder->report.disk_epoch); }
    }
    return highest == c->epoch && c->committed ? 0 : highest;
}

static void begin_write(struct chief *c, const struct plan *plan, struct chief_actions *out)
{
    struct run *run = &c->write.run;
    assert(plan->urgency != PLAN_NOTHING);
    assert(!c->writing);
    assert(c->write.history_count <= CHIEF_HISTORY_MAX);
    if (run->save_checkpoint != 0 && run->save_checkpoint != c->run.save_checkpoint) {
        c->ordered_at_ms = c->now_ms;
    }
    c->lost &= ~(unsigned)CHIEF_LOST_RUN;
    if (c->write.assigns) { c->lost &= ~(unsigned)CHIEF_LOST_ASSIGNMENT; }
    if (c->write.commits) { c->boost /= 2; }
    if (plan->late) { c->boost = u64_min(c->boost * 2 + chief_lead(c), CHIEF_LEAD_MAX); }
    for (uint32_t i = 0; plan->clears_lost && i < chief_holder_count(c); i++) {
        peer_of(c, chief_holder_task(c, i))->lost = false;
    }
    if (plan->survived != 0) { c->workers[plan->survived - 1].lost = false; }
    run->epoch = c->epoch;
    run->revision = ++c->revision;
    run->changed_wall_ms = c->wall_ms;
    emit_write(c, out);
}

static void pursue(struct chief *c, struct chief_actions *out)
{
    assert(c->elected);
    c->wake_at_ms = UINT64_MAX;
    if (c->raising != 0 || (c->writing && !c->retrying)) { return; }
    if (c->now_ms < c->retry_at_ms) {
        c->wake_at_ms = c->retry_at_ms;
        return;
    }
    if (c->writing) {
        emit_write(c, out);
        return;
    }
    if (epoch_on_disks(c) >= c->epoch) {
        c->raising = out->raise_epoch = epoch_on_disks(c) + 1;
        out->raise_op = ++c->op;
        return;
    }
    struct plan plan = {.c = c, .w = &c->write, .run = &c->write.run};
    chief_plan(&plan);
    chief_assigned(c, &plan);
    uint64_t soft_at_ms = c->written_at_ms + CHIEF_SOFT_MS;
    if (plan.urgency == PLAN_HARD || (plan.urgency == PLAN_SOFT && c->now_ms >= soft_at_ms)) {
        begin_write(c, &plan, out);
    } else if (plan.urgency == PLAN_SOFT) {
        c->wake_at_ms = soft_at_ms;
    } else if (c->config.checkpoint_every_ms != 0 && c->run.phase == RUN_RUNNING) {
        uint64_t due_ms = c->ordered_at_ms + c->config.checkpoint_every_ms;
        bool overdue = due_ms <= c->now_ms;
        c->wake_at_ms = overdue ? c->now_ms + CHIEF_SOFT_MS : due_ms;
    }
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
    exit_with(out, c->run.phase == RUN_DONE ? TN_EXIT_OK : TN_EXIT_ERROR);
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
    memset(c, 0, sizeof *c);
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
    case CHIEF_EV_WRITTEN: on_written(c, event, out); break;
    case CHIEF_EV_LOST: on_lost(c, event->lost, out); break;
    case CHIEF_EV_LISTED: chief_listed(c, event->listed.ids, event->listed.count, out); break;
    }
    if (!c->elected || out->exits || out->resign) { return; }
    pursue(c, out);
    if (run_is_over(&c->run) && !c->writing) { finish(c, out); }
}

uint64_t chief_deadline_ms(const struct chief *c)
{
    assert(c->elected || c->wake_at_ms == UINT64_MAX);
    return c->wake_at_ms;
}
