#include "cli/run/one_process.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/event_text.h"
#include "cli/node/training_parts.h"
#include "cli/plan/memory_check.h"
#include "cli/run/resume_change.h"
#include "cli/run/unused_folder.h"
#include "cli/stop_signal.h"
#include "common/base/clock.h"
#include "common/base/files.h"
#include "common/base/minmax.h"
#include "common/base/thread_team.h"
#include "common/job/early_stop.h"
#include "local/local.h"
#include "model/slice_rows.h"

static void note_seconds(struct local_run *run, uint64_t now_ms)
{
    run->result.seconds = (double)(now_ms - run->started_ms) / 1000.0;
}

/* ------------------------------------------------------------------ events */

static void on_noted(void *ctx, const struct run *now, const struct history_entry *entry)
{
    struct local_run *run = ctx;
    const uint64_t now_ms = clock_monotonic_ms();
    assert(entry != NULL);
    progress_history(&run->progress, entry, now_ms);
    recorder_note(&run->recorder, now, entry, now_ms);
    result_note(&run->result, entry);
    run_hooks_note(&run->hooks, now, entry);
    note_seconds(run, now_ms);
}

/* The job is another one from now on. */
static void note_change(struct local_run *run, const struct run *now)
{
    struct history_entry entry = {.kind = HISTORY_CHANGED,
                                  .wall_ms = clock_wall_ms(),
                                  .epoch = now->epoch,
                                  .generation = now->generation,
                                  .step = run->change_step};
    if (run->change_text[0] == '\0') { return; }
    memcpy(entry.cause, run->change_text, sizeof entry.cause);
    on_noted(run, now, &entry);
}

static void on_loaded(void *ctx, const struct run *now)
{
    struct local_run *run = ctx;
    run_hooks_start(&run->hooks, now);
    recorder_loaded(&run->recorder, now);
    note_change(run, now);
    if (now->load_checkpoint == 0) { return; }
    local_run_note_step(run, now->load_step);
    progress_print(&run->progress, clock_monotonic_ms(),
                   "continuing the run in %s from checkpoint %" PRIu64 " (step %" PRIu64 ")",
                   run->folder.dir, now->load_checkpoint, now->load_step);
}

static void on_stepped(void *ctx, const struct run *now, uint64_t step, double loss)
{
    struct local_run *run = ctx;
    const uint64_t now_ms = clock_monotonic_ms();
    progress_step(&run->progress, now, step, now_ms);
    run_hooks_step(&run->hooks, now, step);
    recorder_step(&run->recorder, now, step, loss, now_ms);
}

static void on_counted(void *ctx, const char *table, uint64_t rows, uint64_t bytes)
{
    struct local_run *run = ctx;
    result_note_table(&run->result, table, rows, bytes);
}

static bool should_stop(void *ctx)
{
    struct local_run *run = ctx;
    return run_hooks_want_stop(&run->hooks);
}

/* ------------------------------------------------------------ earlier starts */

struct earlier {
    struct local_run *run;
    struct run *now;
};

static void note_earlier(void *ctx, const struct history_entry *entry)
{
    struct earlier *earlier = ctx;
    const struct early_stop stop = early_stop_of_job(&earlier->run->job);
    result_note(&earlier->run->result, entry);
    if (entry->kind != HISTORY_EVALUATED) { return; }
    early_stop_note_value(&stop, earlier->now, entry->step, entry->loss, entry->accuracy);
}

/* The knowledge of the folder about earlier starts of this run besides its checkpoints. Without it,
 * only these numbers are missing. */
static void read_earlier(struct local_run *run, struct run *now)
{
    struct run_record *record = calloc(1, sizeof *record);
    struct earlier earlier = {.run = run, .now = now};
    struct error ignored;
    if (record == NULL) { return; }
    if (run_record_read(run->folder.dir, record, &ignored) == TN_OK && record->has_run) {
        now->skipped_checkpoints = record->run.skipped_checkpoints;
        now->unloadable_count = record->run.unloadable_count;
        memcpy(now->unloadable, record->run.unloadable, sizeof now->unloadable);
    }
    free(record);
    (void)!run_history_read(run->folder.dir, note_earlier, &earlier, &ignored);
}

