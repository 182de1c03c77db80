/* The chief has one write in flight at a time: entries of the history wait for it, its outcome is
 * handled, and the next one begins. chief_plan.c decides what to write. */
#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/text.h"
#include "coordinator/chief_private.h"
#include "tanist/status.h"

/* ----------------------------------------------------------------- history */

void chief_note(struct chief *c, enum history_kind kind, struct task task, uint64_t pid,
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

void chief_add_checkpoint(struct chief *c, struct chief_checkpoint checkpoint)
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

/* Whether a checkpoint stays however old it is. */
static bool is_needed(const struct chief *c, uint64_t checkpoint)
{
    return checkpoint == c->run.evaluate_checkpoint || chief_best_keeps(c, checkpoint) ||
           chief_chain_keeps(c, checkpoint);
}

bool chief_is_superseded(const struct chief *c, uint64_t checkpoint)
{
    uint32_t newer = 0;
    assert(c->config.checkpoint_keep > 0);
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        newer += c->checkpoints[i].id > checkpoint;
    }
    return newer >= c->config.checkpoint_keep && !is_needed(c, checkpoint) &&
           !chief_committed_chain_keeps(c, checkpoint);
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
        bool kept = old && is_needed(c, id);
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

/* ------------------------------------------------------------------ writes */

/* The write ends a load. The ps have published the manifest of the checkpoint that they loaded,
 * which may have been on the disks alone. */
static void list_loaded(struct chief *c)
{
    const struct run *run = &c->write.run;
    assert(!c->writing);
    if (c->run.phase != RUN_LOADING || run->phase != RUN_RUNNING) { return; }
    if (run->load_checkpoint == 0) { return; }
    chief_add_checkpoint(c, (struct chief_checkpoint){.id = run->load_checkpoint,
                                                      .step = run->load_step,
                                                      .inputs = run->inputs,
                                                      .best = run->best_checkpoint});
}

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
    if (w->run.workers < c->run.workers) { c->departs_ms = c->now_ms; }
    list_loaded(c);
    c->run = w->run;
    chief_note_pause(c);
    drop_queued(c, w->queued);
    if (w->assigns) { chief_take_assignment(c, &w->assignment); }
    if (w->commits) {
        c->committed = true;
        chief_add_checkpoint(c, (struct chief_checkpoint){.id = w->manifest.id,
                                                          .step = w->manifest.step,
                                                          .inputs = w->run.inputs,
                                                          .best = w->manifest.best});
        collect_checkpoints(c, out);
    }
    if (!w->answers) { return; }
    out->resign = c->request.kind == REQUEST_RESIGN;
    c->request.waits = false;
}

/* C24: the write was not carried out, perhaps for long, so that workers that stay may be dead by
 * now. An attempt before may still be carried out. */
static void withdraw_release(struct chief *c)
{
    struct run *run = &c->write.run;
    assert(c->writing);
    if (run->released_count == 0) { return; }
    run->released_count = 0;
    memset(run->released, 0, sizeof run->released);
    run->revision = ++c->revision;
    c->departs_ms = c->now_ms;
}

static void try_again(struct chief *c)
{
    assert(c->writing);
    c->retrying = true;
    c->retry_at_ms = c->now_ms + CHIEF_RETRY_MS;
}

void chief_exit(struct chief_actions *out, int exit_code)
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
    chief_take_run(c, run);
    c->opened = false;
    c->pause_epoch = c->pause_revision = 0;
    c->departs_ms = c->now_ms;
}

bool chief_write_is_done(const struct chief_write *write, const struct run *seen)
{
    assert(write->first_revision <= write->run.revision);
    return seen->epoch == write->run.epoch && seen->revision >= write->first_revision &&
           seen->revision <= write->run.revision;
}

static void not_done(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    assert(c->writing);
    assert(event->written.outcome != CHIEF_WRITE_OK);
    const struct run *seen = event->written.run;
    const bool gone = event->written.outcome == CHIEF_WRITE_REQUEST_GONE;
    if (seen != NULL && seen->epoch > c->epoch) {
        chief_exit(out, TN_EXIT_DEPOSED);
    } else if (seen != NULL && chief_write_is_done(&c->write, seen)) {
        if (seen->revision != c->write.run.revision) { c->write.run = *seen; }
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
        withdraw_release(c);
        try_again(c);
    }
}

void chief_written(struct chief *c, const struct chief_event *event, struct chief_actions *out)
{
    if (event->written.op != c->op || (!c->writing && c->raising == 0)) { return; }
    assert(!c->writing || c->raising == 0);
    if (event->written.outcome == CHIEF_WRITE_DEPOSED) {
        chief_exit(out, TN_EXIT_DEPOSED);
    } else if (c->raising != 0) {
        if (event->written.outcome == CHIEF_WRITE_OK) {
            c->epoch = c->raising;
            c->committed = false;
        } else {
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
        chief_peer_of(c, chief_holder_task(c, i))->lost = false;
    }
    if (plan->survived != 0) { c->workers[plan->survived - 1].lost = false; }
    run->epoch = c->epoch;
    run->revision = c->write.first_revision = ++c->revision;
    run->changed_wall_ms = c->wall_ms;
    emit_write(c, out);
}

void chief_pursue(struct chief *c, struct chief_actions *out)
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
    chief_watch_late(c);
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
    c->wake_at_ms = u64_min(c->wake_at_ms, chief_late_deadline_ms(c));
    c->wake_at_ms = u64_min(c->wake_at_ms, chief_fetch_deadline_ms(c));
}
