/* Orders for checkpoints and evaluations: C6, C7, C8. */
#include <assert.h>

#include "common/base/text.h"
#include "common/cluster/placement.h"
#include "coordinator/chief_private.h"

uint64_t chief_lead(const struct chief *c)
{
    assert(c->elected);
    uint64_t lead = CHIEF_AHEAD_STEPS + c->rate * CHIEF_AHEAD_MS / 1000 + c->boost;
    return u64_min(lead, CHIEF_LEAD_MAX);
}

static uint64_t multiple_after(uint64_t step, uint64_t every)
{
    assert(every > 0);
    return (step / every + 1) * every;
}

/* ------------------------------------------------------------- evaluations */

/* C8: whether nodes stop at each evaluation until its result is known. */
static bool has_gates(const struct chief *c)
{
    return c->config.target_accuracy > 0 && c->config.evaluate_every > 0;
}

uint64_t plan_boundary(const struct chief *c, uint64_t step)
{
    assert(c->config.steps > 0);
    uint64_t last = u64_max(c->config.steps, step);
    return has_gates(c) ? u64_min(multiple_after(step, c->config.evaluate_every), last) : last;
}

void plan_next_evaluation(struct plan *p)
{
    assert(p->run == &p->w->run);
    struct run *run = p->run;
    bool known = run->evaluation.step != STEP_NONE;
    uint64_t every = p->c->config.evaluate_every, next = STEP_NONE;
    uint64_t passed = u64_max(run->load_step, known ? run->evaluation.step : 0);
    passed = u64_max(passed, chief_max_step(p->c, run) + p->c->rate * CHIEF_DELIVERY_MS / 1000);
    if (every > 0) { next = multiple_after(passed, every); }
    bool last_known = known && run->evaluation.step >= run->until;
    run->evaluate_step = last_known ? STEP_NONE : u64_min(next, run->until);
}

/* The result that answers the order, or NULL. */
static const struct evaluation *reported_evaluation(const struct plan *p)
{
    assert(p->run->evaluate_step != STEP_NONE);
    for (uint32_t i = 0; i < p->c->config.workers; i++) {
        const struct chief_peer *peer = &p->c->workers[i];
        const struct evaluation *found = &peer->report.evaluation;
        if (!peer->present || !peer->reported) { continue; }
        if (peer->report.generation != p->run->generation || found->step == STEP_NONE) { continue; }
        if (found->step >= p->run->evaluate_step && found->step <= p->run->until) { return found; }
    }
    return NULL;
}

void plan_evaluation(struct plan *p)
{
    struct run *run = p->run;
    if (run->phase != RUN_RUNNING && run->phase != RUN_STOPPING) { return; }
    const struct evaluation *found =
        run->evaluate_step != STEP_NONE ? reported_evaluation(p) : NULL;
    if (found == NULL) { return; }
    run->evaluation = *found;
    struct history_entry *entry = plan_entry(p, HISTORY_EVALUATED);
    entry->step = found->step;
    entry->loss = found->loss;
    entry->accuracy = found->accuracy;
    bool waited_for = found->step == run->until;
    if (waited_for && has_gates(p->c) && !run->ending) {
        run->ending = found->accuracy >= p->c->config.target_accuracy;
        if (!run->ending) {
            run->until = plan_boundary(p->c, run->until);
            run->ending = run->until >= p->c->config.steps;
        }
    }
    plan_next_evaluation(p);
    plan_need(p, waited_for ? PLAN_HARD : PLAN_SOFT);
}

/* ------------------------------------------------------------- checkpoints */