/* ------------------------------------------------------------------ running */

/* The gradients of automatic threads get at most this part of the memory. */
enum { GRADIENTS_PART = 8 };

static uint32_t count_threads(const struct job *job, const struct variable_table *variables)
{
    if (job->train.threads > 0) { return job->train.threads; }
    if (job_has_gpus(job)) { return 1; }
    const uint64_t gradient = u64_max(1, variables->parameter_count) * sizeof(float) +
                              slice_rows_bytes(variables, compute_slice_examples(job));
    const uint64_t fit = memory_of_machine() / GRADIENTS_PART / gradient;
    return (uint32_t)u64_max(1, u64_min(thread_team_processors(), fit));
}

static enum tn_status train(struct local_run *run, const struct training_parts *parts,
                            const char *checkpoints, struct error *error)
{
    char place[HOST_NAME_MAX_BYTES + RUN_PATH_MAX], host[HOST_NAME_MAX_BYTES] = "";
    if (gethostname(host, sizeof host - 1) != 0) { host[0] = '\0'; }
    snprintf(place, sizeof place, "%s:%s", host, checkpoints);
    const struct local_config config = {
        .compute = {.job = &run->job,
                    .model = parts->model,
                    .programs = parts->programs,
                    .kernels = parts->kernels,
                    .train = parts->train,
                    .test = parts->evaluated,
                    .threads = count_threads(&run->job, &parts->model->table),
                    .fewer_threads = run->job.train.threads == 0,
                    .details = run->folder.dir},
        .inputs = &parts->inputs,
        .dir = checkpoints,
        .place = place,
        .leave = stop_or_end_on_signals(),
        .loaded = on_loaded,
        .stepped = on_stepped,
        .should_stop = should_stop,
        .noted = on_noted,
        .counted = on_counted,
        .ctx = run,
    };
    struct run *now = &run->agent_result.run;
    read_earlier(run, now);
    recorder_open(&run->recorder, run->folder.dir, &run->job, &run->variables);
    if (run->folder.continued) {
        metrics_collector_change(&run->recorder.collector, &run->folder.before, &run->job);
    }
    enum tn_status status = local_run_job(&config, now, error);
    recorder_close(&run->recorder, NULL);
    note_seconds(run, clock_monotonic_ms());
    run->agent_result.has_run = true;
    run->agent_result.job_ended = now->phase == RUN_DONE;
    run->agent_result.signal = *config.leave;
    run->agent_result.drained = true; /* It left with a checkpoint of its last step. */
    return status;
}

static enum tn_status work(struct local_run *run, struct error *error)
{
    char checkpoints[RUN_PATH_MAX];
    struct training_parts parts = {0};
    assert(run->folder.lock >= 0);
    run_folder_path(&run->folder, "checkpoints", checkpoints);
    enum tn_status status = files_make_folders(checkpoints, error);
    if (status != TN_OK) { return status; }
    progress_print(&run->progress, clock_monotonic_ms(), "%s: sync mode, one process; files in %s",
                   run->job.name, run->folder.dir);
    status = resume_change_of_process(run, checkpoints, error);
    if (status != TN_OK) { return status; }
    status = training_parts_open(&parts, &run->job, 0, error);
    if (status == TN_OK) { status = train(run, &parts, checkpoints, error); }
    training_parts_close(&parts);
    return status;
}

enum tn_status one_process_work(struct local_run *run, struct error *error)
{
    const enum tn_status status = work(run, error);
    if (!run->agent_result.has_run) { unused_folder_clean(&run->folder); }
    return status;
}
