/*
 * The rules C4 and C11: which checkpoint a generation starts from, and what happens when it
 * cannot be loaded. A run never starts over while a committed checkpoint exists:
 *
 *   loading -> loading   damaged, its manifest is lost, or it is     fall_back()
 *                        superseded: the committed one before
 *   loading -> held      missing, or none is older                   hold()
 *   held    -> loading   a ps came back, or an operator decided      plan_watch_held(),
 *                                                                    plan_restore(),
 *                                                                    plan_accept_loss()
 */
#include <assert.h>

#include "common/base/text.h"
#include "coordinator/chief_private.h"

enum { HOLD_NAMED_MAX = 4 }; /* So that the remedy fits into the reason. */

/* C11: a generation that no node has ever seen, not even before a wipe. */
static uint64_t fresh_generation(const struct plan *p)
{
    uint64_t highest = p->run->generation;
    assert(p->c->config.workers <= WORKERS_MAX);
    for (uint32_t i = 0; i < chief_holder_count(p->c); i++) {
        const struct report *report = &chief_holder(p->c, i)->report;
        highest = u64_max(highest, u64_max(report->generation, report->disk_generation));
    }
    for (uint32_t i = 0; i < p->c->config.workers; i++) {
        highest = u64_max(highest, p->c->workers[i].report.generation);
    }
    return highest + 1;
}

static void clear_hold(struct run *run)
{
    run->held_checkpoint = run->held_step = 0;
    run->missing_count = 0;
}

void plan_load(struct plan *p, struct chief_checkpoint from)
{
    struct run *run = p->run;
    assert(run->phase == RUN_FORMING || run->phase == RUN_PAUSED || run->phase == RUN_LOADING ||
           run->phase == RUN_HELD);
    run->generation = fresh_generation(p);
    run->load_checkpoint = run->committed_checkpoint = from.id;
    run->load_step = run->committed_step = from.step;
    run->save_checkpoint = run->save_step = 0;
    run->gate = 0;
    clear_hold(run);
    for (uint32_t i = 0; i < chief_holder_count(p->c); i++) {
        run->last_checkpoint =
            u64_max(run->last_checkpoint, chief_holder(p->c, i)->report.disk_last_checkpoint);
    }
    /* Steps after the checkpoint are lost, and with them the evaluation of such a step. */
    if (run->evaluation.step != STEP_NONE && run->evaluation.step > from.step) {
        run->evaluation = (struct evaluation){.step = STEP_NONE};
    }
    early_stop_rewind(run, from.step);
    plan_best_rewound(p, from.id);
    plan_evaluator_rewound(p, from.id);
    if (run->until < from.step) { run->until = from.step; }
    plan_first_due(p);
    plan_next_evaluation(p);
    plan_phase(p, RUN_LOADING);
}

/* ----------------------------------------------------------- known checkpoints */

/* The newest checkpoint of which the disk of a holder has the manifest. Id 0: none is known. */
static struct chief_checkpoint newest_of_disk(const struct chief *c, uint32_t index)
{
    if (!chief_holder_reported(c, index)) { return (struct chief_checkpoint){.id = 0}; }
    const struct report *report = &chief_holder(c, index)->report;
    return (struct chief_checkpoint){.id = report->disk_checkpoint, .step = report->disk_step};
}

/* The newest committed checkpoint that is not known to be unloadable, with an id below `id` and a
 * step up to `step`. If ZooKeeper has lost all, those of the disks count. Id 0: none matches. */
static struct chief_checkpoint newest_loadable(const struct plan *p, uint64_t id, uint64_t step)
{
    const struct chief *c = p->c;
    assert(c->checkpoint_count <= CHIEF_CHECKPOINTS_MAX);
    struct chief_checkpoint found = {0};
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        const struct chief_checkpoint *each = &c->checkpoints[i];
        if (each->id < id && each->step <= step && !run_is_unloadable(p->run, each->id)) {
            found = *each;
        }
    }
    for (uint32_t i = 0; c->checkpoint_count == 0 && i < chief_holder_count(c); i++) {
        const struct chief_checkpoint each = newest_of_disk(c, i);
        if (each.id > found.id && each.id < id && each.step <= step &&
            !run_is_unloadable(p->run, each.id)) {
            found = each;
        }
    }
    return found;
}

/* The newest checkpoint in ZooKeeper or on a disk. */
static struct chief_checkpoint newest_known(const struct chief *c)
{
    assert(c->checkpoint_count <= CHIEF_CHECKPOINTS_MAX);
    struct chief_checkpoint found = {0};
    if (c->checkpoint_count > 0) { found = c->checkpoints[c->checkpoint_count - 1]; }
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        const struct chief_checkpoint each = newest_of_disk(c, i);
        if (each.id > found.id) { found = each; }
    }
    return found;
}

