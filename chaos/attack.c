#include "chaos/attack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/event_text.h"
#include "chaos/inject/nemesis.h"
#include "chaos/judge/verdict_checks.h"
#include "chaos/report/report.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum {
    POLL_MS = 5,
    FIRST_MS = 15000, /* For the cluster to be seen running. */
    CALM_MS = 1000,   /* Training has gone on for that long since the last fault. */
    SLACK_MS = 2000,  /* Beyond the bound: then the check fails by itself. */
};

struct attack {
    const struct attack_config *config;
    struct target_cluster cluster;
    struct probe probe;
    struct schedule schedule;
    struct history_file *history;
    struct watcher *watcher;
    struct nemesis *nemesis;
    char path[TARGET_PATH_MAX + 64]; /* Of the history. */
    uint64_t started_ms;
    uint64_t struck_ms; /* The last fault, or the end of one. */
    struct nemesis_counts counts;
};

static void say(void *ctx, const char *text)
{
    const struct attack *attack = ctx;
    char line[900];
    double seconds = (double)(clock_monotonic_ms() - attack->started_ms) / 1000.0;
    snprintf(line, sizeof line, "%7.2f s  %s", seconds, text);
    attack->config->say(attack->config->ctx, line);
}

/* ------------------------------------------------------------- beginning */

/* Nodes alone: nothing else is within reach. */
static void keep_nodes(struct target_cluster *cluster)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->places[i].is_node) { cluster->places[kept++] = cluster->places[i]; }
    }
    cluster->count = kept;
}

/* Shares of progress are those of what is left. */
static enum tn_status draw(struct attack *attack, struct error *error)
{
    const struct attack_config *config = attack->config;
    struct cluster_shape shape = cluster_shape_of(config->job);
    shape.steps = shape.steps > config->step ? shape.steps - config->step : 1;
    enum tn_status status =
        schedule_draw(config->plan, config->seed, 1, &shape, &attack->schedule, error);
    for (uint32_t i = 0; status == TN_OK && i < attack->schedule.count; i++) {
        if (attack->schedule.list[i].trigger.type == TRIGGER_STEP) {
            attack->schedule.list[i].trigger.step += config->step;
        }
    }
    return status;
}

static enum tn_status prepare(struct attack *attack, struct error *error)
{
    const struct attack_config *config = attack->config;
    char folder[TARGET_PATH_MAX + 16];
    snprintf(folder, sizeof folder, "%.1000s/round-0001", config->dir);
    snprintf(attack->path, sizeof attack->path, "%s/history.jsonl", folder);
    if (access(attack->path, F_OK) == 0) {
        return error_set(error, TN_EEXIST, "%s is there already: give another --dir", attack->path);
    }
    enum tn_status status = files_make_folders(folder, error);
    if (status == TN_OK) {
        status =
            history_file_create(attack->path, clock_monotonic_ns() / 1000, &attack->history, error);
    }
    return status;
}

static void tell_begin(struct attack *attack)
{
    const struct attack_config *config = attack->config;
    char started[TIME_TEXT_MAX];
    char *job = job_to_json(config->job);
    event_text_time(clock_wall_ms(), started);
    history_file_add(
        attack->history, "begin",
        json_pack("{s:i, s:i, s:I, s:O, s:o, s:s, s:s, s:n, s:o, s:o, s:s}", "version", 1, "round",
                  1, "seed", (json_int_t)config->seed, "plan", config->plan->json, "job",
                  job != NULL ? json_loads(job, 0, NULL) : NULL, "program", TANIST_VERSION,
                  "started", started, "calm", "machine", probe_json(&attack->probe), "places",
                  target_cluster_places_json(&attack->cluster), "attacked",
                  config->remote->connect));
    free(job);
    for (uint32_t i = 0; i < attack->schedule.count; i++) {
        history_file_add(attack->history, "planned", injection_to_json(&attack->schedule.list[i]));
    }
    history_file_add(attack->history, "run",
                     json_pack("{s:s, s:i}", "state", "started", "exit", 0));
}

static enum tn_status begin(struct attack *attack, struct error *error)
{
    tell_begin(attack);
    attack->watcher = watcher_create(&attack->cluster, attack->history);
    const struct nemesis_config nemesis = {.cluster = &attack->cluster,
                                           .watcher = attack->watcher,
                                           .history = attack->history,
                                           .schedule = &attack->schedule,
                                           .probe = &attack->probe,
                                           .say = say,
                                           .ctx = attack};
    attack->nemesis = attack->watcher != NULL ? nemesis_create(&nemesis) : NULL;
    return attack->nemesis != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
}

/* ------------------------------------------------------------- the attack */

static bool is_over(const struct cluster_view *view)
{
    return view->has_run && (view->phase == RUN_DONE || view->phase == RUN_FAILED);
}

/* When something was done last: the bound counts from there. */
static void note_strikes(struct attack *attack, uint64_t now_ms)
{
    const struct nemesis_counts counts = nemesis_counts(attack->nemesis);
    if (counts.done != attack->counts.done || counts.lasting != attack->counts.lasting) {
        attack->struck_ms = now_ms;
    }
    attack->counts = counts;
}

