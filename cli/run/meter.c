#include "cli/run/meter.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cluster_read.h"
#include "cli/run/summaries_graph.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/cluster/evaluation_file.h"

enum { TAG_BYTES = 64 };

static double now_ms(void)
{
    return (double)clock_monotonic_ns() / 1e6;
}

static void open_summaries(struct meter *meter, const char *dir, const struct job *job,
                           const struct variable_table *variables)
{
    if (!job->metrics.summaries) { return; }
    summaries_open(&meter->summaries, dir);
    struct proto graph = summaries_graph_of(job, variables);
    if (graph.used > 0) { summaries_graph(&meter->summaries, &graph); }
    proto_free(&graph);
}

void meter_open(struct meter *meter, const char *dir, const struct job *job,
                const struct variable_table *variables)
{
    *meter =
        (struct meter){.dir = dir,
                       .ps_count = job->cluster.ps > 0 ? job->cluster.ps : job->cluster.workers,
                       .curve = calloc(1, sizeof *meter->curve),
                       .losses = calloc(LOSSES_MAX, sizeof *meter->losses)};
    if (meter->curve == NULL || meter->losses == NULL) {
        log_warn("metrics are not written: out of memory");
        meter_close(meter, NULL);
        return;
    }
    meter->curve->every_steps = job->metrics.every_steps;
    meter->curve->every_ms = job->metrics.every_seconds * 1000;
    time_shares_open(&meter->times, dir, now_ms());
    evaluation_file_prepare(dir);
    metrics_file_open(&meter->file, dir);
    open_summaries(meter, dir, job, variables);
}

/* ---------------------------------------------------------------- the curve */

/* TensorBoard cannot show values that are not finite. */
static void put_scalar(struct meter *meter, uint64_t wall_ms, uint64_t step, const char *tag,
                       double value)
{
    if (isfinite(value)) { summaries_scalar(&meter->summaries, wall_ms, step, tag, value); }
}

/* The shares of phases since the last point that has them, if that is some time ago. */
static void put_times(struct meter *meter, uint64_t wall_ms, uint64_t step,
                      char text[static METRICS_MORE_MAX])
{
    size_t used = 0;
    if (!time_shares_take(&meter->times, now_ms())) { return; }
    for (uint32_t i = 0; i < meter->times.count && used < METRICS_MORE_MAX; i++) {
        char tag[TAG_BYTES];
        const struct time_share *share = &meter->times.list[i];
        snprintf(tag, sizeof tag, "time/%s", share->name);
        put_scalar(meter, wall_ms, step, tag, share->share);
        used += (size_t)snprintf(text + used, METRICS_MORE_MAX - used, ",\"%s\":%.4f", share->name,
                                 share->share);
    }
    assert(used < METRICS_MORE_MAX);
}

static void emit(void *ctx, const struct curve_point *point)
{
    struct meter *meter = ctx;
    const double ago_ms = double_max(now_ms() - point->at_ms, 0);
    const uint64_t wall_ms = clock_wall_ms() - (uint64_t)ago_ms;
    char times[METRICS_MORE_MAX] = "";
    put_times(meter, wall_ms, point->step, times);
    metrics_file_point(&meter->file, point, wall_ms, meter->paused_ms, times);
    put_scalar(meter, wall_ms, point->step, "loss", point->loss);
    put_scalar(meter, wall_ms, point->step, "global_step/sec", point->steps_per_second);
    meter->paused_ms = 0;
}

/* Earlier rates follow from the others. */
static void add_change(void *ctx, const char *key, json_t *from, json_t *to)
{
    if (strcmp(key, "train.before") == 0) { return; }
    json_array_append_new(ctx, json_pack("{s:s, s:O, s:O}", "key", key, "from", from, "to", to));
}

void meter_change(struct meter *meter, const struct job *before, const struct job *after)
{
    if (meter->curve == NULL) { return; }
    json_decref(meter->changes);
    meter->changes = json_array();
    job_changes(before, after, add_change, meter->changes);
}

static void write_changes(struct meter *meter, uint64_t step)
{
    size_t index;
    json_t *change;
    json_array_foreach(meter->changes, index, change)
    {
        metrics_file_changed(&meter->file, step, json_string_value(json_object_get(change, "key")),
                             json_object_get(change, "from"), json_object_get(change, "to"));
    }
    json_decref(meter->changes);
    meter->changes = NULL;
}

