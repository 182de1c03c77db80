#include "cli/run/metrics_collector.h"

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

enum { TAG_BYTES = 96, TABLES_EVERY_MS = 5000 };

static double now_ms(void)
{
    return (double)clock_monotonic_ns() / 1e6;
}

static uint32_t holders_of(const struct job *job)
{
    return job->cluster.ps > 0 ? job->cluster.ps : job->cluster.workers;
}

static void open_summaries(struct metrics_collector *collector, const char *dir,
                           const struct job *job, const struct variable_table *variables)
{
    if (!job->metrics.summaries) { return; }
    summaries_open(&collector->summaries, dir);
    struct proto graph = summaries_graph_of(job, variables);
    if (graph.used > 0) { summaries_graph(&collector->summaries, &graph); }
    proto_free(&graph);
}

void metrics_collector_open(struct metrics_collector *collector, const char *dir,
                            const struct job *job, const struct variable_table *variables)
{
    *collector = (struct metrics_collector){
        .dir = dir,
        .ps_count = holders_of(job),
        .has_tables = variables->row_table_count > 0 && job->cluster.ps > 0,
        .curve = calloc(1, sizeof *collector->curve),
        .losses = calloc(LOSSES_MAX, sizeof *collector->losses)};
    if (collector->curve == NULL || collector->losses == NULL) {
        log_warn("metrics are not written: out of memory");
        metrics_collector_close(collector, NULL);
        return;
    }
    collector->curve->every_steps = job->metrics.every_steps;
    collector->curve->every_ms = job->metrics.every_seconds * 1000;
    time_shares_open(&collector->times, dir, now_ms());
    evaluation_file_prepare(dir);
    metrics_file_open(&collector->file, dir);
    open_summaries(collector, dir, job, variables);
}

/* ---------------------------------------------------------------- the curve */

/* TensorBoard cannot show values that are not finite. */
static void put_scalar(struct metrics_collector *collector, uint64_t wall_ms, uint64_t step,
                       const char *tag, double value)
{
    if (isfinite(value)) { summaries_scalar(&collector->summaries, wall_ms, step, tag, value); }
}

/* The shares of phases since the last point that has them, if that is some time ago. */
static void put_times(struct metrics_collector *collector, uint64_t wall_ms, uint64_t step,
                      char text[static METRICS_MORE_MAX])
{
    size_t used = 0;
    if (!time_shares_take(&collector->times, now_ms())) { return; }
    for (uint32_t i = 0; i < collector->times.count && used < METRICS_MORE_MAX; i++) {
        char tag[TAG_BYTES];
        const struct time_share *share = &collector->times.list[i];
        snprintf(tag, sizeof tag, "time/%s", share->name);
        put_scalar(collector, wall_ms, step, tag, share->share);
        used += (size_t)snprintf(text + used, METRICS_MORE_MAX - used, ",\"%s\":%.4f", share->name,
                                 share->share);
    }
    assert(used < METRICS_MORE_MAX);
}

static void emit(void *ctx, const struct training_curve_point *point)
{
    struct metrics_collector *collector = ctx;
    const double ago_ms = double_max(now_ms() - point->at_ms, 0);
    const uint64_t wall_ms = clock_wall_ms() - (uint64_t)ago_ms;
    char times[METRICS_MORE_MAX] = "";
    put_times(collector, wall_ms, point->step, times);
    metrics_file_point(&collector->file, point, wall_ms, collector->paused_ms, times);
    put_scalar(collector, wall_ms, point->step, "loss", point->loss);
    put_scalar(collector, wall_ms, point->step, "global_step/sec", point->steps_per_second);
    collector->paused_ms = 0;
    collector->point_step = point->step;
}

/* Earlier rates follow from the others. */
static void add_change(void *ctx, const char *key, json_t *from, json_t *to)
{
    if (strcmp(key, "train.before") == 0) { return; }
    json_array_append_new(ctx, json_pack("{s:s, s:O, s:O}", "key", key, "from", from, "to", to));
}

void metrics_collector_change(struct metrics_collector *collector, const struct job *before,
                              const struct job *after)
{
    if (collector->curve == NULL) { return; }
    collector->ps_count = holders_of(after);
    json_decref(collector->changes);
    collector->changes = json_array();
    job_changes(before, after, add_change, collector->changes);
}

static void write_changes(struct metrics_collector *collector, uint64_t step)
{
    size_t index;
    json_t *change;
    json_array_foreach(collector->changes, index, change)
    {
        metrics_file_changed(&collector->file, step,
                             json_string_value(json_object_get(change, "key")),
                             json_object_get(change, "from"), json_object_get(change, "to"));
    }
    json_decref(collector->changes);
    collector->changes = NULL;
}

void metrics_collector_loaded(struct metrics_collector *collector, const struct run *run)
{
    if (collector->curve == NULL || run->generation == 0) { return; }
    /* After a restart of the agent alone, the lines continue. */
    const bool known = collector->generation == 0 && collector->file.generation == run->generation;
    collector->generation = run->generation;
    /* The time until now was not spent on steps. */
    (void)time_shares_take(&collector->times, now_ms());
    if (!known) {
        metrics_file_loaded(&collector->file, run, clock_wall_ms());
        summaries_start(&collector->summaries, clock_wall_ms(), run->load_step);
    }
    if (!known) { write_changes(collector, run->load_step); }
    training_curve_load(collector->curve,
                        known ? u64_max(collector->file.step, run->load_step) : run->load_step,
                        now_ms());
}