/* All is done, and the cluster trains again; or it should long have. */
static bool is_settled(const struct attack *attack, uint64_t now_ms)
{
    const struct cluster_view *view = watcher_view(attack->watcher);
    const uint64_t bound_ms = (uint64_t)(attack->config->plan->recover_within_s * 1000) + SLACK_MS;
    if (attack->counts.waiting > 0 || attack->counts.lasting > 0) { return false; }
    if (now_ms > attack->struck_ms + bound_ms) { return true; }
    return view->has_run && view->phase == RUN_RUNNING &&
           view->advanced_ms > attack->struck_ms + CALM_MS;
}

static enum tn_status wait_running(struct attack *attack, struct error *error)
{
    const struct cluster_view *view = watcher_view(attack->watcher);
    const uint64_t until_ms = clock_monotonic_ms() + FIRST_MS;
    while (!view->has_run || view->phase != RUN_RUNNING) {
        watcher_poll(attack->watcher, POLL_MS);
        if (*attack->config->stop) { return error_set(error, TN_EAGAIN, "stopped"); }
        if (!is_over(view) && clock_monotonic_ms() < until_ms) { continue; }
        return error_set(error, TN_EUNHEALTHY,
                         "%s does not run (%s): only a cluster that trains can be attacked",
                         attack->config->remote->cluster,
                         view->has_run ? run_phase_name(view->phase) : "nothing is seen of it");
    }
    return TN_OK;
}

static void strike(struct attack *attack, struct attack_outcome *outcome)
{
    const struct attack_config *config = attack->config;
    const struct cluster_view *view = watcher_view(attack->watcher);
    const uint64_t began_ms = attack->struck_ms = clock_monotonic_ms();
    bool finished = false;
    while (!is_over(view) && !outcome->stopped) {
        watcher_poll(attack->watcher, POLL_MS);
        const uint64_t now_ms = clock_monotonic_ms();
        const bool late = config->seconds > 0 && now_ms - began_ms > config->seconds * 1000ULL;
        outcome->stopped = *config->stop != 0;
        if (late && !finished) { nemesis_finish(attack->nemesis); }
        finished = finished || late;
        if (!finished) { nemesis_step(attack->nemesis, now_ms); }
        note_strikes(attack, now_ms);
        if (is_settled(attack, now_ms)) { break; }
    }
    nemesis_finish(attack->nemesis);
    watcher_poll(attack->watcher, 0);
    note_strikes(attack, clock_monotonic_ms());
}

/* ------------------------------------------------------------- the end */

static enum tn_status judge(struct attack *attack, struct attack_outcome *outcome,
                            struct error *error)
{
    json_t *lines = NULL;
    outcome->done = attack->counts.done;
    outcome->skipped = attack->counts.skipped;
    outcome->seconds = (double)(clock_monotonic_ms() - attack->started_ms) / 1000.0;
    history_file_add(
        attack->history, "end",
        json_pack("{s:i, s:n, s:f}", "exit", 0, "result", "seconds", outcome->seconds));
    enum tn_status status = history_read(attack->path, &lines, error);
    if (status != TN_OK) { return status; }
    json_t *verdict =
        attack_judge(lines, (uint64_t)(attack->config->plan->recover_within_s * 1000));
    json_decref(lines);
    if (verdict == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    outcome->kept = json_is_true(json_object_get(verdict, "ok"));
    verdict_list_failed(verdict, outcome->broken, sizeof outcome->broken);
    history_file_add(attack->history, "verdict", verdict);
    return TN_OK;
}

/* Its lines are on the disk; then the reports can be made of them. */
static enum tn_status close_attack(struct attack *attack, enum tn_status status,
                                   struct error *error)
{
    struct error close_error = {0};
    const char *histories[] = {attack->path};
    nemesis_destroy(attack->nemesis);
    watcher_destroy(attack->watcher);
    if (attack->history != NULL && history_file_close(attack->history, &close_error) != TN_OK &&
        status == TN_OK) {
        *error = close_error;
        status = close_error.status;
    }
    if (status == TN_OK) { status = report_write(attack->config->dir, histories, 1, error); }
    schedule_free(&attack->schedule);
    free(attack);
    return status;
}

enum tn_status attack_run(const struct attack_config *config, struct attack_outcome *outcome,
                          struct error *error)
{
    struct attack *attack = calloc(1, sizeof *attack);
    memset(outcome, 0, sizeof *outcome);
    if (attack == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    attack->config = config;
    attack->started_ms = clock_monotonic_ms();
    target_cluster_init(&attack->cluster, config->job);
    keep_nodes(&attack->cluster);
    attack->cluster.remote = config->remote;
    for (int i = 0; i < NEED_COUNT; i++) {
        snprintf(attack->probe.why_not[i], PROBE_WORDS_MAX,
                 "it needs power on the hosts: ZooKeeper is not enough");
    }
    enum tn_status status = draw(attack, error);
    if (status == TN_OK) { status = prepare(attack, error); }
    if (status == TN_OK) { status = begin(attack, error); }
    if (status == TN_OK) { status = wait_running(attack, error); }
    if (status == TN_OK) {
        strike(attack, outcome);
        status = judge(attack, outcome, error);
    }
    return close_attack(attack, status, error);
}
