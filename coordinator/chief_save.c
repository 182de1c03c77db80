/* Orders for checkpoints: C6, C14. */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

uint64_t chief_lead(const struct chief *c)
{
    assert(c->elected);
    uint64_t lead = CHIEF_AHEAD_STEPS + c->rate * CHIEF_AHEAD_MS / 1000 + c->boost;
    return u64_min(lead, CHIEF_LEAD_MAX);
}

uint64_t chief_stop_step(const struct run *run, uint64_t step)
{
    while (step == run->save_step || step == run->committed_step || step == run->evaluate_step ||
           step == run->evaluation.step) {
        step++;
    }
    return step;
}

uint64_t chief_multiple_after(uint64_t step, uint64_t every)
{
    assert(every > 0);
    return (step / every + 1) * every;
}

/* ------------------------------------------------------------------ orders */

void plan_order(struct plan *p, uint64_t step, enum urgency urgency)
{
    assert(step != STEP_NONE);
    assert(p->run->phase == RUN_RUNNING || p->run->phase == RUN_STOPPING);
    plan_drop_order(p);
    p->run->save_checkpoint = ++p->run->last_checkpoint;
    p->run->save_step = step;
    p->run->save_writer = p->c->strategy->choose_writer(p->c, p->run);
    plan_best_ordered(p);
    if (step == p->run->save_due && step != 0) {
        p->run->save_due = chief_multiple_after(step, p->c->config.checkpoint_every_steps);
    }
    plan_need(p, urgency);
}

void plan_drop_order(struct plan *p)
{
    struct run *run = p->run;
    uint64_t every = p->c->config.checkpoint_every_steps;
    bool multiple = run->save_checkpoint != 0 && every != 0 && run->save_step % every == 0;
    if (multiple) { run->save_due = u64_min(run->save_due, run->save_step); }
    plan_best_dropped(p);
    run->save_checkpoint = run->save_step = 0;
}

void plan_first_due(struct plan *p)
{
    uint64_t every = p->c->config.checkpoint_every_steps;
    p->run->save_due = every != 0 ? chief_multiple_after(p->run->load_step, every) : 0;
}

/* A multiple of the interval that is not saved: the disk cannot follow. */
static void skip(struct plan *p, uint64_t step, const char *cause)
{
    struct history_entry *entry = plan_entry(p, HISTORY_SKIPPED);
    entry->step = step;
    text_set(entry->cause, sizeof entry->cause, cause);
    p->run->skipped_checkpoints++;
    plan_need(p, PLAN_HARD);
}

static bool is_due(const struct chief *c, uint64_t step)
{
    uint64_t every = c->config.checkpoint_every_steps;
    return every != 0 && step % every == 0;
}

static void fill_manifest(const struct plan *p, struct manifest *manifest)
{
    const struct chief *c = p->c;
    assert(p->run->save_checkpoint != 0);
    *manifest = c->config.manifest;
    manifest->id = p->run->save_checkpoint;
    manifest->generation = p->run->generation;
    manifest->step = p->run->save_step;
    manifest->epoch = c->epoch;
    manifest->created_wall_ms = c->wall_ms;
    const struct inputs *inputs = &p->run->inputs;
    if (inputs->fingerprint[0] != '\0') {
        text_set(manifest->kernels, sizeof manifest->kernels, inputs->fingerprint);
    }
    manifest->best = p->run->best_checkpoint;
    manifest->data = (struct digest){.low = inputs->data[0], .high = inputs->data[1]};
    struct chief_writer writer;
    for (uint32_t i = 0; c->strategy->find_writer(c, p->run, i, &writer); i++) {
        const struct report *report = writer.report;
        struct manifest_shard *shard = &manifest->shards[i];
        shard->bytes = report->saved_bytes;
        shard->digest =
            (struct digest){.low = report->saved_digest[0], .high = report->saved_digest[1]};
        text_set(shard->place, sizeof shard->place, report->place);
    }
}

