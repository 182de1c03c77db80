#include "checker/checker_private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/cluster/placement.h"

void checker_init(struct checker *checker, const struct checker_config *config)
{
    assert(config->view.fail != NULL);
    assert(config->view.values != NULL || !config->exact_steps);
    assert(config->view.digest != NULL || !config->exact_cuts);
    assert(config->view.shard == NULL || config->tree != NULL);
    *checker = (struct checker){.config = *config};
    pace_init(&checker->evaluations, job_evaluate_every(config->job));
    pace_init(&checker->checkpoints, config->job->checkpoint.every_steps);
    checker->best.metric = config->job->checkpoint.best;
}

void checker_log(const struct checker *checker, const char *format, ...)
{
    char text[CHECKER_TEXT_MAX];
    if (checker->config.view.log == NULL) { return; }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    checker->config.view.log(checker->config.view.ctx, text);
}

void checker_fail(const struct checker *checker, const char *format, ...)
{
    char text[CHECKER_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    checker->config.view.fail(checker->config.view.ctx, text);
}

static bool sees_disks(const struct checker *checker)
{
    return checker->config.view.shard != NULL;
}

/* ---------------------------------------------------------------- orders */

/* I12. After a wipe the disks still hold the committed checkpoints. */
static void check_start_over(const struct checker *checker, const struct run *run)
{
    const struct checker_view *view = &checker->config.view;
    /* With its manifest and /run another program has deleted all that names a checkpoint, but for
     * manifests on disks: a ps that died meanwhile may not have written one. */
    bool committed = (checker->highest_id != 0 && !checker->newest_lost) ||
                     (view->highest_epoch != NULL && view->highest_epoch(view->ctx) != 0);
    if (run->load_checkpoint != 0 || !committed || checker->loss_accepted) { return; }
    checker_fail(checker,
                 "I12: generation %" PRIu64 " starts over although a checkpoint is committed",
                 run->generation);
}

/* I13. `entry` is from the transaction that also writes /run, or from a later one. */
static void on_history(struct checker *checker, const struct zk_change *change)
{
    const struct run *run = &checker->run;
    struct history_entry entry;
    if (change->blob == NULL || change->blob->size == 0) { return; }
    if (history_decode(change->blob->data, change->blob->size, &entry, NULL) != TN_OK) { return; }
    if (entry.kind == HISTORY_EVALUATED && entry.checkpoint != 0) {
        checker_on_result(checker, &entry);
    }
    if (entry.kind == HISTORY_SKIPPED) { pace_note(&checker->checkpoints, entry.step); }
    if (entry.kind != HISTORY_PAUSED || entry.generation != run->generation) { return; }
    if (entry.step >= run->committed_step) { return; }
    checker_fail(checker, "I13: paused at step %" PRIu64 " although step %" PRIu64 " is committed",
                 entry.step, run->committed_step);
}

static void on_request(struct checker *checker, const struct zk_change *change)
{
    struct request request;
    if (change->blob == NULL || change->blob->size == 0) { return; }
    if (request_decode(change->blob->data, change->blob->size, &request, NULL) != TN_OK) { return; }
    if (request.kind == REQUEST_ACCEPT_LOSS) { checker->loss_accepted = true; }
    if (request.kind == REQUEST_STOP) { checker->stop_requested = true; }
}

/* I14. */
static void check_evaluated(const struct checker *checker, uint64_t step, const char *what)
{
    uint64_t missing = pace_missing(&checker->evaluations, step);
    if (missing == 0) { return; }
    checker_fail(checker, "I14: %s of step %" PRIu64 " before the evaluation of step %" PRIu64,
                 what, step, missing);
}

/* A chief that restores /run may remember an evaluation that its predecessor had rewound, so its
 * order is not checked. */
static void on_evaluation(struct checker *checker, const struct evaluation *evaluation,
                          bool restored)
{
    if (evaluation->step == STEP_NONE) { return; }
    pace_note(&checker->evaluations, evaluation->step);
    best_seen_evaluation(&checker->best, evaluation->step, evaluation->loss, evaluation->accuracy);
    if (!restored) { check_evaluated(checker, evaluation->step, "evaluation"); }
}

/* The transaction that ends a run may commit its last checkpoint. */
static void check_checkpoints(const struct checker *checker)
{
    assert(checker->run.phase == RUN_DONE);
    uint64_t missing = pace_missing(&checker->checkpoints, checker->run.committed_step);
    if (missing == 0) { return; }
    checker_fail(checker, "I14: step %" PRIu64 " has no checkpoint and was not skipped", missing);
}

/* Whether the run may end at `step`. */
static bool may_end(const struct checker *checker, uint64_t step)
{
    const struct job *job = checker->config.job;
    const struct checker_view *view = &checker->config.view;
    const bool early = job->train.target_accuracy > 0 || job->train.stop_patience > 0;
    if (checker->stop_requested) { return step <= job->train.steps; }
    if (!early) { return step == job->train.steps; }
    if (job->cluster.evaluators > 0) { return step <= job->train.steps; }
    if (view->end == NULL || !checker->config.exact_steps) { return true; }
    const uint64_t end = view->end(view->ctx);
    return checker->best_lost ? step >= end : step == end;
}

static void check_end(struct checker *checker, const struct run *run)
{
    assert(run->phase == RUN_DONE);
    checker->done = true;
    if (!may_end(checker, run->evaluation.step)) {
        checker_fail(checker, "I8: done at step %" PRIu64 " of %" PRIu64, run->evaluation.step,
                     checker->config.job->train.steps);
        return;
    }
    if (!checker->config.exact_cuts) { return; }
    struct digest want =
        checker->config.view.digest(checker->config.view.ctx, run->evaluation.step);
    if (run->evaluation.digest[0] != want.low || run->evaluation.digest[1] != want.high) {
        checker_fail(checker,
                     "I8: the final parameters, of step %" PRIu64
                     ", are not those of an undisturbed run",
                     run->evaluation.step);
    }
}

/* The one failure that a run may have: an operator stopped it before training began. */
static void check_failure(struct checker *checker, const struct run *run)
{
    assert(run->phase == RUN_FAILED);
    if (checker->stop_requested && strcmp(run->reason, RUN_STOPPED_REASON) == 0) {
        checker->done = true;
        return;
    }
    checker_fail(checker, "I8: the run failed: %s", run->reason);
}

/* A load resets the clock of every slice on every ps. */
static void begin_generation(struct checker *checker, const struct run *run)
{
    assert(run->phase == RUN_LOADING);
    checker->pushed_generation = run->generation;
    pace_rewind(&checker->evaluations, run->load_step);
    pace_rewind(&checker->checkpoints, run->load_step);
    best_seen_rewind(&checker->best, run->load_checkpoint, run->load_step);
    /* Then the best one of its manifest counts, and results that came later are lost. */
    const bool back = run->load_checkpoint != checker->highest_id || checker->best_lost;
    if (checker->config.job->cluster.evaluators > 0 && back) { checker->best.metric = BEST_NONE; }
    for (uint32_t i = 0; i < PS_MAX; i++) {
        for (uint32_t v = 0; v < SLICES_MAX; v++) { checker->pushed[i][v] = run->load_step; }
    }
}

static void check_epoch(const struct checker *checker, const struct run *run)
{
    assert(checker->has_run || checker->run.epoch == 0);
    const struct run *was = &checker->run;
    /* `tanist run` and `tanist agent` write "forming" to start a job, or to start it again while no
     * node runs. They are not chiefs: they keep the epoch of the last order. */
    bool begun = run->phase == RUN_FORMING && (!checker->has_run || run->epoch == was->epoch);
    if (!begun && run->epoch != checker->chief.epoch) {
        checker_fail(checker, "I2: an order of epoch %" PRIu64 " in the term of epoch %" PRIu64,
                     run->epoch, checker->chief.epoch);
    }
    if (run->phase == RUN_LOADING && run->epoch <= checker->epoch_floor) {
        checker_fail(checker, "I1: an order of epoch %" PRIu64 " after a wipe at epoch %" PRIu64,
                     run->epoch, checker->epoch_floor);
    }
}

/* If no process remembers /run, the run forms again, from the contents of the disks. If all nodes
 * are present, its first /run orders the load already. */
static bool begins_again(const struct checker *checker, const struct run *run)
{
    const struct run *was = &checker->run;
    if (!checker->foreign) { return false; }
    if (run->phase == RUN_FORMING) { return run->generation == 0; }
    return run->phase == RUN_LOADING && run->generation > was->generation &&
           (checker->run_lost || run->last_checkpoint < was->last_checkpoint);
}

static void check_generation(struct checker *checker, const struct run *run)
{
    const struct run *was = &checker->run;
    assert(checker->has_run);
    if (begins_again(checker, run)) {
        checker->generation_before_wipe = u64_max(checker->generation_before_wipe, was->generation);
        checker->best_lost = true;
    } else if (run->generation < was->generation) {
        checker_fail(checker, "I3: generation %" PRIu64 " after %" PRIu64, run->generation,
                     was->generation);
    }
    bool started = run->phase == RUN_RUNNING && was->phase != RUN_RUNNING;
    const bool extended = was->phase == RUN_STOPPING && run->until > was->until; /* C9. */
    if (started && (run->generation != was->generation ||
                    (was->phase != RUN_LOADING && was->phase != RUN_PAUSED && !extended))) {
        checker_fail(checker, "I3: running generation %" PRIu64 " after %s of %" PRIu64,
                     run->generation, run_phase_name(was->phase), was->generation);
    }
}

/* C11: /run is lost with all that remembered it. An order of which no shard was written leaves no
 * trace, and no checkpoint can be mistaken for it: only its id may be used again. */
static void forget_orders(struct checker *checker)
{
    const struct checker_view *view = &checker->config.view;
    uint64_t highest = checker->highest_id;
    if (view->highest_checkpoint != NULL) {
        highest = u64_max(highest, view->highest_checkpoint(view->ctx));
    }
    checker->id_floor = u64_max(checker->id_floor, highest);
    checker->ordered_id = checker->ordered_step = 0;
}

/* I3: an id stands for one step. A chief orders each checkpoint under a new id, also after a wipe:
 * the disks hold the shards of every checkpoint that was committed before it. */
static void check_checkpoint_ids(struct checker *checker, const struct run *run)
{
    const struct run *was = &checker->run;
    if (checker->has_run && begins_again(checker, run)) {
        forget_orders(checker);
    } else if (checker->has_run && run->last_checkpoint < was->last_checkpoint) {
        checker_fail(checker, "I3: the last checkpoint id is %" PRIu64 " after %" PRIu64,
                     run->last_checkpoint, was->last_checkpoint);
    }
    const uint64_t id = run->save_checkpoint;
    if (id == 0) { return; }
    if (id == checker->ordered_id && checker->has_run && was->save_checkpoint == id) {
        if (run->save_step != checker->ordered_step) {
            checker_fail(checker,
                         "I3: checkpoint id %" PRIu64 " is used for step %" PRIu64
                         " and for step %" PRIu64,
                         id, checker->ordered_step, run->save_step);
        }
        return;
    }
    const uint64_t highest = u64_max(checker->ordered_id, checker->id_floor);
    if (id <= highest) {
        checker_fail(checker,
                     "I3: checkpoint id %" PRIu64 " is used again; ids up to %" PRIu64 " were used",
                     id, highest);
    }
    checker->ordered_id = u64_max(id, checker->ordered_id);
    checker->ordered_step = run->save_step;
}

static void check_drain(struct checker *checker, const struct run *run)
{
    uint64_t step = 0;
    const uint64_t reached = reached_present(&checker->reached);
    const char *wrong = drained_follow(&checker->drained, &checker->run, run, reached, &step);
    if (wrong != NULL) {
        checker_fail(checker, "I15: a ps was drained at step %" PRIu64 ": %s", step, wrong);
    }
}

static void check_released(struct checker *checker, const struct run *run)
{
    const char *wrong = released_follow(&checker->released, run);
    if (wrong != NULL) { checker_fail(checker, "I20: a worker is released %s", wrong); }
}

static void on_order(struct checker *checker, const struct zk_change *change)
{
    assert(text_ends_with(change->path, "/run"));
    const uint64_t reached = checker->reached.all;
    struct run run;
    struct error error;
    if (change->blob == NULL || change->blob->size == 0) { return; }
    if (run_decode(change->blob->data, change->blob->size, &run, &error) != TN_OK) {
        checker_fail(checker, "I2: /run cannot be read: %s", error.text);
        return;
    }
    const struct run *was = &checker->run;
    check_epoch(checker, &run);
    if (checker->has_run) { check_generation(checker, &run); }
    check_checkpoint_ids(checker, &run);
    if (checker->has_run) { check_drain(checker, &run); }
    if (run.generation != was->generation) { reached_begin(&checker->reached, run.load_step); }
    check_released(checker, &run);
    if (run.phase == RUN_LOADING && run.generation != was->generation) {
        check_start_over(checker, &run);
        checker->loads++;
        begin_generation(checker, &run);
        checker->restores += run.load_checkpoint != 0;
        checker->steps_redone += reached > run.load_step ? reached - run.load_step : 0;
        if (sees_disks(checker)) { checker_check_restore(checker, &run); }
    }
    if (!checker->has_run || run.phase != was->phase || run.generation != was->generation) {
        checker_log(checker,
                    "run: %s generation %" PRIu64 " (load %" PRIu64 " at step %" PRIu64 ")%s%s",
                    run_phase_name(run.phase), run.generation, run.load_checkpoint, run.load_step,
                    run.reason[0] ? ": " : "", run.reason);
    }
    checker_check_result(checker, &run);
    checker->run = run;
    const bool restored = checker->run_lost;
    checker->run_lost = false;
    checker->has_run = true;
    if (sees_disks(checker)) { checker_check_kept(checker); }
    on_evaluation(checker, &run.evaluation, restored);
    if (restored) { checker_restore_results(checker, &run); }
    if (run.phase == RUN_DONE) { check_end(checker, &run); }
    if (run.phase == RUN_FAILED) { check_failure(checker, &run); }
}

/* ----------------------------------------------------------- checkpoints */

static void on_commit(struct checker *checker, const struct zk_change *change)
{
    struct manifest manifest;
    struct error error;
    assert(change->kind == ZK_CREATE && change->blob != NULL);
    if (manifest_decode((const char *)change->blob->data, change->blob->size, &manifest, &error) !=
        TN_OK) {
        checker_fail(checker, "I4: %s cannot be read: %s", change->path, error.text);
        return;
    }
    checker->commits++;
    pace_note(&checker->checkpoints, manifest.step);
    /* While a wiped cluster forms, each ps publishes the newest manifest of its disk; later, that
     * of the checkpoint that it loads. */
    const bool loads =
        checker->run.phase == RUN_LOADING && checker->run.load_checkpoint == manifest.id;
    const bool forming = !checker->has_run || checker->run.phase == RUN_FORMING;
    const bool published = forming || checker->foreign || loads;
    if (!published) { check_evaluated(checker, manifest.step, "checkpoint"); }
    if (manifest.id <= checker->highest_id && !published) {
        checker_fail(checker, "I3: checkpoint %" PRIu64 " is committed after checkpoint %" PRIu64,
                     manifest.id, checker->highest_id);
    }
    checker->loss_accepted = checker->newest_lost = false;
    const bool again = checker->foreign && manifest.id <= checker->highest_id;
    if (!published) {
        best_seen_commit(&checker->best, manifest.id, manifest.step, &manifest.best);
    }
    if (manifest.id > checker->highest_id) {
        checker->highest_id = manifest.id;
        checker->older_epoch = u64_max(checker->older_epoch, checker->highest_epoch);
        checker->highest_epoch = manifest.epoch;
    }
    checker_log(checker,
                "checkpoint %" PRIu64 " committed: step %" PRIu64 " of generation %" PRIu64,
                manifest.id, manifest.step, manifest.generation);
    /* Another program deleted it, or it is the newest one of a single disk: its shards may have
     * been collected since. */
    if (!sees_disks(checker) || again || (checker->foreign && forming)) { return; }
    const struct checker_view *view = &checker->config.view;
    for (uint32_t i = 0; i < manifest.shard_count; i++) {
        const float *have = NULL;
        enum shard_state state = view->shard(view->ctx, &manifest, i, &have);
        if (state == SHARD_GONE) {
            checker_fail(checker, "I4: checkpoint %" PRIu64 ": shard %u is not durable",
                         manifest.id, i);
            return;
        }
        if (!checker->config.exact_cuts || state == SHARD_DAMAGED) { continue; }
        const float *want = view->values(view->ctx, manifest.step) + manifest.shards[i].first;
        if (have == NULL || memcmp(want, have, manifest.shards[i].count * sizeof *want) != 0) {
            checker_fail(checker,
                         "I4: checkpoint %" PRIu64
                         ": shard %u does not hold the values of step %" PRIu64,
                         manifest.id, i, manifest.step);
            return;
        }
    }
}

static void on_delete(struct checker *checker, const struct zk_change *change)
{
    char newest[256];
    znode_checkpoint_path(newest, checker->config.job->name, checker->highest_id);
    if (strcmp(change->path, newest) == 0) { checker->newest_lost = true; }
}

/* I16. */
static void check_best(struct checker *checker)
{
    const uint64_t named = checker->best.named.checkpoint, wanted = best_seen_wrong(&checker->best);
    if (wanted == UINT64_MAX) { return; }
    checker_fail(checker,
                 "I16: the newest manifest names checkpoint %" PRIu64
                 " as the best, but that is %" PRIu64,
                 named, wanted);
}

void checker_on_txn(void *ctx, const struct zk_txn *txn)
{
    struct checker *checker = ctx;
    assert(checker != NULL);
    if (checker->paused) { return; }
    for (size_t i = 0; i < txn->count; i++) {
        const struct zk_change *change = &txn->changes[i];
        reached_on_change(&checker->reached, change);
        if (change->kind == ZK_DELETE) {
            on_delete(checker, change);
            continue;
        }
        if (text_ends_with(change->path, "/chief")) { checker_on_chief(checker, change); }
        if (strstr(change->path, "/requests/") != NULL) { on_request(checker, change); }
        if (text_ends_with(change->path, "/run")) { on_order(checker, change); }
        if (strstr(change->path, "/history/") != NULL) { on_history(checker, change); }
        if (strstr(change->path, "/checkpoints/") != NULL && change->kind == ZK_CREATE) {
            on_commit(checker, change);
        }
    }
    if (checker->run.phase == RUN_DONE) { check_checkpoints(checker); }
    check_best(checker);
}

void checker_on_wipe(struct checker *checker)
{
    assert(checker->highest_id > 0 || checker->older_epoch == 0);
    const struct checker_view *view = &checker->config.view;
    uint64_t floor =
        view->highest_epoch != NULL ? view->highest_epoch(view->ctx) : checker->older_epoch;
    if (floor > checker->epoch_floor || view->highest_epoch != NULL) {
        checker->epoch_floor = floor;
    }
    checker->generation_before_wipe =
        u64_max(checker->generation_before_wipe, checker->run.generation);
    forget_orders(checker);
    checker->has_chief = checker->has_run = false;
    checker->best_lost = true;
    checker->highest_id = checker->highest_epoch = checker->older_epoch = 0;
    checker->chief = (struct chief_record){0};
    checker->run = (struct run){0};
}