void metrics_collector_step(struct metrics_collector *collector, uint64_t step, double loss)
{
    assert(step >= 1);
    if (collector->curve == NULL) { return; }
    training_curve_add(collector->curve, step - 1, &loss, 1, now_ms(), emit, collector);
}

void metrics_collector_note(struct metrics_collector *collector, const struct history_entry *entry)
{
    if (entry->kind == HISTORY_DONE) { collector->over = true; }
    const bool evaluated = entry->kind == HISTORY_EVALUATED && collector->dir != NULL;
    json_t *details =
        evaluated ? evaluation_file_take(collector->dir, entry->step, entry->loss) : NULL;
    metrics_file_entry(&collector->file, entry);
    if (evaluated) {
        put_scalar(collector, entry->wall_ms, entry->step, "test_loss", entry->loss);
        put_scalar(collector, entry->wall_ms, entry->step, "accuracy", entry->accuracy);
        for (uint32_t i = 0; i < entry->metrics.count; i++) {
            const struct metric *metric = &entry->metrics.list[i];
            put_scalar(collector, entry->wall_ms, entry->step, metric->name, metric->value);
        }
        summaries_evaluation(&collector->summaries, entry->wall_ms, entry->step, details);
    }
    json_decref(details);
}

/* ---------------------------------------------------------------- of a cluster */

static void collect(struct metrics_collector *collector, struct step_poller *steps)
{
    uint64_t at_ms = 0;
    for (;;) {
        uint64_t from = collector->curve->next;
        const uint32_t count = step_poller_get_losses(
            steps, collector->ps_count, collector->generation, &from, collector->losses, &at_ms);
        if (count > 0) {
            training_curve_add(collector->curve, from, collector->losses, count, (double)at_ms,
                               emit, collector);
        } else if (from > collector->curve->next) {
            training_curve_add(collector->curve, from, NULL, 0, (double)at_ms, emit, collector);
        } else {
            return;
        }
    }
}

/* The last answers of the ps, with the last point. */
static void put_tables(struct metrics_collector *collector, struct step_poller *steps)
{
    const uint64_t wall_ms = clock_wall_ms(), step = collector->point_step;
    if (step == collector->tables_step) { return; }
    table_totals_read(&collector->tables, steps, collector->ps_count, collector->generation);
    if (collector->tables.count == 0 || collector->tables.answered < collector->ps_count) {
        return;
    }
    collector->tables_step = step;
    metrics_file_tables(&collector->file, &collector->tables, step, wall_ms);
    for (uint32_t t = 0; t < collector->tables.count; t++) {
        char tag[TAG_BYTES];
        const struct table_stats *stats = &collector->tables.tables[t];
        snprintf(tag, sizeof tag, "tables/%s/rows", stats->name);
        put_scalar(collector, wall_ms, step, tag, (double)stats->rows);
        snprintf(tag, sizeof tag, "tables/%s/bytes", stats->name);
        put_scalar(collector, wall_ms, step, tag, (double)stats->bytes);
    }
}

/* Every TABLES_EVERY_MS, and often at the end. The answers are used at the next call. */
static void follow_tables(struct metrics_collector *collector, struct step_poller *steps,
                          uint64_t at_ms)
{
    if (!collector->has_tables) { return; }
    if (collector->asked_tables) {
        put_tables(collector, steps);
        collector->asked_tables = false;
        collector->tables_at_ms = at_ms;
    }
    const bool due =
        collector->tables_at_ms == 0 || at_ms >= collector->tables_at_ms + TABLES_EVERY_MS;
    if (due || collector->over) {
        step_poller_ask_tables(steps);
        collector->asked_tables = true;
    }
}

static void measure_pause(struct metrics_collector *collector, const struct run *run,
                          uint64_t at_ms)
{
    const bool pausing = collector->generation != 0 && !run_is_over(run) &&
                         run->phase != RUN_RUNNING && run->phase != RUN_STOPPING;
    if (collector->pausing) {
        collector->paused_ms += at_ms - collector->paused_at_ms;
        training_curve_wait(collector->curve, (double)at_ms);
    }
    collector->pausing = pausing;
    collector->paused_at_ms = at_ms;
}

void metrics_collector_handle(struct metrics_collector *collector, const struct agent_event *event,
                              struct step_poller *steps)
{
    const struct observer *observer = event->observer;
    if (collector->curve == NULL || steps == NULL || observer == NULL || !observer->has_run) {
        return;
    }
    const struct run *run = &observer->run;
    collect(collector, steps);
    measure_pause(collector, run, event->now_ms);
    if (run->generation != collector->generation) { metrics_collector_loaded(collector, run); }
    if (collector->generation == 0) { return; }
    collector->over = run->phase == RUN_DONE;
    step_poller_ask_all(steps, observer);
    step_poller_ask_losses(steps, collector->curve->next,
                           run->phase == RUN_STOPPING || run->phase == RUN_DONE);
    follow_tables(collector, steps, event->now_ms);
}

void metrics_collector_close(struct metrics_collector *collector, struct step_poller *steps)
{
    if (collector->curve != NULL && steps != NULL && collector->generation != 0) {
        collect(collector, steps);
    }
    if (collector->curve != NULL && collector->over) {
        training_curve_end(collector->curve, emit, collector);
    }
    if (collector->over && collector->has_tables && steps != NULL) { put_tables(collector, steps); }
    table_totals_free(&collector->tables);
    metrics_file_close(&collector->file);
    summaries_close(&collector->summaries);
    json_decref(collector->changes);
    free(collector->curve);
    free(collector->losses);
    *collector = (struct metrics_collector){0};
}