static void commit(struct plan *p)
{
    struct run *run = p->run;
    assert(run->save_checkpoint != 0);
    p->w->commits = true;
    plan_best_committed(p);
    plan_evaluator_committed(p);
    fill_manifest(p, &p->w->manifest);
    run->committed_checkpoint = run->save_checkpoint;
    run->committed_step = run->save_step;
    run->save_checkpoint = run->save_step = 0;
    run->restore_from[0] = '\0'; /* The ps have all shards of this checkpoint themselves. */
    if (run->phase == RUN_RUNNING) { plan_reason(p, ""); /* A gate was awaited. */ }
    struct history_entry *entry = plan_entry(p, HISTORY_CHECKPOINT);
    entry->checkpoint = run->committed_checkpoint;
    entry->step = run->committed_step;
    plan_need(p, run->committed_step == run->until ? PLAN_HARD : PLAN_SOFT);
}

/* Training waits for a checkpoint that cannot be written. The end and a gate are moved if an order
 * for them comes too late (C9, C16), so the disk has failed. */
static void report_failed_save(struct plan *p, struct task task)
{
    char reason[RUN_TEXT_MAX];
    struct text text = text_begin(reason, sizeof reason);
    text_add(&text, p->run->phase == RUN_STOPPING ? "the last checkpoint: "
                                                  : "the checkpoint at which nodes leave: ");
    task_append(&text, task);
    text_add(&text, " cannot save it (see its log); trying again");
    plan_reason(p, reason);
}

/* Before a checkpoint exists, all evaluations up to its step are known: those of steps that a
 * restore does not repeat are never lost. */
static bool is_evaluated(const struct run *run)
{
    return run->evaluate_step == STEP_NONE || run->evaluate_step > run->save_step;
}

/* The order cannot be carried out. */
static void missed(struct plan *p, struct task task)
{
    struct run *run = p->run;
    uint64_t step = run->save_step;
    char cause[RUN_TEXT_MAX];
    struct text text = text_begin(cause, sizeof cause);
    assert(run->save_checkpoint != 0);
    plan_best_dropped(p);
    run->save_checkpoint = run->save_step = 0;
    plan_need(p, PLAN_SOFT);
    const bool ends = run->phase == RUN_STOPPING && step == run->until;
    const bool gates = run->phase == RUN_RUNNING && run->gate != 0 && step == run->gate && !p->late;
    if (ends || gates) { report_failed_save(p, task); }
    if (!ends && is_due(p->c, step)) {
        task_append(&text, task);
        text_add(&text, p->late ? " learned of it too late" : " could not save it (see its log)");
        skip(p, step, cause);
    }
}

/* Commits the ordered checkpoint once every writer has saved it; drops the order once one missed
 * it. Returns whether it is still being written. */
static bool check_order(struct plan *p)
{
    const uint64_t id = p->run->save_checkpoint;
    struct chief_writer writer;
    struct task failed = {0};
    bool fails = false;
    /* M9: without ps a multiple is passed only by a worker that adopts later values, which no lead
     * of the order prevents. */
    const bool is_jumped = p->c->strategy->survives_losses && is_due(p->c, p->run->save_step);
    uint32_t saved = 0, shards = 0;
    assert(id != 0);
    for (; p->c->strategy->find_writer(p->c, p->run, shards, &writer); shards++) {
        const struct report *report = writer.report;
        if (writer.lost) {
            failed = writer.task;
            fails = true;
        }
        if (!writer.holds) { continue; }
        saved += report->saved_checkpoint == id && report->saved_step == p->run->save_step;
        if (report->missed_checkpoint < id) { continue; }
        failed = writer.task;
        fails = true;
        p->late = p->late || (report->late_checkpoint >= id && !is_jumped);
    }
    if (saved == shards) {
        if (is_evaluated(p->run)) { commit(p); }
        return false;
    }
    p->missed = fails;
    if (fails) { missed(p, failed); }
    return !fails;
}

/* C17: the best of all evaluations is kept, so that it does not depend on the speed of a disk. */
static bool may_be_best(const struct plan *p, uint64_t step)
{
    const uint64_t every = p->c->config.evaluate_every;
    return p->c->config.best != BEST_NONE && every != 0 && step % every == 0;
}

/* Training waits for the next order, but the disk still writes the checkpoint before. */
static void skip_if_waiting(struct plan *p)
{
    struct run *run = p->run;
    char cause[RUN_TEXT_MAX];
    struct text text = text_begin(cause, sizeof cause);
    assert(run->save_checkpoint != 0);
    if (may_be_best(p, run->save_due)) { return; }
    struct chief_writer writer;
    for (uint32_t i = 0; p->c->strategy->find_writer(p->c, run, i, &writer); i++) {
        if (!writer.holds || run->save_due == 0 ||
            writer.report->waits_for_checkpoint != run->save_due) {
            continue;
        }
        text_add(&text, "checkpoint ");
        text_add_number(&text, run->save_checkpoint);
        text_add(&text, " of step ");
        text_add_number(&text, run->save_step);
        text_add(&text, " is still being written");
        skip(p, run->save_due, cause);
        run->save_due = chief_multiple_after(run->save_due, p->c->config.checkpoint_every_steps);
        return;
    }
}

