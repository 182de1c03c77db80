#include "chaos/harness.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "chaos/judge/verdict_checks.h"
#include "common/base/clock.h"

enum { HISTORY_VERSION = 2, LINE_MAX = 900 };

void harness_init(struct harness *harness, const struct harness_config *config)
{
    assert(config->job != NULL);
    assert(config->log != NULL);
    *harness = (struct harness){.config = *config, .started_ms = clock_monotonic_ms()};
    target_cluster_init(&harness->cluster, config->job);
}

double harness_seconds(const struct harness *harness)
{
    return (double)(clock_monotonic_ms() - harness->started_ms) / 1000.0;
}

void harness_log(void *ctx, const char *text)
{
    const struct harness *harness = ctx;
    char line[LINE_MAX];
    assert(text != NULL);
    snprintf(line, sizeof line, "%7.2f s  %s", harness_seconds(harness), text);
    harness->config.log(harness->config.ctx, line);
}

/* ------------------------------------------------------------- the history */

enum tn_status harness_create_history(struct harness *harness, const char *dir, struct error *error)
{
    assert(harness->history == NULL);
    snprintf(harness->history_path, sizeof harness->history_path, "%.1000s/history.jsonl", dir);
    return history_file_create(harness->history_path, clock_monotonic_ns() / 1000,
                               &harness->history, error);
}

static json_t *begin_line(const struct harness *harness)
{
    const struct harness_config *config = &harness->config;
    char started[TIME_TEXT_MAX];
    char *job = job_to_json(config->job);
    clock_format(clock_wall_ms(), started);
    json_t *line = json_pack(
        "{s:i, s:s*, s:i, s:I, s:O, s:o, s:s, s:s, s:O?, s:o, s:o, s:s*}", "version",
        HISTORY_VERSION, "command", config->command, "round", (int)config->round, "seed",
        (json_int_t)config->seed, "plan", config->plan->json, "job",
        job != NULL ? json_loads(job, 0, NULL) : NULL, "program", TANIST_VERSION, "started",
        started, "baseline", config->baseline, "machine", probe_json(config->probe), "components",
        target_cluster_components_json(&harness->cluster), "attacked", config->attacked);
    free(job);
    return line;
}

enum tn_status harness_begin(struct harness *harness, struct error *error)
{
    const struct schedule *schedule = harness->config.schedule;
    assert(harness->history != NULL);
    assert(harness->watcher == NULL);
    history_file_add(harness->history, "begin", begin_line(harness));
    for (uint32_t i = 0; i < schedule->count; i++) {
        history_file_add(harness->history, "planned", injection_to_json(&schedule->list[i]));
    }
    harness->watcher = watcher_create(&harness->cluster, harness->history);
    if (harness->watcher == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    const struct nemesis_config nemesis = {.cluster = &harness->cluster,
                                           .watcher = harness->watcher,
                                           .history = harness->history,
                                           .schedule = schedule,
                                           .probe = harness->config.probe,
                                           .report = harness_log,
                                           .ctx = harness};
    harness->nemesis = nemesis_create(&nemesis);
    if (harness->nemesis == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    return TN_OK;
}

void harness_record_run(struct harness *harness, const char *state, int exit_code)
{
    assert(harness->history != NULL);
    history_file_add(harness->history, "run",
                     json_pack("{s:s, s:i}", "state", state, "exit", exit_code));
}

void harness_record_end(struct harness *harness, int exit_code, json_t *result)
{
    assert(harness->history != NULL);
    history_file_add(harness->history, "end",
                     json_pack("{s:i, s:O?, s:f}", "exit", exit_code, "result", result, "seconds",
                               harness_seconds(harness)));
}

/* ------------------------------------------------------------- the end */

enum tn_status harness_judge(struct harness *harness, harness_judge_function *judge, void *ctx,
                             struct outcome *outcome, struct error *error)
{
    json_t *history = NULL;
    const struct nemesis_counts counts = nemesis_counts(harness->nemesis);
    assert(harness->history != NULL);
    outcome->injected = counts.done;
    outcome->skipped = counts.skipped;
    outcome->seconds = harness_seconds(harness);
    enum tn_status status = history_read(harness->history_path, &history, error);
    if (status != TN_OK) { return status; }
    json_t *verdict = judge(ctx, history);
    json_decref(history);
    if (verdict == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    outcome->passed = json_is_true(json_object_get(verdict, "ok"));
    verdict_list_failed(verdict, outcome->failed_checks, sizeof outcome->failed_checks);
    history_file_add(harness->history, "verdict", verdict);
    return TN_OK;
}

enum tn_status harness_close(struct harness *harness, enum tn_status status, struct error *error)
{
    struct error close_error = {0};
    nemesis_destroy(harness->nemesis);
    watcher_destroy(harness->watcher);
    enum tn_status closed = history_file_close(harness->history, &close_error);
    harness->nemesis = NULL;
    harness->watcher = NULL;
    harness->history = NULL;
    if (status != TN_OK || closed == TN_OK) { return status; }
    *error = close_error;
    return closed;
}
