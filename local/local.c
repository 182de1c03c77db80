#include "local/local.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/job/early_stop.h"
#include "common/job/job_manifest.h"
#include "local/restore.h"
#include "local/saver.h"

enum { WARN_EVERY_MS = 2000 };

struct local {
    const struct local_config *config;
    const struct job *job;
    struct run *run;
    struct trainer trainer;
    struct saver *saver;
    struct manifest manifest; /* The fields that all checkpoints of this run share. */
    uint64_t saved_at_ms;     /* The last checkpoint was begun. */
    uint64_t warned_at_ms;    /* The last warning about a skipped checkpoint; 0: none. */
    struct error failure;     /* The device failed in the last evaluation. */
};

/* ----------------------------------------------------------------- history */

static struct history_entry entry_of(const struct local *local, enum history_kind kind)
{
    return (struct history_entry){.kind = kind,
                                  .wall_ms = clock_wall_ms(),
                                  .epoch = local->run->epoch,
                                  .generation = local->run->generation,
                                  .step = local->trainer.step};
}

/* The callback of restore_newest(), too. */
static void note(void *ctx, const struct history_entry *entry)
{
    struct local *local = ctx;
    local->run->changed_wall_ms = entry->wall_ms;
    local->config->noted(local->config->ctx, local->run, entry);
}

/* -------------------------------------------------------------- evaluation */

/* A failed one is not noted. */
static void evaluate(struct local *local)
{
    struct run *run = local->run;
    const struct early_stop stop = early_stop_of_job(local->job);
    const struct evaluation found = trainer_evaluate(&local->trainer, &local->failure);
    if (local->failure.status != TN_OK) { return; }
    run->evaluation = found;
    early_stop_note(&stop, run);
    struct history_entry entry = entry_of(local, HISTORY_EVALUATED);
    entry.loss = run->evaluation.loss;
    entry.accuracy = run->evaluation.accuracy;
    entry.metrics = run->evaluation.metrics;
    note(local, &entry);
}

/* Evaluate if it is due. Whether the run ends here because of the result (rule C8). */
static bool evaluate_if_due(struct local *local)
{
    const uint64_t step = local->trainer.step;
    const double target = local->job->train.target_accuracy;
    const struct early_stop stop = early_stop_of_job(local->job);
    if (!step_is_multiple(step, local->job->evaluate.every_steps)) { return false; }
    if (local->run->evaluation.step != step) { evaluate(local); }
    if (local->failure.status != TN_OK) { return true; }
    if (target > 0 && local->run->evaluation.accuracy >= target) { return true; }
    return early_stop_is_due(&stop, local->run);
}

/* ------------------------------------------------------------- checkpoints */

static void fill_manifest(struct local *local)
{
    const struct inputs *inputs = local->config->inputs;
    struct manifest *manifest = &local->manifest;
    job_manifest_init(manifest, local->job, &local->config->compute.model->table,
                      local->trainer.arrays);
    manifest->generation = local->run->generation;
    manifest->epoch = local->run->epoch;
    manifest->data = (struct digest){.low = inputs->data[0], .high = inputs->data[1]};
    text_set(manifest->kernels, sizeof manifest->kernels, inputs->fingerprint);
}

/* C17: the best checkpoint if the one of the present step is committed as `id`. */
static struct best best_with(const struct local *local, uint64_t id)
{
    const struct evaluation *found = &local->run->evaluation;
    const enum best_metric metric = local->job->checkpoint.best;
    const double value = best_value(metric, found->loss, found->accuracy);
    const struct best *before = &local->run->best_checkpoint;
    if (found->step != local->trainer.step || !best_improves(before, metric, value)) {
        return *before;
    }
    return (struct best){
        .checkpoint = id, .step = local->trainer.step, .metric = metric, .value = value};
}

static void begin_checkpoint(struct local *local)
{
    assert(!saver_is_busy(local->saver));
    local->manifest.id = ++local->run->last_checkpoint;
    local->manifest.step = local->trainer.step;
    local->manifest.created_wall_ms = clock_wall_ms();
    local->manifest.best = best_with(local, local->manifest.id);
    local->saved_at_ms = clock_monotonic_ms();
    saver_begin(local->saver, &local->manifest, local->config->place, &local->trainer);
}