void plan_adopt_from_disks(struct plan *p)
{
    struct run *run = p->run;
    assert(run->phase == RUN_FORMING || run->recovery.kind == RECOVERY_CHIEF);
    if (run->committed_checkpoint != 0) { return; }
    struct chief_checkpoint newest = newest_known(p->c);
    run->committed_checkpoint = newest.id;
    run->committed_step = newest.step;
}

/* ------------------------------------------------------------------- failures */

static void note_unloadable(struct run *run, uint64_t checkpoint)
{
    assert(checkpoint != 0);
    if (run_is_unloadable(run, checkpoint)) { return; }
    if (run->unloadable_count < RUN_UNLOADABLE_MAX) {
        run->unloadable[run->unloadable_count++] = checkpoint;
    }
}

void plan_note_loaded(struct plan *p, uint64_t checkpoint)
{
    struct run *run = p->run;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < run->unloadable_count; i++) {
        if (run->unloadable[i] != checkpoint) { run->unloadable[kept++] = run->unloadable[i]; }
    }
    run->unloadable_count = kept;
}

/* "ps:0, ps:2 cannot load checkpoint 9 (step 267): ..." */
static void describe_hold(struct plan *p)
{
    const struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    struct text text = text_begin(reason, sizeof reason);
    const uint32_t named = u32_min(run->missing_count, HOLD_NAMED_MAX);
    for (uint32_t i = 0; i < named; i++) {
        if (i > 0) { text_add(&text, ", "); }
        task_append(&text, chief_holder_task(p->c, run->missing[i]));
    }
    if (run->missing_count > named) {
        text_add(&text, " and ");
        text_add_number(&text, run->missing_count - named);
        text_add(&text, " more");
    }
    text_add(&text, " cannot load checkpoint ");
    text_add_number(&text, run->held_checkpoint);
    text_add(&text, " (step ");
    text_add_number(&text, run->held_step);
    text_add(&text, "): restart it with its files, or use `tanist restore`");
    plan_reason(p, reason);
}

/* Record which holders cannot load the checkpoint of the hold. */
static void list_missing(struct plan *p)
{
    struct run *run = p->run;
    run->missing_count = 0;
    for (uint32_t i = 0; i < chief_holder_count(p->c); i++) {
        if (!chief_load_failed(p->c, run, i)) { continue; }
        run->missing[run->missing_count++] = (uint16_t)i;
    }
    describe_hold(p);
}

static void hold(struct plan *p, uint32_t index)
{
    struct run *run = p->run;
    struct history_entry *entry = plan_entry(p, HISTORY_HELD);
    entry->checkpoint = run->load_checkpoint;
    entry->step = run->load_step;
    entry->task = chief_holder_task(p->c, index);
    run->held_checkpoint = run->load_checkpoint;
    run->held_step = run->load_step;
    run->save_checkpoint = run->save_step = 0;
    plan_phase(p, RUN_HELD);
    list_missing(p);
    text_set(entry->cause, sizeof entry->cause, run->reason);
}

/* Whether the holder runs and has not tried to load this generation: it is slow, or has
 * restarted. */
static bool is_untried(const struct plan *p, uint32_t index)
{
    const struct report *report = &chief_holder(p->c, index)->report;
    return chief_holder_reported(p->c, index) && report->generation != p->run->generation &&
           report->loading_generation != p->run->generation &&
           !chief_load_failed(p->c, p->run, index);
}

static bool one_is_untried(const struct plan *p)
{
    for (uint32_t i = 0; i < chief_holder_count(p->c); i++) {
        if (is_untried(p, i)) { return true; }
    }
    return false;
}

/* Whether another program has deleted the manifest of the present checkpoint before a disk had a
 * copy: all holders have tried, on the disks that it was saved to, and none found the manifest. */
static bool manifest_is_lost(const struct plan *p)
{
    const struct chief *c = p->c;
    for (uint32_t i = 0; i < c->checkpoint_count; i++) {
        if (c->checkpoints[i].id == p->run->load_checkpoint) { return false; }
    }
    for (uint32_t i = 0; i < chief_holder_count(c); i++) {
        const struct report *report = &chief_holder(c, i)->report;
        if (!chief_load_failed(c, p->run, i) || report->failed_load_missing != MISSING_MANIFEST) {
            return false;
        }
    }
    return true;
}