static void order(struct plan *p, uint64_t step, enum urgency urgency)
{
    assert(step != STEP_NONE);
    assert(p->run->phase == RUN_RUNNING || p->run->phase == RUN_STOPPING);
    p->run->save_checkpoint = ++p->run->last_checkpoint;
    p->run->save_step = step;
    plan_need(p, urgency);
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
    manifest->shard_count = c->config.ps;
    const struct inputs *inputs = &p->run->inputs;
    if (inputs->fingerprint[0] != '\0') {
        text_set(manifest->kernels, sizeof manifest->kernels, inputs->fingerprint);
    }
    manifest->data = (struct digest){.low = inputs->data[0], .high = inputs->data[1]};
    for (uint32_t i = 0; i < c->config.ps; i++) {
        const struct report *report = &c->ps[i].report;
        struct placement range = placement_range(manifest->parameter_count, c->config.ps, i);
        struct manifest_shard *shard = &manifest->shards[i];
        shard->first = range.first;
        shard->count = range.count;
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
    fill_manifest(p, &p->w->manifest);
    run->committed_checkpoint = run->save_checkpoint;
    run->committed_step = run->save_step;
    run->save_checkpoint = run->save_step = 0;
    run->restore_from[0] = '\0'; /* The ps have all shards of this checkpoint themselves. */
    struct history_entry *entry = plan_entry(p, HISTORY_CHECKPOINT);
    entry->checkpoint = run->committed_checkpoint;
    entry->step = run->committed_step;
    plan_need(p, run->committed_step == run->until ? PLAN_HARD : PLAN_SOFT);
}

/* An order for the last step cannot come too late, so the disk has failed. */
static void report_failed_save(struct plan *p, uint32_t index)
{
    char reason[RUN_TEXT_MAX];
    struct text text = text_begin(reason, sizeof reason);
    assert(p->run->phase == RUN_STOPPING);
    text_add(&text, "the last checkpoint: ");
    task_append(&text, (struct task){.role = ROLE_PS, .index = index});
    text_add(&text, " cannot save it (see its log); trying again");
    plan_reason(p, reason);
}

/* Commits the ordered checkpoint once every ps has saved it; drops the order once a ps missed it.
 */
static void check_order(struct plan *p)
{
    const uint64_t id = p->run->save_checkpoint;
    assert(id != 0);
    bool saved = true;
    for (uint32_t i = 0; i < p->c->config.ps; i++) {
        const struct report *report = &p->c->ps[i].report;
        bool holds = chief_ps_holds(p->c, p->run, i);
        saved = saved && holds && report->saved_checkpoint == id &&
                report->saved_step == p->run->save_step;
        if (!holds || report->missed_checkpoint < id) { continue; }
        p->missed = true;
        p->late = p->late || report->late_checkpoint >= id;
        if (p->run->phase == RUN_STOPPING) { report_failed_save(p, i); }
    }
    if (saved) {
        commit(p);
    } else if (p->missed) {
        p->run->save_checkpoint = p->run->save_step = 0;
        plan_need(p, PLAN_SOFT);
    }
}

static bool order_by_time(const struct plan *p, uint64_t reached)
{
    uint64_t every_ms = p->c->config.checkpoint_every_ms;
    assert(p->c->ordered_at_ms <= p->c->now_ms);
    return every_ms != 0 && p->c->now_ms >= p->c->ordered_at_ms + every_ms &&
           reached > p->run->committed_step;
}

/* The step of the checkpoint that should be ordered now; STEP_NONE: none. */
static uint64_t wanted_step(const struct plan *p)
{
    const struct run *run = p->run;
    assert(run->phase == RUN_RUNNING || run->phase == RUN_STOPPING);
    uint64_t reached = chief_max_step(p->c, run), ahead = reached + chief_lead(p->c);
    uint64_t every = p->c->config.checkpoint_every_steps, wanted = STEP_NONE;
    bool final_needed = run->ending && run->committed_step != run->until;
    if (run->phase == RUN_STOPPING) { return final_needed ? run->until : STEP_NONE; }
    if (every > 0) {
        uint64_t done = u64_max(run->committed_step, run->load_step);
        wanted = multiple_after(u64_max(done, ahead - 1), every);
    }
    if (order_by_time(p, reached)) { wanted = u64_min(wanted, ahead); }
    if (!run->ending || (wanted != STEP_NONE && wanted < run->until)) { return wanted; }
    /* No checkpoint is due before the last step. One ordered by time may still become due, so the
     * last one is then ordered only when it is near. */
    bool near = ahead >= run->until || every > 0 || p->c->config.checkpoint_every_ms == 0;
    return final_needed && near ? run->until : STEP_NONE;
}

void plan_checkpoints(struct plan *p)
{
    struct run *run = p->run;
    if (run->phase != RUN_RUNNING && run->phase != RUN_STOPPING) { return; }
    if (run->save_checkpoint != 0) { check_order(p); }
    uint64_t wanted = wanted_step(p);
    /* An order stands until it is answered, unless it is out of reach: beyond the end, or far ahead
     * of a checkpoint that is due by time. */
    uint64_t far = chief_max_step(p->c, run) + 2 * chief_lead(p->c);
    bool replaces = run->save_checkpoint != 0 && wanted < run->save_step &&
                    (run->save_step > run->until ||
                     (order_by_time(p, chief_max_step(p->c, run)) && run->save_step > far));
    if (wanted == STEP_NONE || (run->save_checkpoint != 0 && !replaces)) { return; }
    order(p, wanted, run->phase == RUN_STOPPING && !p->missed ? PLAN_HARD : PLAN_SOFT);
}
