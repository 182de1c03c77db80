/* The chief's events and its one write at a time; what it wants is in chief_plan.c. */
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

static void forget_queued(struct chief *c, uint32_t count)
{
    assert(count <= c->queue_count);
    c->queue_count -= count;
    memmove(c->queue, c->queue + count, c->queue_count * sizeof c->queue[0]);
}

/* ------------------------------------------------------------- checkpoints */

static void add_checkpoint(struct chief *c, struct chief_checkpoint checkpoint)
{
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

/* Only after a newer one is committed; never what a load under way starts from. */
static void collect_checkpoints(struct chief *c, struct chief_actions *out)
{
    while (c->checkpoint_count > c->config.checkpoint_keep &&
           out->delete_count < CHIEF_DELETE_MAX) {
        uint64_t oldest = c->checkpoints[0].id;
        if (c->run.phase == RUN_LOADING && oldest == c->run.load_checkpoint) { return; }
        out->deletes[out->delete_count++] = oldest;
        c->checkpoint_count--;
        memmove(c->checkpoints, c->checkpoints + 1, c->checkpoint_count * sizeof c->checkpoints[0]);
    }
}

/* ------------------------------------------------------------------ events */

static void greet_members(struct chief *c)
{
    for (uint32_t i = 0; i < c->config.ps; i++) {
        c->ps[i].lost = false;
        if (c->inherited || !c->ps[i].present) { continue; }
        queue_entry(c, HISTORY_TASK_UP, (struct task){ROLE_PS, i}, c->ps[i].pid, 0, NULL);
    }
    for (uint32_t i = 0; i < c->config.workers; i++) {
        if (c->inherited || !c->workers[i].present) { continue; }
        queue_entry(c, HISTORY_TASK_UP, (struct task){ROLE_WORKER, i}, c->workers[i].pid, 0, NULL);
    }
}

static void on_office(struct chief *c, const struct chief_event *event)
{
    if (c->in_office) { return; }
    c->in_office = true;
    c->epoch = event->office.epoch;
    c->run = (struct run){.phase = RUN_FORMING, .evaluate_step = STEP_NONE};
    c->run.evaluation.step = STEP_NONE;
    if (event->office.has_run) { c->run = *event->office.run; }
    if (event->office.has_assignment) { c->assignment = *event->office.assignment; }
    for (uint32_t i = 0; i < event->office.checkpoint_count; i++) {
        add_checkpoint(c, event->office.checkpoints[i]);
    }
    if (c->run.committed_checkpoint == 0 && c->run.generation == 0 && c->checkpoint_count > 0) {
        const struct chief_checkpoint *newest = &c->checkpoints[c->checkpoint_count - 1];
        c->run.committed_checkpoint = newest->id;
        c->run.committed_step = newest->step;
    }
    c->inherited = c->run.epoch != 0 && c->run.phase != RUN_FORMING;
    c->rate_at_ms = c->ordered_at_ms = c->now_ms;
    c->rate_step = STEP_NONE;
    queue_entry(c, HISTORY_ELECTED, c->config.self, c->config.pid, event->office.took_ms,
                event->office.cause);
    greet_members(c);
}

static struct chief_peer *peer_of(struct chief *c, struct task task)
{
    if (task.role == ROLE_PS && task.index < c->config.ps) { return &c->ps[task.index]; }
    if (task.role == ROLE_WORKER && task.index < c->config.workers) {
        return &c->workers[task.index];
    }
    return NULL;
}

static void on_member(struct chief *c, const struct chief_event *event)
{
    struct chief_peer *peer = peer_of(c, event->member.task);
    if (peer == NULL) { return; }
    bool same =
        peer->present && event->member.present && peer->incarnation == event->member.incarnation;
    bool went = peer->present && !same;
    bool news = c->in_office && (peer->known || !c->inherited); /* Else it was there before us. */
    peer->known = true;
    if (same) { return; }
    if (went) {
        const char *cause = event->member.cause;
        text_set(peer->cause, sizeof peer->cause, cause != NULL ? cause : "session lost");
        peer->lost = true;
        if (c->in_office) {
            queue_entry(c, HISTORY_TASK_LOST, event->member.task, peer->pid, 0, peer->cause);
        }
    }
    peer->present = event->member.present;
    peer->reported = false;
    if (!peer->present) { return; }
    peer->incarnation = event->member.incarnation;
    peer->pid = event->member.pid;
    if (peer->early.incarnation == peer->incarnation) {
        peer->report = peer->early;
        peer->reported = true;
    }
    if (news) { queue_entry(c, HISTORY_TASK_UP, event->member.task, peer->pid, 0, NULL); }
}

/* From the first thing on that a ps says in our office: how far training was when we came is not
 * known, and taken for steps made since it would put checkpoints out of reach. */
static void measure_rate(struct chief *c, const struct report *report)
{
    if (report->task.role != ROLE_PS || report->generation != c->run.generation) { return; }
    uint64_t step = chief_max_step(c, &c->run), passed_ms = c->now_ms - c->rate_at_ms;
    bool known = c->rate_step != STEP_NONE;
    if (known && passed_ms < CHIEF_RATE_MS) { return; }
    if (known && step >= c->rate_step) { c->rate = (step - c->rate_step) * 1000 / passed_ms; }
    c->rate_step = step;
    c->rate_at_ms = c->now_ms;
}

static void on_report(struct chief *c, const struct report *report)
{
    struct chief_peer *peer = peer_of(c, report->task);
    if (peer == NULL) { return; }
    if (!peer->present || report->incarnation != peer->incarnation) {
        peer->early = *report;
        return;
    }
    if (peer->reported && report->sequence < peer->report.sequence) { return; }
    peer->report = *report;
    peer->reported = true;
    measure_rate(c, report);
}

static void on_request(struct chief *c, const struct chief_event *event)
{
    if (c->request.waits) { return; }
    c->request =
        (struct chief_request){.waits = true, .id = event->request.id, .kind = event->request.kind};
    text_set(c->request.by, sizeof c->request.by, event->request.by);
}

/* ------------------------------------------------------------------ writes */

/* The write under way is in ZooKeeper now. */
static void write_done(struct chief *c, struct chief_actions *out)
{
    const struct chief_write *w = &c->write;
    c->writing = false;
    c->opened = c->counted = true;
    c->written_at_ms = c->now_ms;
    c->run = w->run;
    forget_queued(c, w->queued);
    if (w->assigns) { c->assignment = w->assignment; }
    if (w->commits) {
        add_checkpoint(c, (struct chief_checkpoint){.id = w->manifest.id,
                                                    .step = w->manifest.step,
                                                    .generation = w->manifest.generation,
                                                    .epoch = w->manifest.epoch});
        collect_checkpoints(c, out);
    }
    if (!w->answers) { return; }
    out->resign = c->request.kind == REQUEST_RESIGN;
    c->request.waits = false;
}

static void try_again(struct chief *c)
{
    c->retrying = true;
    c->retry_at_ms = c->now_ms + CHIEF_RETRY_MS;
}

static void exit_with(struct chief_actions *out, int exit_code)
{
    out->exits = true;
    out->exit_code = exit_code;
}

/* Somebody else changed /run, an operator's program: what it says now is where we go on from. */
static void adopt(struct chief *c, const struct run *run)
{
    c->writing = false;
    c->run = *run;
    c->opened = false;
}

static void not_done(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    const struct run *seen = event->written.run;
    if (seen != NULL && seen->epoch > c->epoch) {
        exit_with(out, TN_EXIT_DEPOSED);
    } else if (seen != NULL && seen->epoch == c->write.run.epoch &&
               seen->revision == c->write.run.revision) {
        write_done(c, out);
    } else if (seen != NULL && (seen->epoch != c->run.epoch || seen->revision != c->run.revision)) {
        adopt(c, seen);
    } else if (event->written.outcome == CHIEF_WRITE_CHECKPOINT_EXISTS) {
        c->writing = false; /* An id that was used: the next one. */
        c->run.save_checkpoint = 0;
    } else {
        if (event->written.outcome == CHIEF_WRITE_REQUEST_GONE) {
            c->write.answers = c->request.waits = false;
        }
        try_again(c);
    }
}

static void on_written(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    if (event->written.op != c->op || (!c->writing && c->raising == 0)) { return; }
    if (event->written.outcome == CHIEF_WRITE_DEPOSED) {
        exit_with(out, TN_EXIT_DEPOSED);
    } else if (c->raising != 0) {
        if (event->written.outcome == CHIEF_WRITE_OK) { c->epoch = c->raising; }
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

static void emit_write(struct chief *c, struct chief_actions *out)
{
    c->writing = true;
    c->retrying = false;
    c->write.op = ++c->op;
    out->write = &c->write;
}

/* C11: the highest epoch that disks name, unless it is ours by right. */
static uint64_t epoch_on_disks(const struct chief *c)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < c->config.ps; i++) {
        if (c->ps[i].reported) { highest = most(highest, c->ps[i].report.disk_epoch); }
    }
    bool ours =
        c->checkpoint_count > 0 && c->checkpoints[c->checkpoint_count - 1].epoch == c->epoch;
    return highest == c->epoch && ours ? 0 : highest;
}

static void begin_write(struct chief *c, const struct plan *plan, struct chief_actions *out)
{
    struct run *run = &c->write.run;
    if (run->save_checkpoint != 0 && run->save_checkpoint != c->run.save_checkpoint) {
        c->ordered_at_ms = c->now_ms;
    }
    if (c->write.commits) { c->boost /= 2; }
    if (plan->late) { c->boost = c->boost * 2 + chief_lead(c); }
    for (uint32_t i = 0; plan->clears_lost && i < c->config.ps; i++) { c->ps[i].lost = false; }
    run->epoch = c->epoch;
    run->revision = ++c->revision;
    run->changed_wall_ms = c->wall_ms;
    emit_write(c, out);
}

static void pursue(struct chief *c, struct chief_actions *out)
{
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
    uint64_t soft_at_ms = c->written_at_ms + CHIEF_SOFT_MS;
    if (plan.urgency == PLAN_HARD || (plan.urgency == PLAN_SOFT && c->now_ms >= soft_at_ms)) {
        begin_write(c, &plan, out);
    } else if (plan.urgency == PLAN_SOFT) {
        c->wake_at_ms = soft_at_ms;
    } else if (c->config.checkpoint_every_ms != 0 && c->run.phase == RUN_RUNNING) {
        uint64_t due_ms = c->ordered_at_ms + c->config.checkpoint_every_ms;
        c->wake_at_ms = due_ms > c->now_ms ? due_ms : c->now_ms + CHIEF_SOFT_MS;
    }
}

/* After the end others leave first, so that they hear of it from us; but not for ever. */
static void finish(struct chief *c, struct chief_actions *out)
{
    if (c->ended_at_ms == 0) { c->ended_at_ms = c->now_ms; }
    bool alone = c->opened;
    for (uint32_t i = 0; i < c->config.ps; i++) { alone = alone && !c->ps[i].present; }
    for (uint32_t i = 0; i < c->config.workers; i++) { alone = alone && !c->workers[i].present; }
    c->wake_at_ms = least(c->wake_at_ms, c->ended_at_ms + CHIEF_GOODBYE_MS);
    if (!alone && c->now_ms < c->ended_at_ms + CHIEF_GOODBYE_MS) { return; }
    exit_with(out, c->run.phase == RUN_DONE ? TN_EXIT_OK : TN_EXIT_ERROR);
}

/* -------------------------------------------------------------------- step */

void chief_init(struct chief *c, const struct chief_config *config)
{
    assert(config->ps > 0 && config->ps <= PS_MAX);
    assert(config->workers > 0 && config->workers <= WORKERS_MAX);
    assert(config->min_workers <= config->workers && config->checkpoint_keep > 0);
    assert(config->slices > 0 && config->slices <= SLICES_MAX && config->steps > 0);
    memset(c, 0, sizeof *c);
    c->config = *config;
    c->wake_at_ms = UINT64_MAX;
}

void chief_step(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    assert(event->now_ms >= c->now_ms);
    c->now_ms = event->now_ms;
    c->wall_ms = event->wall_ms;
    *out = (struct chief_actions){0};
    switch (event->type) {
    case CHIEF_EV_TICK: break;
    case CHIEF_EV_OFFICE: on_office(c, event); break;
    case CHIEF_EV_MEMBER: on_member(c, event); break;
    case CHIEF_EV_REPORT: on_report(c, event->report); break;
    case CHIEF_EV_REQUEST: on_request(c, event); break;
    case CHIEF_EV_WRITTEN: on_written(c, event, out); break;
    }
    if (!c->in_office || out->exits || out->resign) { return; }
    pursue(c, out);
    bool ended = c->run.phase == RUN_DONE || c->run.phase == RUN_FAILED;
    if (ended && !c->writing) { finish(c, out); }
}

uint64_t chief_deadline_ms(const struct chief *c)
{
    return c->wake_at_ms;
}
