#include "local/restore.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/job/early_stop.h"
#include "common/job/variable_order.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum { WARNINGS_MAX = 1024 };

struct found {
    struct manifest *manifests; /* [STORE_LIST_MAX], newest first. Owned. */
    size_t count;
    uint64_t highest_id;
    char warnings[WARNINGS_MAX]; /* Damaged manifests. */
};

static enum tn_status list(const char *dir, struct found *found, struct error *error)
{
    found->manifests = calloc(STORE_LIST_MAX, sizeof *found->manifests);
    if (found->manifests == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for the list of checkpoints");
    }
    enum tn_status status = store_list(dir, found->manifests, STORE_LIST_MAX, &found->count,
                                       found->warnings, sizeof found->warnings, error);
    if (status == TN_OK) { status = store_highest_id(dir, &found->highest_id, error); }
    if (status == TN_OK && *found->warnings) {
        log_warn("checkpoints skipped in the listing: %s", found->warnings);
    }
    return status;
}

/* ------------------------------------------------------- is it of this run */

/* Sets `moves`: the order of the variables may have changed. */
static enum tn_status check_layout(const struct trainer *trainer, const struct manifest *manifest,
                                   struct variable_move moves[static VARIABLES_MAX],
                                   uint32_t *move_count, struct error *error)
{
    const struct job *job = trainer->config.job;
    const enum tn_status status =
        variable_order_of(manifest, job, &trainer->config.model->table, moves, move_count, error);
    if (status != TN_OK) { return status; }
    const uint64_t graph_hash = trainer->config.model->table.graph_hash;
    if (manifest->graph_hash != 0 && graph_hash != 0 && manifest->graph_hash != graph_hash) {
        return error_set(error, TN_EINVAL,
                         "its model is a graph with the hash %016" PRIx64
                         ", but that of the job has %016" PRIx64
                         ": use the same model, or begin again with another --dir",
                         manifest->graph_hash, graph_hash);
    }
    if (manifest->state_arrays != trainer->arrays ||
        strcmp(manifest->optimizer, optimizer_name(job->train.optimizer)) != 0) {
        return error_set(error, TN_EINVAL, "it holds the state of another optimizer (%s)",
                         manifest->optimizer);
    }
    if (strcmp(manifest->mode, "sync") != 0 || manifest->slices != job->train.slices ||
        manifest->seed != job->seed) {
        return error_set(error, TN_EINVAL,
                         "it is of a run with another mode, seed or train.slices");
    }
    return TN_OK;
}