static void note_committed(struct local *local, const struct saver_result *result)
{
    local->run->committed_checkpoint = result->checkpoint;
    local->run->committed_step = result->step;
    local->run->best_checkpoint = local->manifest.best;
    struct history_entry entry = entry_of(local, HISTORY_CHECKPOINT);
    entry.checkpoint = result->checkpoint;
    entry.step = result->step;
    note(local, &entry);
}

/* At most one warning in WARN_EVERY_MS: on a full disk every checkpoint of fast steps is
 * skipped. */
static void warn_skipped(struct local *local, const struct saver_result *result)
{
    const uint64_t now_ms = clock_monotonic_ms();
    if (local->warned_at_ms != 0 && now_ms < local->warned_at_ms + WARN_EVERY_MS) { return; }
    local->warned_at_ms = now_ms;
    log_warn("checkpoint %" PRIu64 " of step %" PRIu64 " is skipped (%" PRIu64 " so far): %s",
             result->checkpoint, result->step, local->run->skipped_checkpoints, result->error.text);
}

static void note_skipped(struct local *local, const struct saver_result *result)
{
    local->run->skipped_checkpoints++;
    warn_skipped(local, result);
    struct history_entry entry = entry_of(local, HISTORY_SKIPPED);
    entry.step = result->step;
    snprintf(entry.cause, sizeof entry.cause, "%.*s", RUN_TEXT_MAX - 1, result->error.text);
    note(local, &entry);
}

static void finish_checkpoint(struct local *local, bool wait)
{
    struct saver_result result;
    if (!saver_finish(local->saver, wait, &result)) { return; }
    if (result.status == TN_OK) {
        note_committed(local, &result);
    } else {
        note_skipped(local, &result);
    }
}

static void save_if_due(struct local *local)
{
    const uint64_t every_ms = local->job->checkpoint.every_seconds * 1000;
    finish_checkpoint(local, false);
    if (step_is_multiple(local->trainer.step, local->job->checkpoint.every_steps)) {
        finish_checkpoint(local, true);
        begin_checkpoint(local);
    } else if (every_ms != 0 && !saver_is_busy(local->saver) &&
               clock_monotonic_ms() >= local->saved_at_ms + every_ms) {
        begin_checkpoint(local);
    }
}

/* Make sure that the present step is saved: the run ends with it. */
static enum tn_status save_last(struct local *local, struct error *error)
{
    struct saver_result result;
    const uint64_t step = local->trainer.step;
    finish_checkpoint(local, true);
    if (local->run->committed_step == step) { return TN_OK; }
    begin_checkpoint(local);
    (void)saver_finish(local->saver, true, &result);
    if (result.status == TN_OK) {
        note_committed(local, &result);
        return TN_OK;
    }
    /* The folder existed at the start, so it is the disk that is missing. */
    const enum tn_status status = result.status == TN_ENOENT ? TN_EIO : result.status;
    return error_set(error, status,
                     "the last checkpoint, of step %" PRIu64
                     ", cannot be written: %.700s; the steps after %" PRIu64
                     " are lost, and the same command continues from there",
                     step, result.error.text, local->run->committed_step);
}

/* ------------------------------------------------------------------- steps */

/* Train until the end of the job or `leave`. Sets `*left`. */
static enum tn_status train(struct local *local, bool *left, struct error *error)
{
    const uint64_t steps = u64_max(local->job->train.steps, local->trainer.step);
    /* The run may have ended right after the checkpoint of the step that reached the target. */
    const bool decides =
        local->job->train.target_accuracy > 0 || local->job->train.stop_patience > 0;
    const bool gated = decides && local->trainer.step > 0;
    bool reached = gated && evaluate_if_due(local);
    *left = false;
    while (!reached && local->trainer.step < steps) {
        *left = *local->config->leave != 0;
        if (*left) { return TN_OK; }
        enum tn_status status = trainer_step(&local->trainer, error);
        if (status != TN_OK) { return status; }
        reached = evaluate_if_due(local);
        if (!reached && local->trainer.step < steps) { save_if_due(local); }
        local->config->stepped(local->config->ctx, local->run, local->trainer.step,
                               local->trainer.loss);
        reached = reached || local->config->should_stop(local->config->ctx);
    }
    return TN_OK;
}

