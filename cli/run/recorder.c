#include "cli/run/recorder.h"

#include <assert.h>

#include "cli/cluster_read.h"
#include "common/base/log.h"
#include "common/base/minmax.h"

static void note_failure(struct recorder *recorder, enum tn_status status,
                         const struct error *error)
{
    if (status == TN_OK) {
        recorder->failed = false;
    } else if (!recorder->failed) {
        recorder->failed = true;
        log_warn("the run's folder has no record of its state: %s", error->text);
    }
}

void recorder_open(struct recorder *recorder, const char *dir, const struct job *job,
                   const struct variable_table *variables)
{
    struct error error;
    assert(dir != NULL);
    *recorder = (struct recorder){.dir = dir};
    note_failure(recorder, run_history_open(&recorder->history, dir, &error), &error);
    metrics_collector_open(&recorder->collector, dir, job, variables);
}

void recorder_close(struct recorder *recorder, struct step_poller *steps)
{
    metrics_collector_close(&recorder->collector, steps);
    run_history_close(&recorder->history);
}

static uint32_t count_present(const struct observer *observer)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < observer->task_count; i++) { present += observer->tasks[i].present; }
    return present;
}

static uint64_t known_step(const struct observer *observer, struct step_poller *steps)
{
    uint64_t step = 0;
    if (steps != NULL && step_poller_reached(steps, observer, &step)) { return step; }
    return observer->has_run ? cluster_recorded_step(&observer->run) : 0;
}

static bool is_due(const struct recorder *recorder, const struct agent_event *event)
{
    const struct observer *observer = event->observer;
    if (recorder->written_at_ms == 0) { return observer->settled; }
    if (observer->has_run != recorder->has_run) { return true; }
    if (observer->has_run && observer->run.phase != recorder->phase) { return true; }
    if (observer->chief.epoch != recorder->epoch) { return true; }
    /* All nodes leave after the end: the record shows the cluster that was. */
    const bool over = observer->has_run && run_is_over(&observer->run);
    if (!over && count_present(observer) != recorder->present) { return true; }
    return !over && event->now_ms >= recorder->written_at_ms + RECORDER_MS;
}

static void write_record(struct recorder *recorder, const struct agent_event *event,
                         struct step_poller *steps)
{
    const struct observer *observer = event->observer;
    struct error error;
    recorder->written_at_ms = u64_max(event->now_ms, 1);
    recorder->has_run = observer->has_run;
    recorder->phase = observer->run.phase;
    recorder->epoch = observer->chief.epoch;
    recorder->present = count_present(observer);
    const uint64_t step = known_step(observer, steps);
    note_failure(recorder, run_record_write(recorder->dir, observer, step, &error), &error);
}

void recorder_handle(struct recorder *recorder, const struct agent_event *event,
                     struct step_poller *steps)
{
    if (event->observer == NULL || recorder->dir == NULL) { return; }
    if (event->type == AGENT_HISTORY && run_history_add(&recorder->history, event->observer)) {
        metrics_collector_note(&recorder->collector, &event->observer->entry);
    }
    if (event->type != AGENT_RUN && event->type != AGENT_TICK && event->type != AGENT_SETTLED) {
        return;
    }
    metrics_collector_handle(&recorder->collector, event, steps);
    if (is_due(recorder, event)) { write_record(recorder, event, steps); }
}

static void write_if_due(struct recorder *recorder, const struct run *run, uint64_t step,
                         bool lasting, uint64_t now_ms)
{
    struct error error;
    assert(recorder->dir != NULL);
    const bool changed = recorder->written_at_ms == 0 || run->phase != recorder->phase || lasting;
    if (!changed && now_ms < recorder->written_at_ms + RECORDER_MS) { return; }
    recorder->written_at_ms = u64_max(now_ms, 1);
    recorder->phase = run->phase;
    note_failure(recorder, run_record_write_run(recorder->dir, run, step, &error), &error);
}

void recorder_loaded(struct recorder *recorder, const struct run *run)
{
    metrics_collector_loaded(&recorder->collector, run);
}

void recorder_step(struct recorder *recorder, const struct run *run, uint64_t step, double loss,
                   uint64_t now_ms)
{
    metrics_collector_step(&recorder->collector, step, loss);
    write_if_due(recorder, run, step, false, now_ms);
}

void recorder_note(struct recorder *recorder, const struct run *run,
                   const struct history_entry *entry, uint64_t now_ms)
{
    run_history_append(&recorder->history, entry);
    metrics_collector_note(&recorder->collector, entry);
    /* A kill must not lose what only the record knows. */
    const bool lasting = entry->kind == HISTORY_SKIPPED || entry->kind == HISTORY_FALLBACK;
    write_if_due(recorder, run, entry->step, lasting, now_ms);
}