static enum tn_status check_inputs(const struct restore_config *config,
                                   const struct manifest *manifest, struct error *error)
{
    struct inputs theirs = {.data = {manifest->data.low, manifest->data.high}};
    snprintf(theirs.fingerprint, sizeof theirs.fingerprint, "%s", manifest->kernels);
    if (!inputs_data_agree(&theirs, config->inputs)) {
        return error_set(error, TN_EINVAL,
                         "it was trained on other data than those at data.path now: restore the "
                         "files, or begin again with another --dir");
    }
    if (config->job->train.same_bits && !inputs_fingerprints_agree(&theirs, config->inputs)) {
        return error_set(
            error, TN_EINVAL,
            "its arithmetic is \"%s\", but that of this process is \"%s\": continue with the same "
            "train.kernels, version of tanist and kind of machine, or permit other bits with --set "
            "train.same_bits=false",
            theirs.fingerprint, config->inputs->fingerprint);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------- loading */

static enum tn_status load(const struct restore_config *config, const struct manifest *manifest,
                           struct trainer *trainer, struct error *error)
{
    struct store_metadata metadata;
    struct variable_move moves[VARIABLES_MAX];
    struct buffer *incoming[OPTIMIZER_ARRAYS_MAX];
    struct store_read_request request = {
        .manifest = manifest, .count = trainer->parameters, .moves = {.list = moves}};
    enum tn_status status = check_layout(trainer, manifest, moves, &request.moves.count, error);
    if (status == TN_OK) { status = check_inputs(config, manifest, error); }
    if (status != TN_OK) { return status; }
    if (!trainer_begin_load(trainer, incoming)) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    for (uint32_t a = 0; a < trainer->arrays; a++) { request.arrays[a].buffer = incoming[a]; }
    status = store_read_range(config->dir, &request, NULL, &metadata, error);
    if (status == TN_OK && metadata.optimizer_steps != manifest->step) {
        status = error_set(error, TN_ECORRUPT,
                           "it holds %" PRIu64 " updates, but its manifest is of step %" PRIu64,
                           metadata.optimizer_steps, manifest->step);
    }
    if (status == TN_OK) { status = tables_load(&trainer->tables, config->dir, manifest, error); }
    if (status != TN_OK) {
        trainer_release_arrays(incoming);
        return status;
    }
    trainer_adopt(trainer, incoming, manifest->step);
    return TN_OK;
}

static void note_unloadable(struct run *run, uint64_t checkpoint)
{
    assert(run->unloadable_count <= RUN_UNLOADABLE_MAX);
    if (run_is_unloadable(run, checkpoint) || run->unloadable_count == RUN_UNLOADABLE_MAX) {
        return;
    }
    run->unloadable[run->unloadable_count++] = checkpoint;
}

static void report_fallback(const struct restore_config *config, const struct run *run,
                            uint64_t damaged)
{
    struct history_entry entry = {.kind = HISTORY_FALLBACK,
                                  .wall_ms = clock_wall_ms(),
                                  .epoch = run->epoch,
                                  .generation = run->generation,
                                  .checkpoint = damaged,
                                  .step = run->load_step};
    snprintf(entry.cause, sizeof entry.cause,
             "damaged or missing; checkpoint %" PRIu64 " of step %" PRIu64 " is loaded instead",
             run->load_checkpoint, run->load_step);
    config->notify(config->ctx, &entry);
}

/* The shards of a checkpoint are damaged or missing: an older one may be intact. */
static bool may_fall_back(enum tn_status status)
{
    return status == TN_ECORRUPT || status == TN_ENOENT;
}

/* Sets `*loaded` to the index of the one loaded. */
static enum tn_status load_newest(const struct restore_config *config, const struct found *found,
                                  struct trainer *trainer, struct run *run, size_t *loaded,
                                  struct error *error)
{
    enum tn_status status = TN_ECORRUPT;
    for (size_t i = 0; i < found->count && may_fall_back(status); i++) {
        const struct manifest *manifest = &found->manifests[i];
        status = load(config, manifest, trainer, error);
        *loaded = i;
        if (status == TN_OK) { return TN_OK; }
        error_context(error, "checkpoint %" PRIu64 " of step %" PRIu64 " cannot be loaded",
                      manifest->id, manifest->step);
        if (!may_fall_back(status)) { return status; }
        log_error("%s", error->text);
        note_unloadable(run, manifest->id);
    }
    return error_set(error, TN_ECORRUPT,
                     "no checkpoint in %s can be loaded (damaged: %zu, and manifests: %s): repair "
                     "the disk, or begin again with another --dir",
                     config->dir, found->count, *found->warnings ? found->warnings : "0");
}

static void adopt(const struct restore_config *config, const struct found *found, size_t loaded,
                  struct run *run)
{
    const struct manifest *manifest = &found->manifests[loaded];
    assert(loaded < found->count);
    run->load_checkpoint = run->committed_checkpoint = manifest->id;
    run->load_step = run->committed_step = manifest->step;
    early_stop_rewind(run, manifest->step);
    run->best_checkpoint = best_of_metric(&manifest->best, config->job->checkpoint.best);
    for (size_t i = 0; i < loaded; i++) { report_fallback(config, run, found->manifests[i].id); }
}

static void introduce_all(const struct found *found, const struct run *run, struct saver *saver)
{
    for (size_t i = found->count; i-- > 0;) {
        const uint64_t id = found->manifests[i].id;
        if (!run_is_unloadable(run, id)) {
            saver_know(saver, id, found->manifests[i].best.checkpoint);
        }
    }
    for (uint32_t i = 0; i < run->unloadable_count; i++) {
        saver_know_unloadable(saver, run->unloadable[i]);
    }
}

enum tn_status restore_newest(const struct restore_config *config, struct trainer *trainer,
                              struct saver *saver, struct run *run, struct error *error)
{
    size_t loaded = 0;
    assert(trainer->step == 0);
    assert(config->notify != NULL);
    struct found *found = calloc(1, sizeof *found);
    if (found == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = list(config->dir, found, error);
    run->epoch = run->generation = 0;
    for (size_t i = 0; i < found->count; i++) {
        run->epoch = u64_max(run->epoch, found->manifests[i].epoch);
        run->generation = u64_max(run->generation, found->manifests[i].generation);
    }
    run->epoch++;
    run->generation++;
    run->last_checkpoint = found->highest_id;
    run->best_checkpoint = (struct best){0};
    const bool any = found->count > 0 || *found->warnings;
    if (status == TN_OK && any) {
        status = load_newest(config, found, trainer, run, &loaded, error);
        if (status == TN_OK) { adopt(config, found, loaded, run); }
    }
    if (status == TN_OK) { introduce_all(found, run, saver); }
    free(found->manifests);
    free(found);
    return status;
}