static bool order_by_time(const struct plan *p, uint64_t reached)
{
    uint64_t every_ms = p->c->config.checkpoint_every_ms;
    assert(p->c->ordered_at_ms <= p->c->now_ms);
    return every_ms != 0 && p->c->now_ms >= p->c->ordered_at_ms + every_ms &&
           reached > p->run->committed_step;
}

/* The next multiple of the interval, if it is to be ordered now; else STEP_NONE. With orders by
 * time as well, one far ahead would stand in their way. */
static uint64_t wanted_multiple(const struct plan *p, uint64_t reached)
{
    const struct run *run = p->run;
    bool near =
        p->c->config.checkpoint_every_ms == 0 || run->save_due <= reached + 2 * chief_lead(p->c);
    bool before_end = run->save_due < run->until || (run->save_due == run->until && !run->ending);
    return run->save_due != 0 && near && before_end ? run->save_due : STEP_NONE;
}

/* The step of the checkpoint that is due without a gate; STEP_NONE: none. */
static uint64_t due_step(const struct plan *p)
{
    const struct run *run = p->run;
    assert(run->phase == RUN_RUNNING || run->phase == RUN_STOPPING);
    uint64_t reached = chief_max_step(p->c, run), ahead = reached + chief_lead(p->c);
    bool final_needed = run->ending && run->committed_step != run->until;
    uint64_t wanted = wanted_multiple(p, reached);
    if (run->phase == RUN_RUNNING && order_by_time(p, reached)) {
        /* Not beyond a multiple that is due, which would then be too late. */
        wanted = u64_min(u64_min(wanted, ahead), run->save_due != 0 ? run->save_due : ahead);
    }
    if (!run->ending || (wanted != STEP_NONE && wanted < run->until)) { return wanted; }
    /* No checkpoint is due before the last step. One ordered by time may still become due, so the
     * last one is then ordered only when it is near. */
    bool multiple_left = run->save_due != 0 && run->save_due < run->until;
    bool near = ahead >= run->until || run->save_due != 0 || p->c->config.checkpoint_every_ms == 0;
    return final_needed && near && !multiple_left ? run->until : STEP_NONE;
}

/* The step of the checkpoint that should be ordered now; STEP_NONE: none. */
static uint64_t wanted_step(const struct plan *p)
{
    const struct run *run = p->run;
    uint64_t step = due_step(p);
    if (run->gate == 0 || run->phase == RUN_STOPPING || step < run->gate) { return step; }
    if (run->committed_step == run->gate) { return STEP_NONE; }
    /* A multiple before the gate, however far ahead, comes first: the order for the gate stands
     * until training has passed the multiple. */
    return u64_min(run->save_due != 0 ? run->save_due : STEP_NONE, run->gate);
}

void plan_checkpoints(struct plan *p)
{
    struct run *run = p->run;
    if (run->phase != RUN_RUNNING && run->phase != RUN_STOPPING) { return; }
    if (run->save_checkpoint != 0 && check_order(p)) { skip_if_waiting(p); }
    plan_gate(p);
    if (run->phase == RUN_PAUSED) { return; }
    uint64_t wanted = wanted_step(p);
    /* An order stands until it is answered, unless its step cannot be reached soon: it is beyond
     * the end, or far ahead of a checkpoint that is due by time. */
    uint64_t far = chief_max_step(p->c, run) + 2 * chief_lead(p->c);
    bool replaces = run->save_checkpoint != 0 && wanted < run->save_step &&
                    (run->save_step > run_limit(run) ||
                     (order_by_time(p, chief_max_step(p->c, run)) && run->save_step > far));
    if (wanted == STEP_NONE || (run->save_checkpoint != 0 && !replaces)) { return; }
    bool soft = (run->phase == RUN_RUNNING && wanted == run->until) || p->missed;
    plan_order(p, wanted, soft ? PLAN_SOFT : PLAN_HARD);
}