/* The evaluation at the end, if none was. An evaluation that failed ends the run. */
static enum tn_status evaluate_last(struct local *local, bool left, struct error *error)
{
    const bool failed = local->failure.status != TN_OK;
    if (!failed && !left && local->run->evaluation.step != local->trainer.step) { evaluate(local); }
    if (local->failure.status == TN_OK) { return TN_OK; }
    return error_set(error, local->failure.status, "evaluating step %" PRIu64 ": %.900s",
                     local->trainer.step, local->failure.text);
}

static void begin(struct local *local)
{
    struct run *run = local->run;
    run->phase = RUN_RUNNING;
    run->until = u64_max(local->job->train.steps, local->trainer.step);
    run->inputs = *local->config->inputs;
    run->started_wall_ms = run->changed_wall_ms = clock_wall_ms();
    run->evaluation.step = run->evaluate_step = STEP_NONE;
    local->saved_at_ms = clock_monotonic_ms();
    fill_manifest(local);
    local->config->loaded(local->config->ctx, run);
    if (run->load_checkpoint != 0) { return; }
    const struct history_entry entry = entry_of(local, HISTORY_RUNNING);
    note(local, &entry);
}

static void note_end(struct local *local, enum run_phase phase, const struct error *error)
{
    struct run *run = local->run;
    struct history_entry entry = entry_of(local, phase == RUN_DONE ? HISTORY_DONE : HISTORY_FAILED);
    run->phase = phase;
    run->until = local->trainer.step;
    run->ending = true;
    entry.loss = run->evaluation.loss;
    entry.accuracy = run->evaluation.accuracy;
    entry.metrics = run->evaluation.metrics;
    if (phase == RUN_FAILED) {
        snprintf(run->reason, sizeof run->reason, "%.*s", RUN_TEXT_MAX - 1, error->text);
        memcpy(entry.cause, run->reason, sizeof entry.cause);
    }
    note(local, &entry);
}

static void count_tables(const struct local *local)
{
    const struct tables *tables = &local->trainer.tables;
    for (uint32_t t = 0; t < tables->set.count; t++) {
        const struct row_table_stats stats = row_set_stats(&tables->set, t);
        local->config->counted(local->config->ctx, row_table_spec_of(tables->set.tables[t])->name,
                               stats.rows, stats.bytes);
    }
}

static enum tn_status work(struct local *local, struct error *error)
{
    bool left = false;
    begin(local);
    enum tn_status status = train(local, &left, error);
    if (status == TN_OK) { status = evaluate_last(local, left, error); }
    if (status != TN_OK) { return status; }
    status = save_last(local, error);
    count_tables(local);
    if (status != TN_OK) {
        note_end(local, RUN_FAILED, error);
    } else if (!left) {
        note_end(local, RUN_DONE, NULL);
    }
    return status;
}

static enum tn_status open_saver(struct local *local, struct error *error)
{
    const struct saver_config config = {.dir = local->config->dir,
                                        .keep = u32_max(local->job->checkpoint.keep, 1),
                                        .interval_ms = local->job->checkpoint.every_seconds * 1000};
    return saver_start(&config, &local->saver, error);
}

static enum tn_status restore(struct local *local, struct error *error)
{
    const struct restore_config config = {.dir = local->config->dir,
                                          .job = local->job,
                                          .inputs = local->config->inputs,
                                          .notify = note,
                                          .ctx = local};
    return restore_newest(&config, &local->trainer, local->saver, local->run, error);
}

enum tn_status local_run_job(const struct local_config *config, struct run *run,
                             struct error *error)
{
    assert(config->loaded != NULL && config->stepped != NULL && config->noted != NULL);
    assert(config->leave != NULL && config->should_stop != NULL && config->counted != NULL);
    struct local *local = calloc(1, sizeof *local);
    if (local == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    local->config = config;
    local->job = config->compute.job;
    local->run = run;
    enum tn_status status = trainer_open(&local->trainer, &config->compute, error);
    if (status == TN_OK) { status = open_saver(local, error); }
    if (status == TN_OK) { status = restore(local, error); }
    if (status == TN_OK) { status = work(local, error); }
    saver_stop(local->saver);
    trainer_close(&local->trainer);
    free(local);
    return status;
}