void meter_loaded(struct meter *meter, const struct run *run)
{
    if (meter->curve == NULL || run->generation == 0) { return; }
    /* After a restart of the agent alone, the lines continue. */
    const bool known = meter->generation == 0 && meter->file.generation == run->generation;
    meter->generation = run->generation;
    (void)time_shares_take(&meter->times, now_ms()); /* The time until now is not that of steps. */
    if (!known) {
        metrics_file_loaded(&meter->file, run, clock_wall_ms());
        summaries_start(&meter->summaries, clock_wall_ms(), run->load_step);
    }
    if (!known) { write_changes(meter, run->load_step); }
    curve_load(meter->curve, known ? u64_max(meter->file.step, run->load_step) : run->load_step,
               now_ms());
}

void meter_step(struct meter *meter, uint64_t step, double loss)
{
    assert(step >= 1);
    if (meter->curve == NULL) { return; }
    curve_add(meter->curve, step - 1, &loss, 1, now_ms(), emit, meter);
}

void meter_note(struct meter *meter, const struct history_entry *entry)
{
    if (entry->kind == HISTORY_DONE) { meter->over = true; }
    const bool evaluated = entry->kind == HISTORY_EVALUATED && meter->dir != NULL;
    json_t *details = evaluated ? evaluation_file_take(meter->dir, entry->step, entry->loss) : NULL;
    metrics_file_entry(&meter->file, entry);
    if (evaluated) {
        put_scalar(meter, entry->wall_ms, entry->step, "test_loss", entry->loss);
        put_scalar(meter, entry->wall_ms, entry->step, "accuracy", entry->accuracy);
        for (uint32_t i = 0; i < entry->metrics.count; i++) {
            const struct metric *metric = &entry->metrics.list[i];
            put_scalar(meter, entry->wall_ms, entry->step, metric->name, metric->value);
        }
        summaries_evaluation(&meter->summaries, entry->wall_ms, entry->step, details);
    }
    json_decref(details);
}

/* ---------------------------------------------------------------- of a cluster */

static void collect(struct meter *meter, struct step_poller *steps)
{
    uint64_t at_ms = 0;
    for (;;) {
        uint64_t from = meter->curve->next;
        const uint32_t count = step_poller_get_losses(steps, meter->ps_count, meter->generation,
                                                      &from, meter->losses, &at_ms);
        if (count > 0) {
            curve_add(meter->curve, from, meter->losses, count, (double)at_ms, emit, meter);
        } else if (from > meter->curve->next) {
            curve_add(meter->curve, from, NULL, 0, (double)at_ms, emit, meter);
        } else {
            return;
        }
    }
}

static void measure_pause(struct meter *meter, const struct run *run, uint64_t at_ms)
{
    const bool pausing = meter->generation != 0 && !run_is_over(run) && run->phase != RUN_RUNNING &&
                         run->phase != RUN_STOPPING;
    if (meter->pausing) { meter->paused_ms += at_ms - meter->paused_at_ms; }
    meter->pausing = pausing;
    meter->paused_at_ms = at_ms;
}

void meter_handle(struct meter *meter, const struct agent_event *event, struct step_poller *steps)
{
    const struct observer *observer = event->observer;
    if (meter->curve == NULL || steps == NULL || observer == NULL || !observer->has_run) { return; }
    const struct run *run = &observer->run;
    collect(meter, steps);
    measure_pause(meter, run, event->now_ms);
    if (run->generation != meter->generation) { meter_loaded(meter, run); }
    if (meter->generation == 0) { return; }
    meter->over = run->phase == RUN_DONE;
    step_poller_ask_all(steps, observer);
    step_poller_ask_losses(steps, meter->curve->next,
                           run->phase == RUN_STOPPING || run->phase == RUN_DONE);
}

void meter_close(struct meter *meter, struct step_poller *steps)
{
    if (meter->curve != NULL && steps != NULL && meter->generation != 0) { collect(meter, steps); }
    if (meter->curve != NULL && meter->over) { curve_end(meter->curve, emit, meter); }
    metrics_file_close(&meter->file);
    summaries_close(&meter->summaries);
    json_decref(meter->changes);
    free(meter->curve);
    free(meter->losses);
    *meter = (struct meter){0};
}