/* `index`: a holder that cannot load the present checkpoint. */
static void load_older(struct plan *p, uint32_t index, struct chief_checkpoint older)
{
    struct run *run = p->run;
    const struct task task = chief_holder_task(p->c, index);
    struct history_entry *entry = plan_entry(p, HISTORY_FALLBACK);
    char cause[RUN_TEXT_MAX];
    struct text text = text_begin(cause, sizeof cause);
    assert(older.id != 0);
    entry->checkpoint = run->load_checkpoint;
    entry->step = run->load_step;
    entry->task = task;
    task_append(&text, task);
    text_add(&text, " cannot load it; loading checkpoint ");
    text_add_number(&text, older.id);
    text_set(entry->cause, sizeof entry->cause, cause);
    plan_load(p, older);
}

/* A hold begins when each ps that runs has tried: one that has not ends a hold (plan_watch_held()),
 * so that the run would alternate between held and loading. */
static void fall_back(struct plan *p, uint32_t index)
{
    struct run *run = p->run;
    assert(run->phase == RUN_LOADING);
    if (run->load_checkpoint == 0) {
        char cause[RUN_TEXT_MAX];
        struct text text = text_begin(cause, sizeof cause);
        task_append(&text, chief_holder_task(p->c, index));
        text_add(&text, " cannot make the initial values");
        plan_fail(p, cause);
        return;
    }
    const struct chief_checkpoint older = newest_loadable(p, run->load_checkpoint, UINT64_MAX);
    const bool missing = chief_holder(p->c, index)->report.failed_load_missing != MISSING_NOTHING;
    const bool may_return =
        !manifest_is_lost(p) && !chief_is_superseded(p->c, run->load_checkpoint);
    const bool holds = older.id == 0 || (missing && may_return);
    if (holds && one_is_untried(p)) { return; }
    note_unloadable(run, run->load_checkpoint);
    if (holds) {
        hold(p, index);
        return;
    }
    load_older(p, index, older);
}

void plan_watch_loading(struct plan *p)
{
    assert(p->run->phase == RUN_LOADING);
    uint32_t holder;
    if (p->c->strategy->find_failed_load(p->c, p->run, &holder)) {
        fall_back(p, holder);
        return;
    }
    if (p->c->strategy->is_held(p->c, p->run)) { plan_resume(p); }
}

/* ----------------------------------------------------------------------- held */

/* The missing files may exist again, so every checkpoint may be loadable again. That of the hold is
 * not given up if another program deleted its manifest: only an operator accepts the loss. */
static void try_all_again(struct plan *p)
{
    struct run *run = p->run;
    struct chief_checkpoint from = newest_known(p->c);
    if (from.id < run->held_checkpoint) {
        from = (struct chief_checkpoint){.id = run->held_checkpoint, .step = run->held_step};
    }
    run->unloadable_count = 0;
    plan_load(p, from);
}

/* Whether the checkpoint of the hold is lost for all, which is known once all have reported, and an
 * older one is loaded instead. */
static bool give_up_lost(struct plan *p, uint32_t failed)
{
    const struct chief_checkpoint older = newest_loadable(p, p->run->held_checkpoint, UINT64_MAX);
    if (older.id == 0 || !manifest_is_lost(p)) { return false; }
    load_older(p, failed, older);
    return true;
}

void plan_watch_held(struct plan *p)
{
    struct run *run = p->run;
    char reason[RUN_TEXT_MAX];
    uint32_t failed = UINT32_MAX; /* A holder that could not load. */
    assert(run->phase == RUN_HELD);
    if (!chief_has_reported(p->c, run)) {
        (void)chief_name_missing(p->c, run, reason);
        plan_reason(p, reason);
        return;
    }
    for (uint32_t i = 0; i < chief_holder_count(p->c); i++) {
        if (chief_load_failed(p->c, run, i)) { failed = i; }
    }
    /* A holder that restarted before it read of the hold may have loaded the generation. */
    if (p->c->strategy->survives_losses && p->c->strategy->is_held(p->c, run)) {
        clear_hold(run);
        plan_phase(p, RUN_LOADING);
        plan_resume(p);
    } else if (one_is_untried(p) || failed == UINT32_MAX) {
        try_all_again(p);
    } else if (!give_up_lost(p, failed)) {
        list_missing(p);
    }
}

void plan_restore(struct plan *p, const char *path)
{
    assert(path != NULL);
    if (p->run->phase != RUN_HELD) { return; }
    text_set(p->run->restore_from, sizeof p->run->restore_from, path);
    try_all_again(p);
}

void plan_accept_loss(struct plan *p, uint64_t step)
{
    if (p->run->phase != RUN_HELD) { return; }
    struct chief_checkpoint from = newest_loadable(p, UINT64_MAX, step);
    /* Only step 0 accepts the loss of everything. */
    if (from.id != 0 || step == 0) { plan_load(p, from); }
}
